#!/usr/bin/env python3
"""Times processes from their start to their first right result.

Usage: bench/cold_start.py --product 'build/dev/bench/girih_cold_product cuda' \
                           --bare build/dev/bench/girih_cold_bare [--runs 21] [--device D]
                           [--commit C] [--json FILE]
       bench/cold_start.py --self-test

Each program prints a line that says "right" as soon as it holds a right result; the time is from
just before the process is made until that line is read. The two run in turn, in alternating order,
after one run of each that counts for nothing. With --bare, what is reported is the difference, run
by run. Anything but "right" and exit code 0 ends the run without a number.
"""
import argparse
import json
import math
import shlex
import statistics
import subprocess
import sys
import time


def seconds_to_first_result(command):
    """Seconds until the program's line, which must be "right"."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline().strip()
        elapsed = time.perf_counter() - start
        process.stdout.read()
    if line != "right" or process.returncode != 0:
        sys.exit(f"{shlex.join(command)}: said '{line}', exit code {process.returncode}")
    return elapsed


def covering_rank(count):
    """The largest r for which the r-th smallest and the r-th largest of `count` samples hold the
    median between them with 95 % confidence; 1, the range, if there is none."""
    below, rank = 0.0, 0
    while 2 * (rank + 1) <= count:
        below += math.comb(count, rank) / 2 ** count
        if 1 - 2 * below < 0.95:
            break
        rank += 1
    return max(rank, 1)


def interval(values):
    """Median, and the interval that holds the true one with 95 % confidence, as src/measure has
    it."""
    ordered = sorted(values)
    rank = covering_rank(len(ordered))
    return {"median": statistics.median(ordered), "low": ordered[rank - 1],
            "high": ordered[-rank]}


def measure(product, bare, runs):
    """Seconds of each program, run by run."""
    programs = [("product", product)] + ([("bare", bare)] if bare else [])
    times = {name: [] for name, _ in programs}
    for run in range(-1, runs):
        for name, command in (programs if run % 2 else reversed(programs)):
            seconds = seconds_to_first_result(command)
            if run >= 0:
                times[name].append(seconds)
    return times


def report(times, runs, device, commit):
    """The object that docs/measuring.md describes."""
    result = {"schema": "girih-bench-cold-1", "device": device, "commit": commit, "runs": runs,
              "seconds": {name: interval(values) for name, values in times.items()}}
    if "bare" in times:
        result["over_bare_seconds"] = interval(
            [a - b for a, b in zip(times["product"], times["bare"])])
    return result


def self_test():
    """The statistics, and that a wrong program gives no number."""
    assert [covering_rank(n) for n in (1, 5, 6, 8, 9, 11, 21)] == [1, 1, 1, 1, 2, 2, 6]
    assert interval([3, 1, 2, 9, 4, 5]) == {"median": 3.5, "low": 1, "high": 9}
    right = [sys.executable, "-c", "print('right', flush=True)"]
    late = [sys.executable, "-c",
            "import time; time.sleep(0.2); print('right', flush=True); time.sleep(5)"]
    times = measure(late, None, 1)
    assert 0.2 <= times["product"][0] < 5, times
    both = report(measure(late, right, 1), 1, "d", "c")
    assert 0 < both["over_bare_seconds"]["median"] < 5, both
    for wrong in ("print('wrong')", "print('right'); exit(1)", "pass"):
        try:
            measure([sys.executable, "-c", wrong], right, 1)
        except SystemExit as refusal:
            assert "said" in str(refusal)
        else:
            sys.exit(f"a number for: {wrong}")
    print("cold_start.py: statistics and refusals hold")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--product", type=shlex.split, help="the program that uses girih")
    parser.add_argument("--bare", type=shlex.split, help="the program that it is held against")
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--device", default="", help="recorded in the report")
    parser.add_argument("--commit", default="", help="recorded in the report")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        self_test()
        return
    if not arguments.product or arguments.runs < 1:
        parser.error("--product is needed, and at least one run")
    found = report(measure(arguments.product, arguments.bare, arguments.runs), arguments.runs,
                   arguments.device, arguments.commit)
    for name, times in found["seconds"].items():
        print(f"{name}: {times['median'] * 1e3:.1f} ms ({times['low'] * 1e3:.1f} .. "
              f"{times['high'] * 1e3:.1f}) from process start to first right result")
    if "over_bare_seconds" in found:
        over = found["over_bare_seconds"]
        print(f"over bare: {over['median'] * 1e3:.1f} ms ({over['low'] * 1e3:.1f} .. "
              f"{over['high'] * 1e3:.1f})")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
            file.write("\n")


main()
