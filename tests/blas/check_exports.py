#!/usr/bin/env python3
"""Fails unless a shared object exports exactly the functions that are named.

Usage: check_exports.py LIBRARY NAME...
"""
import subprocess
import sys


def main():
    library, *wanted = sys.argv[1:]
    listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                             capture_output=True, text=True).stdout
    exported = {line.split()[-1] for line in listing.splitlines()}
    for name in sorted(exported - set(wanted)):
        print(f"exports {name}, which is not in the list")
    for name in sorted(set(wanted) - exported):
        print(f"does not export {name}")
    if exported != set(wanted):
        sys.exit(1)
    print(f"exports {', '.join(sorted(exported))}, and nothing else")


main()
