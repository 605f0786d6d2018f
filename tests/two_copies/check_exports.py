#!/usr/bin/env python3
"""Fails if a plugin that holds girih offers anything of it to its neighbours.

Usage: check_exports.py PLUGIN...
"""
import subprocess
import sys


def main():
    for plugin in sys.argv[1:]:
        lines = subprocess.run(["nm", "-DC", "--defined-only", plugin], check=True,
                               capture_output=True, text=True).stdout.splitlines()
        names = [line.split(maxsplit=2)[2] for line in lines]
        if "plugin_square" not in names:
            sys.exit(f"{plugin}: exports no plugin_square; it exports {names}")
        # The standard library's templates over girih's types count: theirs is default visibility.
        faults = [line for line in lines if "girih::" in line]
        if faults:
            sys.exit(f"{plugin} exports\n" + "\n".join(faults))
    print(f"{len(sys.argv) - 1} plugins export nothing of girih")


main()
