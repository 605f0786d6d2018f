#!/usr/bin/env python3
"""Runs numpy_products.py, under Debian's Python and numpy, on a preloaded library.

Usage: check_numpy.py FOLDER pass|fault|kernel LIBRARY...

pass: every product is right. fault: the fault that the libraries hold is found. kernel: with a
kernel forced that does not exist, the first product ends the process with girih's own words: it was
girih that numpy called.
"""
import pathlib
import sys

from preload import SKIPPED, Preloaded, skip

PYTHON = "/usr/bin/python3"


def main():
    folder, expectation, *libraries = sys.argv[1:]
    if not pathlib.Path(PYTHON).exists():
        skip(PYTHON)
    preloaded = Preloaded(folder, libraries)
    environment = {"GIRIH_FORCE_KERNEL": "no_such_kernel"} if expectation == "kernel" else {}
    program = pathlib.Path(__file__).with_name("numpy_products.py")
    result = preloaded.run([PYTHON, "-B", program, libraries[-1]], environment=environment)
    print(result.stdout + result.stderr)
    if result.returncode == SKIPPED:
        skip("python3-numpy")
    problem = {
        "pass": lambda: result.returncode != 0 or "all products are right" not in result.stdout,
        "fault": lambda: result.returncode != 1 or "AssertionError: wrong product" not in result.stderr,
        "kernel": lambda: result.returncode >= 0 or "girih_blas: forced kernel" not in result.stderr,
    }[expectation]()
    if problem:
        sys.exit(f"not what '{expectation}' expects; exit code {result.returncode}")


main()
