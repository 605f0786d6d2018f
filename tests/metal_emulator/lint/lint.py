#!/usr/bin/env python3
"""Checks .metal files as C++ for OpenCL: address spaces, and no construct beyond C++17.

Usage: lint.py CLANG FILE...          each must pass
       lint.py CLANG --faults FILE... each must be refused, for a reason in its own text
"""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FLAGS = ["-x", "clcpp", "-cl-std=clc++2021", "-cl-no-stdinc",
         "-target", "x86_64-linux-gnu", "-fsyntax-only", "-Wall", "-Wextra", "-Wshadow", "-Werror",
         "-Wimplicit-int-conversion", "-Wno-unknown-attributes", "-Wno-unused-parameter",
         "-Wno-undefined-inline", "-Wno-undefined-internal", f"-I{HERE / 'include'}",
         f"-I{HERE.parents[2] / 'src'}"]


SPACE = re.compile(r"\b(device|constant|threadgroup|thread)\b")
POINTER = re.compile(r"[\w>][*&] (?:const )?\w+")


def without_space(path):
    """Pointers and references that name no address space: here they would be generic, which Metal
    does not have."""
    text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
    for match in POINTER.finditer(text):
        declaration = re.split(r"[(,;{}]", text[:match.end()])[-1]
        if not SPACE.search(declaration):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path.name}:{line}: error: '{declaration.strip()}' names no address space"


def check(clang, path):
    """Messages; none if the file is right."""
    if path.suffix == ".h":  # compiled with the files that include it
        return list(without_space(path))
    result = subprocess.run([clang, *FLAGS, str(path)], capture_output=True, text=True)
    messages = list(without_space(path))
    return messages + ([result.stderr] if result.returncode != 0 else [])


def main():
    clang, *files = sys.argv[1:]
    wants_faults = files[:1] == ["--faults"]
    files = files[1:] if wants_faults else files
    if not files:
        sys.exit("nothing to check")
    for name in files:
        path = pathlib.Path(name)
        messages = check(clang, path)
        if wants_faults and not any(f"{path.name}:" in message for message in messages):
            sys.exit("\n".join([f"{path.name}: the fault was not found", *messages]))
        if not wants_faults and messages:
            sys.exit("\n".join(messages))
    print(f"{len(files)} files {'refused' if wants_faults else 'checked'}")


main()
