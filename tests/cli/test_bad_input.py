#!/usr/bin/env python3
"""Every refusal: exit code, one line, no output. Usage: test_bad_input.py GIRIH"""
import json
import os
import resource
import struct
import subprocess
import unittest

import arrays
from command import FAILED, GIRIH, INVALID, UNAVAILABLE, UNSUPPORTED, USAGE, CommandTest, main


class BadInput(CommandTest):
    def setUp(self):
        super().setUp()
        arrays.write_npy(self.path("a.npy"), range(6), (2, 3))
        arrays.write_npy(self.path("b.npy"), range(12), (3, 4))

    def gemm(self, code, fragment, *options, a="a.npy", b="b.npy", out="c.npy", **settings):
        self.refuse(code, fragment, "gemm", "--a", a, "--b", b, "--out", out, *options, **settings)
        self.assertFalse(self.path("c.npy").exists())

    def write(self, name, data):
        self.path(name).write_bytes(data)
        return name


class BadNpy(BadInput):
    def test_broken_files(self):
        good = arrays.npy_bytes(range(6), (2, 3))
        huge = b"\x93NUMPY\x02\x00" + struct.pack("<I", 1 << 31) + b"{}"
        overflow = "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }\n"
        for data, code, fragment in [
                (b"", INVALID, "0 bytes"),
                (good[:-1], INVALID, "takes 24 bytes; the file holds 23"),
                (good[:30], INVALID, "does not fit a file of 30"),
                (good + b"\0", INVALID, "takes 24 bytes; the file holds 25"),
                (huge, INVALID, "over the limit of 1048576"),
                (b"PK\x03\x04" + good, INVALID, "no .npy file"),
                (arrays.npy_bytes(0, (2, 3), ">f4", payload=b"\0" * 24), UNSUPPORTED,
                 "big-endian"),
                (arrays.npy_bytes(0, (2, 3), "|O", payload=b"cos\nsystem\n"), UNSUPPORTED,
                 "Python objects"),
                (arrays.npy_bytes(0, (2, 3), "<i8", payload=b"\0" * 48), UNSUPPORTED, "'<i8'"),
                (arrays.npy_bytes(0, (1,) * 7, payload=b"\0" * 4), UNSUPPORTED, "rank 7"),
                (arrays.npy_bytes(range(6), (2, 3), version=1, header=overflow), INVALID,
                 "64 bits"),
        ]:
            with self.subTest(fragment):
                self.gemm(code, fragment, a=self.write("bad.npy", data))
                self.gemm(code, fragment, b=self.write("bad.npy", data))

    def test_a_message_stays_on_one_line(self):
        header = "{'descr': '<f4\\n', 'x\ny': 1}\n"
        self.gemm(INVALID, "escape", a=self.write("bad.npy", arrays.npy_bytes([], (), header=header)))
        self.gemm(INVALID, "cannot be opened", a="no\nsuch.npy")


class BadSafetensors(BadInput):
    def entry(self, begin, end, shape=(2, 3), dtype="F32"):
        return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}

    def bad(self, code, fragment, header, data):
        self.write("w.safetensors", arrays.safetensors_bytes(header, data))
        self.gemm(code, fragment, a="w.safetensors:a")

    def test_layouts(self):
        zeros = b"\0" * 48
        self.bad(INVALID, "inside another tensor",
                 {"a": self.entry(0, 24), "b": self.entry(20, 44)}, zeros[:44])
        self.bad(INVALID, "do not fit the 24 bytes", {"a": self.entry(0, 48)}, zeros[:24])
        self.bad(INVALID, "after a gap", {"a": self.entry(8, 32)}, zeros[:32])
        self.bad(INVALID, "follow the last tensor", {"a": self.entry(0, 24)}, zeros[:25])
        self.bad(INVALID, "hold 20 bytes", {"a": self.entry(0, 20)}, zeros[:20])
        self.bad(INVALID, "unknown dtype", {"a": self.entry(0, 24, dtype="F31")}, zeros[:24])
        self.bad(INVALID, "64 bits", {"a": self.entry(0, 24, shape=(2 ** 62, 8))}, zeros[:24])
        self.bad(INVALID, "63 bits", {"a": self.entry(0, 2 ** 63)}, zeros[:24])
        self.bad(INVALID, "strings to strings", {"__metadata__": {"k": 1},
                                                 "a": self.entry(0, 24)}, zeros[:24])

    def test_duplicates(self):
        entry = json.dumps(self.entry(0, 24))
        self.bad(INVALID, "appears twice", f'{{"a":{entry},"a":{entry}}}'.encode(), b"\0" * 24)

    def test_headers(self):
        self.bad(INVALID, "no valid JSON", b'{"a":', b"")
        self.bad(INVALID, "does not begin", b"[1]", b"")
        for length, fragment in [(2 ** 63, "over the limit of 100000000"),
                                 (100_000_001, "over the limit of 100000000"),
                                 (50_000_000, "does not fit a file of 10")]:
            self.write("w.safetensors", struct.pack("<Q", length) + b"{}")
            self.gemm(INVALID, fragment, a="w.safetensors:a")

    def test_entries(self):
        arrays.write_safetensors(self.path("w.safetensors"), {"a": ("I64", [2, 3], b"\0" * 48)})
        self.gemm(UNSUPPORTED, "I64", a="w.safetensors:a")
        self.gemm(INVALID, 'no tensor "z"', a="w.safetensors:z")


