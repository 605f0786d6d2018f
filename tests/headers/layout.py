#!/usr/bin/env python3
"""Fails if a public type's layout depends on how a program is compiled, or is not looked at.

Usage: layout.py COMPILER OBJCOPY INCLUDE_DIR
"""
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).parent / "layout.cpp"
TYPE = re.compile(r"^\s*(?:struct|class|enum class)\s+(?:\[\[nodiscard\]\]\s+)?(?:GIRIH_API\s+)?"
                  r"(\w+)[^;()]*\{|^\} (girih_\w+);", re.MULTILINE)
# How users compile: the oldest and the newest of their machines, with and without what C++ programs
# turn off.
WAYS = {
    "x86_64": [["-march=x86-64"], ["-march=x86-64-v4", "-O2"]],
    "aarch64": [["-march=armv8-a"], ["-march=armv8.2-a+sve", "-O2"]],
}.get(platform.machine(), []) + [["-O2"], ["-O0", "-fno-exceptions", "-fno-rtti"], ["-std=c++23"]]


def layout(tools, folder, flags):
    compiler, objcopy, include = tools
    target, numbers = folder / "layout.o", folder / "layout.bin"
    subprocess.run([compiler, "-std=c++20", *flags, f"-I{include}", "-c", SOURCE, "-o", target],
                   check=True)
    subprocess.run([objcopy, "-O", "binary", "--only-section=girih_layout", target, numbers],
                   check=True)
    data = numbers.read_bytes()
    return [int.from_bytes(data[i:i + 8], "little") for i in range(0, len(data), 8)]


def missing_types(include):
    """Public types that layout.cpp leaves out."""
    seen = set(re.findall(r"\w+", SOURCE.read_text(encoding="utf-8")))
    for header in sorted(pathlib.Path(include, "girih").glob("*.h*")):
        for names in TYPE.findall(header.read_text(encoding="utf-8")):
            name = next(filter(None, names))
            if name not in seen:
                yield f"{header.name}: {name}"


def main():
    tools = sys.argv[1:]
    missing = list(missing_types(tools[2]))
    if missing:
        sys.exit("layout.cpp leaves out " + ", ".join(missing))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        want = layout(tools, folder, WAYS[0])
        if len(want) < 100:
            sys.exit(f"only {len(want)} numbers")
        for flags in WAYS[1:]:
            if layout(tools, folder, flags) != want:
                sys.exit(f"the layout with {flags} is not that with {WAYS[0]}")
        if platform.machine() == "x86_64":
            if layout(tools, folder, [*WAYS[1], "-DGIRIH_FAULT"]) == want:
                sys.exit("self-test: a type that depends on -march was not noticed")
    print(f"{len(want)} sizes, alignments and offsets are equal in {len(WAYS)} ways to compile")


main()
