#!/usr/bin/env python3
"""Runs a Netlib tester of Debian's libblas-test, cut to SGEMM, on a preloaded library.

Usage: netlib.py fortran|c FOLDER [--fault] LIBRARY...

The testers exit with 0 whatever they find, so every line that must be there is looked for. With
--fault the tester must find the fault that the libraries hold.
"""
import re
import sys
import tempfile
from pathlib import Path

from preload import Preloaded, skip

# Program, its input, the file that it writes (None: standard output), and what it must say.
TESTERS = {
    "fortran": ("xblat3s", "sblat3.in", "sblat3.out", [
        "SGEMM  PASSED THE TESTS OF ERROR-EXITS",
        "SGEMM  PASSED THE COMPUTATIONAL TESTS ( 17496 CALLS)",
    ]),
    "c": ("xscblat3", "sin3", None, [
        "cblas_sgemm  PASSED THE TESTS OF ERROR-EXITS",
        "cblas_sgemm  PASSED THE COLUMN-MAJOR COMPUTATIONAL TESTS ( 17496 CALLS)",
        "cblas_sgemm  PASSED THE ROW-MAJOR    COMPUTATIONAL TESTS ( 17496 CALLS)",
    ]),
}
BAD = re.compile(r"FAIL|FATAL|ERROR -|SUSPECT|XERBLA WAS|\*\*\*\*")


def cut_to_gemm(text):
    """Switches the other routines off, in the columns where the tester reads them."""
    lines = []
    for line in text.splitlines():
        routine = re.match(r"((?:S|cblas_s)\w+ +)T PUT F FOR NO TEST", line)
        if routine and "gemm" not in line.lower():
            column = len(routine[1])
            line = line[:column] + "F" + line[column + 1:]
        lines.append(line)
    return "\n".join(lines) + "\n"


def verdict_on(text, wanted):
    """Why the tester's words are no pass, line by line."""
    problems = [f"missing: {line}" for line in [*wanted, "END OF TESTS"] if line not in text]
    return problems + [f"found: {line.strip()}" for line in text.splitlines() if BAD.search(line)]


def main():
    which, folder, *libraries = sys.argv[1:]
    wants_fault = libraries[0] == "--fault"
    preloaded = Preloaded(folder, libraries[1:] if wants_fault else libraries)
    program, source, output, wanted = TESTERS[which]
    if not (preloaded.folder / program).exists():
        skip("libblas-test")
    text = cut_to_gemm((preloaded.folder / source).read_text(encoding="ascii"))
    if text.count("F PUT F") != 5 or text.count("T PUT F") != 1:
        sys.exit(f"{source} is not laid out as it was:\n{text}")
    with tempfile.TemporaryDirectory() as work:
        result = preloaded.run([preloaded.folder / program], input=text, cwd=work)
        said = result.stdout + result.stderr
        if output is not None and Path(work, output).exists():
            said += Path(work, output).read_text(encoding="ascii")
    problems = verdict_on(said, wanted)
    print(said)
    if wants_fault:
        if not any("COMPUTED RESULT IS LESS THAN HALF ACCURATE" in line for line in problems):
            sys.exit("the tester did not find the fault")
        print("the tester found the fault, and this check would have failed:", *problems, sep="\n")
    elif problems:
        sys.exit("\n".join(problems))


main()
