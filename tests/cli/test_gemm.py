#!/usr/bin/env python3
"""Products on files against values computed here. Usage: test_gemm.py GIRIH"""
import math
import random
import struct

import arrays
from command import CommandTest, main


def product(a, b, m, n, k, a_at=None, b_at=None):
    """Row-major [m, n]; `a_at(i, p)` and `b_at(p, j)` index other layouts."""
    a_at = a_at or (lambda i, p: i * k + p)
    b_at = b_at or (lambda p, j: p * n + j)
    return [sum(a[a_at(i, p)] * b[b_at(p, j)] for p in range(k)) for i in range(m)
            for j in range(n)]


class Gemm(CommandTest):
    M, N, K = 5, 7, 11

    def setUp(self):
        super().setUp()
        # Small integers: every sum is exact in f32, so results must be equal, not close.
        generator = random.Random(1)
        self.a = [generator.randint(-8, 8) for _ in range(self.M * self.K)]
        self.b = [generator.randint(-8, 8) for _ in range(self.K * self.N)]
        self.bias = [generator.randint(-8, 8) for _ in range(self.N)]
        self.ab = product(self.a, self.b, self.M, self.N, self.K)
        arrays.write_npy(self.path("a.npy"), self.a, (self.M, self.K))
        arrays.write_npy(self.path("b.npy"), self.b, (self.K, self.N))
        arrays.write_npy(self.path("bias.npy"), self.bias, (self.N,))

    def gemm(self, *options, a="a.npy", b="b.npy", out="c.npy"):
        return self.succeed("gemm", "--a", a, "--b", b, "--out", out, "--verify", *options)

    def read(self, name="c.npy"):
        descr, shape, values = arrays.read_npy(self.path(name))
        self.assertEqual(shape, (self.M, self.N))
        return descr, values

    def test_plain_product(self):
        text = self.gemm()
        self.assertEqual(self.read(), ("<f4", self.ab))
        self.assertIn("5 x 7 x 11", text)
        self.assertIn("35 of 35 elements within bounds", text)

    def test_transposed_operands(self):
        a = [self.a[i * self.K + p] for p in range(self.K) for i in range(self.M)]
        b = [self.b[p * self.N + j] for j in range(self.N) for p in range(self.K)]
        arrays.write_npy(self.path("at.npy"), a, (self.K, self.M))
        arrays.write_npy(self.path("bt.npy"), b, (self.N, self.K))
        for options, first, second in [(["--trans-a"], "at.npy", "b.npy"),
                                       (["--trans-b"], "a.npy", "bt.npy"),
                                       (["--trans-a", "--trans-b"], "at.npy", "bt.npy")]:
            self.gemm(*options, a=first, b=second)
            self.assertEqual(self.read()[1], self.ab)

    def test_fortran_order(self):
        columns = [self.a[i * self.K + p] for p in range(self.K) for i in range(self.M)]
        arrays.write_npy(self.path("f.npy"), columns, (self.M, self.K), fortran=True)
        self.gemm(a="f.npy")
        self.assertEqual(self.read()[1], self.ab)
        # Transposed twice: the file holds A^T in Fortran order, which lies as A does.
        arrays.write_npy(self.path("ft.npy"), self.a, (self.K, self.M), fortran=True)
        self.gemm("--trans-a", a="ft.npy")
        self.assertEqual(self.read()[1], self.ab)

    def test_epilogue(self):
        c = list(range(-17, 18))
        arrays.write_npy(self.path("c0.npy"), c, (self.M, self.N))
        self.gemm("--alpha", "0.5", "--beta", "-2", "--c", "c0.npy", "--bias", "bias.npy",
                  "--activation", "relu")
        expected = [max(0, 0.5 * ab - 2 * c[i] + self.bias[i % self.N])
                    for i, ab in enumerate(self.ab)]
        self.assertEqual(self.read()[1], expected)

    def test_activations(self):
        gelu = lambda x: x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
        silu = lambda x: x / (1 + math.exp(-x))
        for name, function in [("gelu_tanh", gelu), ("silu", silu)]:
            self.gemm("--alpha", "0.03125", "--activation", name)
            for got, ab in zip(self.read()[1], self.ab):
                expected = function(ab / 32)
                self.assertLess(abs(got - expected), 1e-6 * (1 + abs(expected)))

    def test_gate(self):
        n = 4
        generator = random.Random(2)
        pairs = [generator.randint(-8, 8) for _ in range(self.K * 2 * n)]  # g and u in turn
        bias = [generator.randint(-8, 8) for _ in range(2 * n)]
        halves = lambda row: row[::2] + row[1::2]
        rows = [pairs[p * 2 * n:(p + 1) * 2 * n] for p in range(self.K)]
        arrays.write_npy(self.path("pairs.npy"), pairs, (self.K, 2 * n))
        arrays.write_npy(self.path("halves.npy"), sum(map(halves, rows), []), (self.K, 2 * n))
        arrays.write_npy(self.path("bias.npy"), bias, (2 * n,))
        arrays.write_npy(self.path("bias_halves.npy"), halves(bias), (2 * n,))
        ab = product(self.a, pairs, self.M, 2 * n, self.K)
        sums = [value + bias[i % (2 * n)] for i, value in enumerate(ab)]
        plain = [max(0, g) * u for g, u in zip(sums[::2], sums[1::2])]
        limited = [min(g, 5) * (max(-5, min(u, 5)) + 2) for g, u in zip(sums[::2], sums[1::2])]
        for b, terms, options in [
                ("pairs.npy", "bias.npy", ["--gate-order", "interleaved"]),
                ("halves.npy", "bias_halves.npy", [])]:
            with self.subTest(b):
                self.gemm("--gate", "relu", "--bias", terms, *options, b=b)
                _, shape, values = arrays.read_npy(self.path("c.npy"))
                self.assertEqual(shape, (self.M, n))
                self.assertEqual(values, plain)
                text = self.gemm("--gate", "none", "--gate-limit", "5", "--gate-offset", "2",
                                 "--bias", terms, *options, b=b)
                self.assertEqual(arrays.read_npy(self.path("c.npy"))[2], limited)
                self.assertIn("5 x 4 x 11", text)
                self.assertIn("joins 8 columns into 4", text)
        silu = lambda x: x / (1 + math.exp(-1.5 * x))
        report = self.succeed_json("gemm", "--a", "a.npy", "--b", "halves.npy", "--out", "c.npy",
                                   "--gate", "silu", "--gate-alpha", "1.5", "--alpha", "0.0625",
                                   "--verify")
        self.assertEqual((report["n"], report["gate"]), (n, "silu"))
        for got, g, u in zip(arrays.read_npy(self.path("c.npy"))[2], ab[::2], ab[1::2]):
            expected = silu(g / 16) * u / 16
            self.assertLess(abs(got - expected), 1e-5 * (1 + abs(expected)))
        plan = self.succeed_json("plan", "gemm", "--m", "5", "--n", "4", "--k", "11", "--gate",
                                 "silu")
        self.assertEqual(plan["flops"], 2 * 5 * 8 * 11)

    def test_accumulates_in_place(self):
        arrays.write_npy(self.path("c.npy"), [1] * 35, (self.M, self.N))
        for run in (1, 2):
            self.gemm("--c", "c.npy", "--beta", "1")
            self.assertEqual(self.read()[1], [1 + run * ab for ab in self.ab])

    def test_batch_and_shared_operand(self):
        batch = self.a + [2 * value for value in self.a] + [0] * len(self.a)
        arrays.write_npy(self.path("batch.npy"), batch, (3, self.M, self.K))
        report = self.succeed_json("gemm", "--a", "batch.npy", "--b", "b.npy", "--out", "c.npy",
                                   "--verify")
        self.assertEqual(report["batch"], 3)
        _, shape, values = arrays.read_npy(self.path("c.npy"))
        self.assertEqual(shape, (3, self.M, self.N))
        self.assertEqual(values, self.ab + [2 * ab for ab in self.ab] + [0] * 35)

    def test_int8_is_exact(self):
        arrays.write_npy(self.path("a8.npy"), self.a, (self.M, self.K), "|i1")
        arrays.write_npy(self.path("b8.npy"), self.b, (self.K, self.N), "|i1")
        self.gemm(a="a8.npy", b="b8.npy")
        self.assertEqual(self.read(), ("<i4", self.ab))
        self.gemm("--out-dtype", "f32", "--bias", "bias.npy", a="a8.npy", b="b8.npy")
        expected = [ab + self.bias[i % self.N] for i, ab in enumerate(self.ab)]
        self.assertEqual(self.read(), ("<f4", expected))
        self.gemm("--in-dtype", "i8")
        self.assertEqual(self.read(), ("<i4", self.ab))

    def test_8_bit_results_are_scaled_and_saturate(self):
        self.gemm("--out-dtype", "i8", "--c-scale", "2.5")
        expected = [max(-128, min(127, round(2.5 * ab))) for ab in self.ab]
        self.assertEqual(self.read(), ("|i1", expected))
        self.assertIn(127, expected)
        self.assertNotEqual(expected, [max(-128, min(127, round(ab))) for ab in self.ab])
        arrays.write_npy(self.path("v.npy"), [1, 17, 19, 1e6, float("-inf"), 2 ** -10], (6, 1))
        arrays.write_npy(self.path("one.npy"), [1], (1, 1))
        self.gemm("--out-dtype", "f8e4m3", a="v.npy", b="one.npy", out="c.safetensors:c")
        kind, shape, data = arrays.read_safetensors(self.path("c.safetensors"))["c"]
        # 17 and 19 are ties, of 16 and 18 and of 18 and 20.
        self.assertEqual((kind, shape, bytes(data)),
                         ("F8_E4M3", [6, 1], bytes([0x38, 0x58, 0x5A, 0x7E, 0xFE, 0x00])))

    def test_half_precision(self):
        arrays.write_npy(self.path("a16.npy"), self.a, (self.M, self.K), "<f2")
        arrays.write_npy(self.path("b16.npy"), self.b, (self.K, self.N), "<f2")
        self.gemm("--out-dtype", "f16", a="a16.npy", b="b16.npy")
        self.assertEqual(self.read(), ("<f2", self.ab))

    def test_f64_is_rounded_when_asked(self):
        a = [value / 3 for value in self.a]
        arrays.write_npy(self.path("a64.npy"), a, (self.M, self.K), "<f8")
        arrays.write_npy(self.path("bias64.npy"), [value / 3 for value in self.bias], (self.N,),
                         "<f8")
        identity = [1 if i == j else 0 for i in range(self.K) for j in range(self.K)]
        arrays.write_npy(self.path("i.npy"), identity, (self.K, self.K))
        self.gemm("--in-dtype", "f32", a="a64.npy", b="i.npy")
        _, _, values = arrays.read_npy(self.path("c.npy"))
        self.assertEqual(values, [arrays.to_f32(value) for value in a])
        self.gemm("--in-dtype", "f32", "--bias", "bias64.npy", a="a64.npy")

    def test_bf16_rounds_once_to_nearest_even(self):
        # 1 + 2^-8 is a tie and goes to even, 1; a little more, which f32 cannot hold, goes up: the
        # f64 value is rounded once, not by way of f32.
        values = [1 + 2 ** -8, 1 + 2 ** -8 + 2 ** -40, 1 + 3 * 2 ** -8, -1 - 2 ** -8 - 2 ** -40,
                  1 / 3, 1e-40]
        arrays.write_npy(self.path("a64.npy"), values, (6, 1), "<f8")
        arrays.write_npy(self.path("one.npy"), [1], (1, 1))
        self.gemm("--in-dtype", "bf16", "--out-dtype", "bf16", a="a64.npy", b="one.npy",
                  out="c.safetensors:c")
        kind, shape, data = arrays.read_safetensors(self.path("c.safetensors"))["c"]
        self.assertEqual((kind, shape), ("BF16", [6, 1]))
        got = [arrays.from_bf16_bits(bits) for bits in struct.unpack("<6H", data)]
        self.assertEqual(got[:4], [1, 1 + 2 ** -7, 1 + 2 ** -6, -1 - 2 ** -7])
        self.assertEqual(got[4], arrays.from_bf16_bits(arrays.to_bf16_bits(1 / 3)))

    def test_safetensors_in_and_out(self):
        folder = self.path("odd:folder")
        folder.mkdir()
        bits = struct.pack(f"<{len(self.b)}H", *map(arrays.to_bf16_bits, self.b))
        arrays.write_safetensors(folder / "w.safetensors", {
            "position_ids": ("I64", [2], b"\0" * 16),
            "layer.0:weight": ("BF16", [self.K, self.N], bits),
            "layer.0.bias": ("F32", [self.N], self.bias)})
        file = "odd:folder/w.safetensors"
        self.gemm("--in-dtype", "bf16", "--bias", f"{file}:layer.0.bias",
                  b=f"{file}:layer.0:weight", out="y.safetensors:out:y")
        kind, shape, data = arrays.read_safetensors(self.path("y.safetensors"))["out:y"]
        self.assertEqual((kind, shape), ("F32", [self.M, self.N]))
        expected = [ab + self.bias[i % self.N] for i, ab in enumerate(self.ab)]
        self.assertEqual(arrays.unpack("f", data), expected)

    def test_empty_products(self):
        arrays.write_npy(self.path("none.npy"), [], (0, self.K))
        self.gemm(a="none.npy")
        self.assertEqual(arrays.read_npy(self.path("c.npy")), ("<f4", (0, self.N), []))
        arrays.write_npy(self.path("a0.npy"), [], (self.M, 0))
        arrays.write_npy(self.path("b0.npy"), [], (0, self.N))
        self.gemm("--bias", "bias.npy", a="a0.npy", b="b0.npy")
        self.assertEqual(self.read()[1], self.bias * self.M)

    def test_every_way_of_choosing_the_cpu(self):
        results = []
        for options in [["--backend", "cpu"], ["--policy", "cpu"], ["--policy", "auto"],
                        ["--path", "portable"], ["--path", "matrix"], ["--threads", "1"],
                        ["--threads", "3"], ["--precision", "fast"]]:
            self.gemm(*options)
            results.append(self.read()[1])
        self.assertEqual(results, [self.ab] * len(results))

    def test_json_report(self):
        report = self.succeed_json("gemm", "--a", "a.npy", "--b", "b.npy", "--out", "c.npy",
                                   "--verify")
        self.assertEqual([report[key] for key in ("m", "n", "k", "batch", "operand_dtype",
                                                  "output_dtype", "output")],
                         [self.M, self.N, self.K, 1, "f32", "f32", "c.npy"])
        self.assertGreater(report["seconds"], 0)
        self.assertAlmostEqual(report["gflops"],
                               2e-9 * self.M * self.N * self.K / report["seconds"], places=6)
        self.assertTrue(report["plan"]["kernel"].startswith("cpu_gemm_f32_"))
        self.assertTrue(report["verification"]["passed"])
        self.assertEqual(report["verification"]["elements"], 35)
        self.assertEqual(report["verification"]["failures"], 0)
        plain = self.succeed_json("gemm", "--a", "a.npy", "--b", "b.npy", "--out", "c.npy")
        self.assertIsNone(plain["verification"])

    def test_the_output_is_replaced_and_nothing_else_appears(self):
        self.path("c.npy").write_text("old")
        before = set(self.folder.iterdir())
        self.gemm()
        self.assertEqual(set(self.folder.iterdir()), before)
        self.assertEqual(self.read()[1], self.ab)

    def test_larger_ragged_product(self):
        m, n, k = 65, 130, 257
        generator = random.Random(2)
        a = [generator.uniform(-1, 1) for _ in range(m * k)]
        b = [generator.uniform(-1, 1) for _ in range(k * n)]
        a, b = [[arrays.to_f32(value) for value in values] for values in (a, b)]
        arrays.write_npy(self.path("x.npy"), a, (m, k))
        arrays.write_npy(self.path("y.npy"), b, (k, n))
        self.gemm(a="x.npy", b="y.npy")
        _, _, got = arrays.read_npy(self.path("c.npy"))
        # (gamma(K) + output rounding) * sum |a b|, with room: sum |a b| < K.
        bound = 2 * k * 2 ** -24 * k
        worst = max(abs(x - y) for x, y in zip(got, product(a, b, m, n, k)))
        self.assertLess(worst, bound)
        self.assertGreater(worst, 0)


if __name__ == "__main__":
    main()