class BadProducts(BadInput):
    def test_shapes(self):
        arrays.write_npy(self.path("x.npy"), range(8), (4, 2))
        self.gemm(INVALID, "K must agree", b="x.npy")
        arrays.write_npy(self.path("v.npy"), range(3), (3,))
        self.gemm(INVALID, "A has rank 1", a="v.npy")
        self.gemm(INVALID, "B has rank 1", b="v.npy")
        arrays.write_npy(self.path("a3.npy"), range(12), (2, 2, 3))
        arrays.write_npy(self.path("b3.npy"), range(36), (3, 3, 4))
        self.gemm(INVALID, "batch", a="a3.npy", b="b3.npy")

    def test_scalars(self):
        for text in ["nan", "inf", "-inf", "1e999", "1e39"]:
            self.gemm(INVALID, "alpha", "--alpha", text)
            arrays.write_npy(self.path("c0.npy"), range(8), (2, 4))
            self.gemm(INVALID, "beta", "--c", "c0.npy", "--beta", text)

    def test_terms(self):
        arrays.write_npy(self.path("bias.npy"), range(3), (3,))
        self.gemm(INVALID, "bias has 3 elements", "--bias", "bias.npy")
        arrays.write_npy(self.path("c0.npy"), range(6), (3, 2))
        self.gemm(INVALID, "C is 3 by 2", "--c", "c0.npy", "--beta", "1")
        arrays.write_npy(self.path("c16.npy"), range(8), (2, 4), "<f2")
        self.gemm(INVALID, "holds f16, but the result is f32", "--c", "c16.npy", "--beta", "1")

    def test_types(self):
        arrays.write_npy(self.path("a16.npy"), range(6), (2, 3), "<f2")
        self.gemm(INVALID, "A is f16 but B is f32", a="a16.npy")
        arrays.write_npy(self.path("a64.npy"), range(6), (2, 3), "<f8")
        self.gemm(UNSUPPORTED, "f64", a="a64.npy")
        arrays.write_npy(self.path("bias64.npy"), range(4), (4,), "<f8")
        self.gemm(INVALID, "not narrowed unasked", "--bias", "bias64.npy")
        arrays.write_npy(self.path("au8.npy"), range(6), (2, 3), "|u1")
        self.gemm(UNSUPPORTED, "u8", a="au8.npy")
        arrays.write_npy(self.path("big.npy"), [0, 0, 0, 128, 0, 0], (2, 3))
        self.gemm(INVALID, "element 3 is 128", "--in-dtype", "i8", a="big.npy")
        arrays.write_npy(self.path("nan.npy"), [0, 0, 0, float("nan"), 0, 0], (2, 3))
        self.gemm(INVALID, "element 3 is nan", "--in-dtype", "i8", a="nan.npy")
        self.gemm(INVALID, "C is i32", "--out-dtype", "i32")
        self.gemm(UNSUPPORTED, "", "--in-dtype", "f8e4m3")

    def test_long_int8_sums(self):
        k = 131072
        arrays.write_npy(self.path("ak.npy"), [1] * k, (1, k), "|i1")
        arrays.write_npy(self.path("bk.npy"), [1] * k, (k, 1), "|i1")
        self.gemm(INVALID, "K is 131072", a="ak.npy", b="bk.npy")

    def test_gates(self):
        arrays.write_npy(self.path("odd.npy"), range(9), (3, 3))
        arrays.write_npy(self.path("short.npy"), range(2), (2,))
        for fragment, options in [
                ("bias has 2 elements a row, 2N is 4", ["--bias", "short.npy"]),
                ("activation relu beside a gate", ["--activation", "relu"]),
                ("limit of the gate is -1", ["--gate-limit", "-1"]),
                ("alpha of the gate is nan", ["--gate-alpha", "nan"]),
                ("offset of the gate is inf", ["--gate-offset", "inf"]),
        ]:
            with self.subTest(options):
                self.gemm(INVALID, fragment, "--gate", "silu", *options)
        self.gemm(INVALID, "B has 3 columns", "--gate", "silu", b="odd.npy")
        self.gemm(INVALID, "relu takes 1", "--gate", "relu", "--gate-alpha", "2")
        arrays.write_npy(self.path("c0.npy"), range(4), (2, 2))
        self.gemm(INVALID, "beta", "--gate", "silu", "--c", "c0.npy", "--beta", "1")

    def test_requests_that_the_cpu_cannot_serve(self):
        self.gemm(UNSUPPORTED, "fast", "--precision", "tf32")
        self.gemm(UNAVAILABLE, "cuda", "--backend", "cuda")
        self.gemm(UNAVAILABLE, "metal", "--backend", "metal")
        self.gemm(UNAVAILABLE, "accel", "--policy", "accel")
        self.gemm(INVALID, "no_such_kernel", env={"GIRIH_FORCE_KERNEL": "no_such_kernel"})
        self.gemm(INVALID, "GIRIH_THREADS", env={"GIRIH_THREADS": "many"})
        for count in [-1, 1025, 2 ** 40]:
            self.gemm(INVALID, "threads", "--threads", count)


