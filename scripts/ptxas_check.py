#!/usr/bin/env python3
"""Keeps spills, local stack and serialised wgmma out of device code.

Usage: ptxas_check.py COMPILER ARGS...   run a compilation (with -Xptxas -v), write what ptxas says of
                                         each kernel to <object>.ptxas, fail if a kernel is bad
       ptxas_check.py --logs LOG...      check logs that a build has left; each must name a kernel
       ptxas_check.py --self-test [NVCC] show that each fault is caught; with nvcc, that a kernel
                                         which must spill does not compile
"""
import pathlib
import re
import subprocess
import sys
import tempfile

PTXAS_LINE = re.compile(r"ptxas|bytes stack frame|Used \d+ registers|Compile time")
FAULTS = [
    (re.compile(r"[1-9]\d* bytes spill"), "spills registers"),
    (re.compile(r"[1-9]\d* bytes stack frame"), "uses local stack"),
    (re.compile(r"C75\d\d"), "serialises wgmma or ignores setmaxnreg"),
]


def faults(text):
    """One message a bad line, with the kernel that it is about."""
    kernel = "?"
    for line in text.splitlines():
        found = re.search(r"Function properties for (\S+)|Compiling entry function '(\S+)'", line)
        if found:
            kernel = found[1] or found[2]
        for pattern, meaning in FAULTS:
            if pattern.search(line):
                yield f"{kernel} {meaning}: {line.strip()}"


def compile_and_check(command):
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    lines = done.stderr.splitlines(keepends=True)
    sys.stderr.writelines(line for line in lines if not PTXAS_LINE.search(line))
    if done.returncode != 0:
        return done.returncode
    report = "".join(line for line in lines if PTXAS_LINE.search(line))
    if "-o" not in command or "Used" not in report:
        return 0  # not a compilation of device code
    target = pathlib.Path(command[command.index("-o") + 1])
    bad = list(faults(report))
    if bad:
        print("\n".join(bad), file=sys.stderr)
        target.unlink(missing_ok=True)
        return 1
    pathlib.Path(f"{target}.ptxas").write_text(report, encoding="utf-8")
    return 0


def check_logs(names):
    bad, kernels = [], 0
    for name in names:
        text = pathlib.Path(name).read_text(encoding="utf-8")
        found = len(re.findall(r"Used \d+ registers", text))
        if found == 0:
            bad.append(f"{name}: names no kernel")
        kernels += found
        bad += [f"{name}: {message}" for message in faults(text)]
    print("\n".join(bad) or f"ptxas: {kernels} kernels without spills, stack or C75xx")
    return 1 if bad or kernels == 0 else 0


SPILLING = """
__global__ void spilling(float* x) {
  float v[64];
  for (int i = 0; i < 64; ++i) v[i] = x[i * 32 + threadIdx.x];
  for (int r = 0; r < 8; ++r) {
    for (int i = 0; i < 64; ++i) v[i] = v[i] * v[(i + 1) % 64] + v[(i * 7 + r) % 64];
  }
  for (int i = 0; i < 64; ++i) x[i * 32 + threadIdx.x] = v[i];
}
"""


def self_test(nvcc):
    clean = "ptxas info : Function properties for k\n    0 bytes stack frame, 0 bytes spill stores"
    assert not list(faults(clean))
    for fault in ["    0 bytes stack frame, 8 bytes spill stores, 0 bytes spill loads",
                  "    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
                  "ptxas info : (C7510) Potential Performance Loss: wgmma serialized"]:
        messages = list(faults(clean + "\n" + fault))
        if len(messages) != 1 or not messages[0].startswith("k "):
            sys.exit(f"self-test: '{fault}' was not caught once")
    if nvcc:
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "spilling.cu")
            source.write_text(SPILLING, encoding="utf-8")
            target = pathlib.Path(folder, "spilling.o")
            command = [nvcc, "-O3", "-arch=sm_90a", "-maxrregcount=32", "-Xptxas", "-v", "-c",
                       str(source), "-o", str(target)]
            done = subprocess.run([sys.executable, __file__, *command], stderr=subprocess.PIPE,
                                  text=True, check=False)
            if done.returncode == 0 or target.exists() or "spills registers" not in done.stderr:
                sys.exit(f"self-test: a kernel that spills was compiled:\n{done.stderr}")
    print("self-test: every fault was caught")


def main():
    if sys.argv[1:2] == ["--self-test"]:
        self_test(sys.argv[2] if len(sys.argv) > 2 else None)
    elif sys.argv[1:2] == ["--logs"]:
        sys.exit(check_logs(sys.argv[2:]))
    else:
        sys.exit(compile_and_check(sys.argv[1:]))


main()
