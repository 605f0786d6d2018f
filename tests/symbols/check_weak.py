#!/usr/bin/env python3
"""Fails if a unit that is compiled for one instruction set defines a symbol that others share.

An inline function of a header, compiled with AVX flags, might be the copy that the linker keeps for
everybody, and then stop a program on an older machine.

Usage: check_weak.py COMPILER OBJECT...   objects that are not under kernels/targets/ are passed over
"""
import pathlib
import subprocess
import sys
import tempfile


def shared_symbols(path):
    """Weak and unique definitions of an object."""
    lines = subprocess.run(["nm", "-C", str(path)], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    fields = [line.split(maxsplit=2) for line in lines]
    return [f[2] for f in fields if len(f) == 3 and f[1] in "WVu"]


def self_test(compiler):
    """A header's inline function must be noticed."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "fault.cpp")
        target = pathlib.Path(folder, "fault.o")
        source.write_text("inline int shared(int x) { return x + 1; }\n"
                          "int (*use())(int) { return shared; }\n", encoding="utf-8")
        subprocess.run([compiler, "-c", str(source), "-o", str(target)], check=True)
        if shared_symbols(target) != ["shared(int)"]:
            sys.exit("self-test: a shared inline function was not noticed")


def main():
    compiler, *objects = sys.argv[1:]
    self_test(compiler)
    units = [o for o in objects if "/kernels/targets/" in o]
    if not units:
        sys.exit("no unit of any target among the objects")
    faults = [f"{unit}: {symbol}" for unit in units for symbol in shared_symbols(unit)]
    if faults:
        sys.exit("\n".join(faults))
    print(f"{len(units)} units share no symbol")


main()
