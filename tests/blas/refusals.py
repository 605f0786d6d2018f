#!/usr/bin/env python3
"""What the library says where nobody else speaks: no xerbla in the process, a bad environment.

Usage: refusals.py FOLDER LIBRARY...
"""
import sys

from preload import Preloaded

PROGRAM = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
m = int(sys.argv[2])
def integer(value): return ctypes.byref(ctypes.c_int(value))
one, c = ctypes.c_float(1), ctypes.c_float(5)
library.sgemm_(b"N", b"N", integer(m), integer(1), integer(1), ctypes.byref(one), ctypes.byref(one),
               integer(1), ctypes.byref(one), integer(1), ctypes.byref(one), ctypes.byref(c),
               integer(1))
print("C is", c.value)
"""


def main():
    folder, *libraries = sys.argv[1:]
    preloaded = Preloaded(folder, libraries)

    def run(m, **environment):
        result = preloaded.run([sys.executable, "-c", PROGRAM, libraries[-1], str(m)],
                               environment=environment)
        print(result.returncode, result.stdout, result.stderr)
        return result

    good = run(1)
    assert good.returncode == 0 and "C is 6.0" in good.stdout and not good.stderr
    bad = run(-1)
    assert bad.returncode == 0 and "C is 5.0" in bad.stdout
    assert bad.stderr == " ** On entry to SGEMM  parameter number  3 had an illegal value\n"
    for name, value in [("GIRIH_THREADS", "0"), ("GIRIH_FORCE_KERNEL", "none_such")]:
        refused = run(1, **{name: value})
        assert refused.returncode < 0 and "C is" not in refused.stdout
        assert refused.stderr.startswith("girih_blas: ") and value in refused.stderr
    # Nothing is computed, so nothing is read.
    assert run(0, GIRIH_THREADS="0").returncode == 0


main()
