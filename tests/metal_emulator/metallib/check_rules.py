#!/usr/bin/env python3
"""Tries the rules that build and embed a metallib, with a stand-in for Apple's compiler.

Usage: check_rules.py CMAKE FOLDER
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ALL = b"MTLB elementwise gemm_simdgroup gemm_tensor"


def embedded(folder):
    text = (folder / "metal" / "metallib.cpp").read_text(encoding="utf-8")
    numbers = re.search(r"kBytes\[\] = \{(.*?)\}", text, re.DOTALL).group(1)
    count = int(re.search(r"first\((\d+)\)", text).group(1))
    return bytes(int(number) for number in numbers.split(","))[:count]


def run(cmake, folder, options, with_stub=True, **environment):
    """What is embedded, and what was printed; None if a step failed."""
    shutil.rmtree(folder, ignore_errors=True)
    path = os.environ["PATH"]
    env = {**os.environ, **environment, "PATH": f"{HERE / 'stub'}:{path}" if with_stub else path}
    printed = ""
    for step in ([f"-S{HERE}", f"-B{folder}", "-GNinja", f"-DGIRIH_SOURCE={HERE.parents[2]}",
                  *options], ["--build", str(folder)]):
        result = subprocess.run([cmake, *step], capture_output=True, text=True, env=env)
        printed += result.stdout + result.stderr
        if result.returncode != 0:
            return None, printed
    return embedded(folder), printed


def main():
    cmake, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    mac = ["-DAPPLE=ON"]
    cases = [
        ("asked for", ["-DGIRIH_METALLIB=ON"], {}, ALL, "Metal library"),
        ("on a Mac", mac, {}, ALL, "Metal library"),
        ("on a Mac without the compiler", mac, {"STUB_HAS_NO_METAL": "1"}, b"",
         "will be compiled from their text"),
        ("elsewhere", [], {}, b"", ""),
        ("not wanted", [*mac, "-DGIRIH_METALLIB=OFF"], {}, b"", ""),
        ("a source that does not compile", mac, {"STUB_BROKEN_SOURCE": "gemm_tensor"}, None,
         "error: broken"),
        ("asked for without xcrun", ["-DGIRIH_METALLIB=ON"], {"with_stub": False}, None, "GIRIH_XCRUN"),
    ]
    for name, options, environment, want, words in cases:
        got, printed = run(cmake, folder, options, **environment)
        if got != want or words not in printed:
            sys.exit(f"{name}: embedded {got}, expected {want} and '{words}' in\n{printed}")
    print(f"{len(cases)} cases")


main()