class BadFiles(BadInput):
    def test_missing_inputs(self):
        self.gemm(INVALID, "missing.npy: cannot be opened", a="missing.npy")
        self.gemm(INVALID, "cannot be opened", b="missing.safetensors:x")
        self.path("folder.npy").mkdir()
        self.gemm(INVALID, "not a regular file", a="folder.npy")

    def test_outputs_that_cannot_be_written(self):
        self.gemm(FAILED, "No such file", out="missing/c.npy")
        self.path("folder.npy").mkdir()
        self.gemm(FAILED, "directory", out="folder.npy")
        os.mkfifo(self.path("pipe.npy"))
        self.gemm(FAILED, "not a regular file", out="pipe.npy")

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_read_only_folder(self):
        self.path("locked").mkdir(0o500)
        self.gemm(FAILED, "Permission denied", out="locked/c.npy")

    def test_a_full_disk_leaves_nothing(self):
        n = 200
        arrays.write_npy(self.path("x.npy"), [1] * n, (n, 1))
        arrays.write_npy(self.path("y.npy"), [1] * n, (1, n))

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        self.gemm(FAILED, "too large", a="x.npy", b="y.npy", preexec_fn=limit)
        self.gemm(FAILED, "too large", a="x.npy", b="y.npy", out="c.safetensors:c",
                  preexec_fn=limit)

    def test_a_closed_standard_output_is_an_error(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([GIRIH, "kernels"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(result.returncode, FAILED)

    def test_types_that_numpy_lacks(self):
        self.gemm(UNSUPPORTED, "NumPy has no element type bf16", "--out-dtype", "bf16")
        self.gemm(UNSUPPORTED, "NumPy has no element type f8e4m3", "--out-dtype", "f8e4m3")

    def test_quantised_results(self):
        self.gemm(INVALID, "c_scale is for a C of", "--c-scale", "2")
        self.gemm(USAGE, "--c-scale", "--out-dtype", "i8", "--c-scale", "two")
        arrays.write_npy(self.path("c8.npy"), range(8), (2, 4), "|i1")
        self.gemm(INVALID, "beta is not 0, must be 0", "--out-dtype", "i8", "--c", "c8.npy",
                  "--beta", "1")

    def test_outputs_that_are_inputs(self):
        self.gemm(INVALID, "file that holds A", out="a.npy")
        os.link(self.path("b.npy"), self.path("link.npy"))
        self.gemm(INVALID, "file that holds B", out="link.npy")
        arrays.write_npy(self.path("bias.npy"), range(4), (4,))
        self.gemm(INVALID, "file that holds bias", "--bias", "bias.npy", out="bias.npy")
        arrays.write_safetensors(self.path("w.safetensors"), {"c": ("F32", [2, 4], range(8))})
        self.gemm(INVALID, "file that holds C", "--c", "w.safetensors:c", "--beta", "1",
                  out="w.safetensors:c")


class Usage(BadInput):
    def test_command_lines(self):
        for fragment, arguments in [
                ("subcommand", []),
                ("unknown command 'frobnicate'", ["frobnicate"]),
                ("--a", ["gemm", "--b", "b.npy", "--out", "c.npy"]),
                ("--out", ["gemm", "--a", "a.npy", "--b", "b.npy"]),
                ("subcommand", ["plan"]),
        ]:
            with self.subTest(arguments):
                self.refuse(USAGE, fragment, *arguments)
        for fragment, options in [
                ("not expected", ["--frobnicate"]),
                ("'tanh' is not one of none|relu|gelu_tanh|silu", ["--activation", "tanh"]),
                ("'f64' is not one of", ["--in-dtype", "f64"]),
                ("'best' is not one of", ["--precision", "best"]),
                ("'tpu' is not one of", ["--backend", "tpu"]),
                ("--alpha", ["--alpha", "much"]),
                ("'swish' is not one of none|relu|gelu_tanh|silu", ["--gate", "swish"]),
                ("--gate", ["--gate-limit", "7"]),
                ("'pairs' is not one of", ["--gate", "silu", "--gate-order", "pairs"]),
                ("no integer", ["--threads", "0x10"]),
                ("no integer", ["--threads", "2.0"]),
                ("--beta", ["--c", "b.npy"]),
                ("--c", ["--beta", "1"]),
                ("\\", ["--activation", "\\\n"]),
        ]:
            with self.subTest(options):
                self.gemm(USAGE, fragment, *options)

    def test_operand_texts(self):
        self.gemm(USAGE, "must be FILE.npy or FILE.safetensors:NAME", a="a.txt")
        self.gemm(USAGE, "must name a tensor: w.safetensors:NAME", a="w.safetensors")
        self.gemm(USAGE, "must name a tensor after", a="w.safetensors:")
        self.gemm(USAGE, "must be", a="")
        self.gemm(USAGE, "must be", out="c.bin")


if __name__ == "__main__":
    main()
