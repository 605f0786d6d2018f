"""numpy's products of single-precision matrices, on whole numbers, against its integer products.

Usage: numpy_products.py LIBRARY      LIBRARY must be the BLAS that this process has preloaded

Integer products are numpy's own loops, which call no BLAS, and every sum is exact: results must be
equal.
"""
import concurrent.futures
import ctypes
import multiprocessing
import os
import sys

try:
    import numpy as np
except ImportError:
    sys.exit(77)


class Symbol(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p),
                ("name", ctypes.c_char_p), ("address", ctypes.c_void_p)]


def file_of(symbol):
    """The object that gives this process the symbol."""
    program = ctypes.CDLL(None)
    found = Symbol()
    address = ctypes.cast(getattr(program, symbol), ctypes.c_void_p)
    if program.dladdr(address, ctypes.byref(found)) == 0:
        return None
    return os.path.realpath(found.file.decode())


def threads():
    return len(os.listdir("/proc/self/task"))


def whole(shape, seed):
    return np.random.RandomState(seed).randint(-4, 5, size=shape).astype(np.float32)


def check(a, b, what, multiply=np.matmul):
    product = multiply(a, b)
    assert product.dtype == np.float32, what
    expected = multiply(a.astype(np.int64), b.astype(np.int64))
    assert np.array_equal(product, expected), f"wrong product: {what}"


def check_shapes():
    for seed, (m, n, k) in enumerate([(2, 3, 4), (17, 33, 9), (64, 64, 64), (3, 200, 150),
                                      (257, 129, 300)]):
        a, b = whole((m, k), seed), whole((k, n), seed + 100)
        check(a, b, (m, n, k))
        check(np.asfortranarray(a), b, "A in Fortran order")
        check(a, np.asfortranarray(b), "B in Fortran order")
        check(b.T, a.T, "transposed views")
        check(a, b, "dot", np.dot)
        check(a, np.ascontiguousarray(b.T), "inner", np.inner)


def check_views():
    a, b = whole((60, 80), 1), whole((80, 70), 2)
    check(a[5:40, 3:50], b[3:50, 7:30], "windows")
    check(a[::2, ::3], b[::3, ::2], "odd strides")
    check(a[::-1, ::-1], b[::-1], "negative strides")
    check(a[:, 1::2], b[1::2, :], "steps along K")
    check(a[:, :1], b[:1, :], "an outer product")
    check(np.broadcast_to(a[:1], (50, 80)), b, "a row repeated without memory")
    check(np.broadcast_to(a[:, :1], (60, 80)), b, "a column repeated without memory")
    unaligned = np.frombuffer(b"x" + whole((40, 40), 3).tobytes(), np.uint8)[1:]
    check(unaligned.view(np.float32).reshape(40, 40), whole((40, 30), 4), "offset in bytes")


def check_batches():
    a, b = whole((6, 31, 20), 5), whole((6, 20, 33), 6)
    check(a, b, "a batch")
    check(a, b[0], "a batch times one matrix")
    check(a[0], b, "one matrix times a batch")
    check(a[:, None], b[None, :], "a grid of batches")
    check(a[::-2], b[::2], "every other product")
    check(np.swapaxes(b, 1, 2), np.swapaxes(a, 1, 2), "transposed batches")
    check(a, b, "einsum", lambda x, y: np.einsum("bij,bjk->bik", x, y, optimize=True))
    check(a, b, "tensordot", lambda x, y: np.tensordot(x, y, axes=([0, 2], [0, 1])))


def check_outputs():
    a, b = whole((40, 50), 7), whole((50, 30), 8)
    expected = a.astype(np.int64) @ b.astype(np.int64)
    for name, out in {
            "contiguous": np.full((40, 30), np.nan, np.float32),
            "in Fortran order": np.full((40, 30), np.nan, np.float32, order="F"),
            "a window": np.full((90, 99), np.nan, np.float32)[10:50, 20:50],
            "with steps": np.full((80, 90), np.nan, np.float32)[::2, ::3],
    }.items():
        np.matmul(a, b, out=out)
        assert np.array_equal(out, expected), f"wrong product: out {name}"
    square = whole((50, 50), 9)
    expected = square.astype(np.int64) @ square.T.astype(np.int64)
    assert np.array_equal(square @ square.T, expected), "wrong product: A times A transposed"
    expected = square.astype(np.int64) @ square.astype(np.int64)
    np.matmul(square, square, out=square)
    assert np.array_equal(square, expected), "wrong product: out is an operand"


def product_of(seed):
    a, b = whole((150, 160), seed), whole((160, 170), seed + 1)
    return np.array_equal(a @ b, a.astype(np.int64) @ b.astype(np.int64))


def check_callers():
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(product_of, range(64))), "wrong product: from threads"
    with multiprocessing.get_context("fork").Pool(4) as pool:
        right = pool.map_async(product_of, range(32)).get(timeout=120)
    assert all(right), "wrong product: from forked processes"


def main():
    library = os.path.realpath(sys.argv[1])
    # A fault in front of the library is the first to be found.
    in_front = os.environ["LD_PRELOAD"].split(":")
    assert library in [os.path.realpath(path) for path in in_front], "the library is not preloaded"
    found = file_of("cblas_sgemm")
    assert found in [os.path.realpath(path) for path in in_front], f"cblas_sgemm is from {found}"
    before = threads()
    check(whole((256, 256), 1), whole((256, 256), 2), "large enough for threads")
    # Reference BLAS has no threads: those that are there now are girih's, GIRIH_THREADS in all.
    assert threads() == before + 2, f"{before} threads before the first product, {threads()} after"
    check_shapes()
    check_views()
    check_batches()
    check_outputs()
    check_callers()
    print(f"numpy {np.__version__}: all products are right; cblas_sgemm is from {found}")


main()
