#!/usr/bin/env python3
"""Fails if docs/parity.md names a test that does not exist, or a row names none.

Usage: check_parity.py CTEST BUILD_DIR
"""
import pathlib
import re
import subprocess
import sys

PARITY = pathlib.Path(__file__).resolve().parents[1] / "docs" / "parity.md"


def main():
    ctest, build = sys.argv[1:]
    listed = subprocess.run([ctest, "--test-dir", build, "-N"], check=True, capture_output=True,
                            text=True).stdout
    tests = re.findall(r"^ *Test +#\d+: (\S+)", listed, re.MULTILINE)
    rows = [line.split("|") for line in PARITY.read_text(encoding="utf-8").splitlines()
            if re.match(r"\| [A-Z]\d", line)]
    if not rows or not tests:
        sys.exit("nothing to check")
    faults = []
    for row in rows:
        names = re.findall(r"`([^`]+)`", row[-2])
        if not names:
            faults.append(f"{row[1].strip()}: names no test")
        faults += [f"{row[1].strip()}: no test matches {name}" for name in names
                   if not any(re.search(name, test) for test in tests)]
    if faults:
        sys.exit("\n".join(faults))
    print(f"{len(rows)} rows, each with tests that exist")


main()
