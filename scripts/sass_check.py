#!/usr/bin/env python3
"""Reads the machine code of device kernels: no local memory, and the instructions that each is for.

Usage: sass_check.py CUOBJDUMP FILE...   check the device code in objects, libraries or programs
       sass_check.py --self-test         show that each fault is caught
"""
import re
import subprocess
import sys

# Parts of the kernel's name, and what its code must hold.
MUST_HOLD = [
    # By the operands' element, a number in the name: bf16, f16, i8, e4m3, e5m2, tf32.
    ("gemm_wgmma ElementE1E", r"HGMMA\.64x\d+x16\.F32\.BF16", "no matrix unit"),
    ("gemm_wgmma ElementE2E", r"HGMMA\.64x\d+x16\.F32 ", "no matrix unit"),
    ("gemm_wgmma ElementE3E", r"IGMMA\.64x\d+x32\.S8\.S8", "no matrix unit"),
    ("gemm_wgmma ElementE5E", r"QGMMA\.64x\d+x32\.F32\.E4M3\.E4M3", "no matrix unit"),
    ("gemm_wgmma ElementE6E", r"QGMMA\.64x\d+x32\.F32\.E5M2\.E5M2", "no matrix unit"),
    ("gemm_wgmma ElementE7E", r"HGMMA\.64x\d+x8\.F32\.TF32", "no matrix unit"),
    ("gemm_wgmma", r"UTMALDG\.3D (?!.*MULTICAST)", "no tensor copy in"),
    ("gemm_wgmma", r"UTMALDG\.3D\.MULTICAST", "no multicast"),
    ("gemm_wgmma", r"UTMASTG", "no tensor copy out"),
    ("SkinnyFormE0E", r"LDGSTS\.E\.BYPASS\.LTC256B\.128", "no streamed pieces of W"),
    ("SkinnyFormE1E", r"LDGSTS\.E\.BYPASS\.128", "no streamed pieces of W"),
    ("gemm_skinny ElementE1E", r"HMMA\.16816\.F32\.BF16", "no matrix unit"),
    ("gemm_skinny ElementE3E", r"IMMA\.16832\.S8", "no matrix unit"),
    ("gemm_mma", r"\b[HI]MMA\.16", "no matrix unit"),
    ("gemm_mma", r"\bLDSM\b", "no matrix loads from shared memory"),
    ("gemm_mma", r"\bLDGSTS\b", "no asynchronous copy in"),
    ("gemm_simtIf", r"\bFFMA\b", "no fused multiply-add"),
    ("8gemm_f32I", r"\bFFMA\b", "no fused multiply-add"),
    ("8gemm_f32I", r"\bLDGSTS\b", "no asynchronous copy in"),
    ("8gemm_f32I", r"\bLDS\.128\b", "no loads of 16 bytes from shared memory"),
    ("gemm_fast_f32", r"HGMMA\.64x128x16\.F32\.BF16", "no matrix unit"),
    ("gemm_fast_f32", r"UTMALDG\.3D", "no tensor copy in"),
    ("move_rows SameILi", r"\bLDG\.E\.128\b", "no loads of 16 bytes"),
    ("move_rows SameILi", r"\bSTG\.E\.128\b", "no stores of 16 bytes"),
    ("transpose_squares", r"\bLDG\.E\.128\b", "no loads of 16 bytes"),
    ("transpose_squares", r"\bSTG\.E\.128\b", "no stores of 16 bytes"),
    ("transpose_tiles", r"\bLDGSTS\b", "no asynchronous copy in"),
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


def is_about(parts, name):
    return all(part in name for part in parts.split())


def faults(found):
    if not found:
        yield "no device code"
    for part in {part for part, _, _ in MUST_HOLD}:
        if not any(is_about(part, name) for name, _ in found):
            yield f"no kernel has a name with {part}"
    for name, code in found:
        if LOCAL_MEMORY.search(code):
            yield f"{name}: local memory"
        for part, pattern, meaning in MUST_HOLD:
            if is_about(part, name) and not re.search(pattern, code):
                yield f"{name}: {meaning}"


def self_test():
    copies = " UTMALDG.3D [UR8]\n UTMALDG.3D.MULTICAST [UR8]\n UTMASTG.3D [UR8]\n"
    good = ("Function : gemm_mma1\n HMMA.16816.F32.BF16 R4\n LDSM.16.M88.4 R8\n LDGSTS.E.128 [R1]\n"
            "Function : gemm_simtIfEE\n FFMA R1, R2\n"
            "Function : 8gemm_f32ILi0\n FFMA R1, R2\n LDGSTS.E [R1]\n LDS.128 R4\n"
            "Function : gemm_fast_f32\n HGMMA.64x128x16.F32.BF16 R24\n UTMALDG.3D [UR8]\n"
            "Function : gemm_skinnyILNS1_7ElementE1ELNS1_10SkinnyFormE0ELi8\n LDGSTS.E.BYPASS.LTC256B.128 [R1]\n"
            " HMMA.16816.F32.BF16 R4\nFunction : gemm_skinnyILNS1_7ElementE3ELNS1_10SkinnyFormE1ELi8\n"
            " LDGSTS.E.BYPASS.128 [R1]\n IMMA.16832.S8.S8 R4\n"
            "Function : gemm_groupedILi0\n HGMMA.64x256x16.F32.BF16 R24\n UTMALDG.3D [UR8]\n STG.E.128 [R2]\n"
            "Function : permute_rowsE\n LDG.E.128 R4\n"
            "Function : move_rows4SameILi1\n LDG.E.128 R4\n STG.E.128 [R2]\n"
            "Function : transpose_squaresILi1\n LDG.E.128 R4\n STG.E.128 [R2]\n"
            "Function : transpose_tilesILi1\n LDGSTS.E [R1]\n") + "".join(
        f"Function : gemm_wgmmaElementE{element}E\n {unit} R24\n{copies}"
        for element, unit in ((1, "HGMMA.64x128x16.F32.BF16"), (2, "HGMMA.64x128x16.F32"),
                              (3, "IGMMA.64x128x32.S8.S8"), (5, "QGMMA.64x128x32.F32.E4M3.E4M3"),
                              (6, "QGMMA.64x128x32.F32.E5M2.E5M2"), (7, "HGMMA.64x128x8.F32.TF32")))
    assert list(faults(functions(good))) == [], list(faults(functions(good)))
    seeded = [("HGMMA.64x128x16.F32.BF16", "HMMA.16816.F32.BF16"), ("IGMMA.64x", "IMMA.16x"),
              ("E4M3.E4M3", "E4M3.E5M2"), ("E5M2.E5M2", "E5M2.E4M3"), ("x8.F32.TF32", "x16.F32.BF16"),
              ("UTMALDG.3D.MULTICAST", "NOP"),
              ("UTMALDG.3D [UR8]", "LDG [UR8]"), ("UTMASTG", "STG"), ("gemm_wgmma", "gemm_other"), ("FFMA R1", "FMUL R1"), ("FFMA R1", "FFMA R1\n STL [R1], R2\n"),
              ("HMMA.16816.F32.BF16 R4\n LDSM", "FFMA\n LDSM"), ("LDSM", "LDS"), ("LDGSTS", "LDG"), ("LDGSTS.E.128", "LDG"),
              ("LTC256B.128 [R1]\n HMMA.16816.F32.BF16", "LTC256B.128 [R1]\n HMMA.16816.F32"),
              ("IMMA.16832", "IDP.4A"), ("LDGSTS.E.BYPASS.LTC256B.128", "LDG.E.U16"), ("LDGSTS.E.BYPASS.128", "LDG.E.U16"), ("LDS.128", "LDS.64"),
              ("LDG.E.128", "LDG.E"), ("STG.E.128", "STG.E"),
              ("HGMMA.64x256", "HMMA.64x256"), ("SameILi1\n LDG.E.128", "SameILi1\n LDG.E"),
              ("squaresILi1\n LDG.E.128 R4\n STG.E.128", "squaresILi1\n LDG.E.128 R4\n STG.E"), ("tilesILi1\n LDGSTS", "tilesILi1\n LDG"), ("permute_rowsE\n LDG.E.128", "permute_rowsE\n LDG.E.64"),
              ("STG.E.128 [R2]\nFunction : permute", "STG.E.64 [R2]\nFunction : permute"), ("gemm_fast_f32\n HGMMA", "gemm_fast_f32\n HMMA"), ("Function", "Funktion")]
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
