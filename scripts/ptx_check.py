#!/usr/bin/env python3
"""Assembles the PTX in device objects for architectures that nothing here can run.

Usage: ptx_check.py CUOBJDUMP PTXAS OBJECT...   each kernel for 8.0 and 12.0; fails on an instruction
                                                that one of them lacks, and if there is no PTX at all
       ptx_check.py --self-test PTXAS           show that such an instruction is caught
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ARCHITECTURES = ["sm_80", "sm_120"]
KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k() { %s ret; }
"""


def faults(ptxas, name, ptx):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "source.ptx")
        source.write_text(ptx, encoding="utf-8")
        for architecture in ARCHITECTURES:
            done = subprocess.run([ptxas, f"-arch={architecture}", str(source), "-o", f"{folder}/out"],
                                  capture_output=True, text=True, check=False)
            if done.returncode != 0:
                yield f"{name} for {architecture}: {done.stderr.strip()[:500]}"


def self_test(ptxas):
    assert list(faults(ptxas, "clean", KERNEL % "bar.sync 0;")) == []
    for fault in ["griddepcontrol.wait;", "wgmma.fence.sync.aligned;", "barrier.cluster.arrive.aligned;"]:
        if not list(faults(ptxas, "faulty", KERNEL % fault)):
            sys.exit(f"self-test: '{fault}' was not caught")
    print("self-test: every fault was caught")


def main():
    if sys.argv[1:2] == ["--self-test"]:
        self_test(sys.argv[2])
        return
    cuobjdump, ptxas, *objects = sys.argv[1:]
    bad, kernels = [], 0
    for name in objects:
        text = subprocess.run([cuobjdump, "-ptx", name], capture_output=True, text=True,
                              check=True).stdout
        for ptx in re.split(r"^(?=\.version )", text, flags=re.MULTILINE)[1:]:
            ptx = re.split(r"^(?:Fatbin|={8,})", ptx, flags=re.MULTILINE)[0]
            kernels += len(re.findall(r"^\.visible \.entry|^\.entry", ptx, re.MULTILINE))
            bad += faults(ptxas, name, ptx)
    print("\n".join(bad) or f"ptx: {kernels} kernels assemble for {', '.join(ARCHITECTURES)}")
    sys.exit(1 if bad or kernels == 0 else 0)


main()
