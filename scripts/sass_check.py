#!/usr/bin/env python3
"""Reads the machine code of device kernels: no local memory, and the instructions that each is for.

Usage: sass_check.py CUOBJDUMP FILE...   check the device code in objects, libraries or programs
       sass_check.py --self-test         show that each fault is caught
"""
import re
import subprocess
import sys

# A part of the kernel's name, and what its code must hold.
MUST_HOLD = [
    ("gemm_wgmma", r"HGMMA\.64x\d+x16\.F32", "no matrix unit"),
    ("gemm_wgmma", r"UTMALDG\.3D (?!.*MULTICAST)", "no tensor copy in"),
    ("gemm_wgmma", r"UTMALDG\.3D\.MULTICAST", "no multicast"),
    ("gemm_wgmma", r"UTMASTG", "no tensor copy out"),
    ("gemm_simtIf", r"\bFFMA\b", "no fused multiply-add"),
    ("gemm_groupedILi", r"HGMMA\.64x\d+x16\.F32", "no matrix unit"),
    ("gemm_groupedILi", r"UTMALDG\.3D", "no tensor copy in"),
    ("gemm_groupedILi", r"STG\.E\.128", "no whole pieces out"),
    ("permute_rows", r"LDG\.E\.128", "no whole pieces in"),
]
LOCAL_MEMORY = re.compile(r"\b(LDL|STL)\b")


def functions(text):
    """(name, code) of each kernel in a disassembly."""
    parts = re.split(r"^\s*Function : (\S+)", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


def faults(found):
    if not found:
        yield "no device code"
    for part in {part for part, _, _ in MUST_HOLD}:
        if not any(part in name for name, _ in found):
            yield f"no kernel has a name with {part}"
    for name, code in found:
        if LOCAL_MEMORY.search(code):
            yield f"{name}: local memory"
        for part, pattern, meaning in MUST_HOLD:
            if part in name and not re.search(pattern, code):
                yield f"{name}: {meaning}"


def self_test():
    good = ("Function : gemm_wgmma1\n HGMMA.64x128x16.F32.BF16 R24\n UTMALDG.3D [UR8]\n"
            " UTMALDG.3D.MULTICAST [UR8]\n UTMASTG.3D [UR8]\nFunction : gemm_simtIfEE\n FFMA R1, R2\n"
            "Function : gemm_groupedILi0\n HGMMA.64x256x16.F32.BF16 R24\n UTMALDG.3D [UR8]\n STG.E.128 [R2]\n"
            "Function : permute_rowsE\n LDG.E.128 R4\n")
    assert list(faults(functions(good))) == [], list(faults(functions(good)))
    seeded = [("HGMMA.64x128x16.F32.BF16", "HMMA.16816.F32.BF16"), ("UTMALDG.3D.MULTICAST", "NOP"),
              ("UTMALDG.3D [UR8]", "LDG [UR8]"), ("UTMASTG", "STG"), ("gemm_wgmma", "gemm_other"), ("FFMA R1", "FMUL R1"), ("FFMA R1", "FFMA R1\n STL [R1], R2\n"),
              ("HGMMA.64x256", "HMMA.64x256"), ("STG.E.128", "STG.E.64"), ("LDG.E.128", "LDG.E.64"),
              ("Function", "Funktion")]
    for before, after in seeded:
        assert list(faults(functions(good.replace(before, after)))), f"missed: {after}"
    print(f"{len(seeded)} seeded faults caught")
    return 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    bad, kernels = [], []
    for file in arguments[1:]:
        done = subprocess.run([arguments[0], "-sass", file], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            bad.append(f"{file}: {done.stderr.strip()}")
            continue
        kernels += functions(done.stdout)
    bad += faults(kernels)
    print("\n".join(bad) if bad else f"{len(kernels)} kernels are as they should be")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
