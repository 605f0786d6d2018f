#!/usr/bin/env python3
"""Fails if a document names a test that does not exist, or a row of a table of promises names none.

Such a table has `test` as its last column; each name in backticks there selects tests as
`ctest -R` does.

Usage: check_named_tests.py CTEST BUILD_DIR
"""
import pathlib
import re
import subprocess
import sys

DOCS = pathlib.Path(__file__).resolve().parents[1] / "docs"
# Documents that are nothing without such a table.
PROMISING = ["parity.md", "embedding.md", "threads.md", "determinism.md",
             "grouped.md"]


def promises(text):
    """(first cell, names of tests) of each row of each table of promises."""
    is_promising = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            is_promising = False
        elif cells[-1] == "test":
            is_promising = True
        elif is_promising and not set(cells[-1]) <= set("-:"):
            yield cells[0], re.findall(r"`([^`]+)`", cells[-1])


def faults_of(text, tests):
    for what, names in promises(text):
        if not names:
            yield f"{what}: names no test"
        for name in names:
            if not any(re.search(name, test) for test in tests):
                yield f"{what}: no test matches {name}"


def self_test():
    table = "| a | test |\n|---|---|\n| x | `One` |\n| y | `Two`, `Three` |\n| z | none |\n"
    if list(faults_of(table, ["One.more", "Threesome"])) != ["y: no test matches Two",
                                                             "z: names no test"]:
        sys.exit("self-test: a missing test was not noticed")


def main():
    self_test()
    ctest, build = sys.argv[1:]
    listed = subprocess.run([ctest, "--test-dir", build, "-N"], check=True, capture_output=True,
                            text=True).stdout
    tests = re.findall(r"^ *Test +#\d+: (\S+)", listed, re.MULTILINE)
    faults = [] if tests else ["ctest lists no test"]
    count = 0
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        rows = len(list(promises(text)))
        count += rows
        if path.name in PROMISING and rows == 0:
            faults.append(f"{path.name}: has no table of promises")
        faults += [f"{path.name}: {fault}" for fault in faults_of(text, tests)]
    if faults:
        sys.exit("\n".join(faults))
    print(f"{count} promises, each with tests that exist")


main()
