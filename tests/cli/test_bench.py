#!/usr/bin/env python3
"""bench: its report, its verdicts, its refusals. Usage: test_bench.py GIRIH"""
import json

from command import FAILED, INVALID, UNAVAILABLE, UNSUPPORTED, USAGE, CommandTest, main

QUICK = ["bench", "gemm", "--shapes", "8x16x24,33x1x7", "--rounds", "6", "--round-ms", "1"]


GROUPS = ["bench", "grouped_gemm", "--shapes", "3x5x16x24,1x70x9x33", "--rounds", "6",
          "--round-ms", "1"]


MOVES = ["bench", "elementwise", "--backend", "cpu", "--side", "64", "--rounds", "6", "--round-ms",
         "1"]


class BenchMoves(CommandTest):
    def test_report(self):
        report = json.loads(self.succeed(*MOVES, "--commit", "abc", "--dtype", "f32,bf16,i8", "--json",
                                         "-"))
        self.assertEqual(report["schema"], "girih-bench-elementwise-1")
        self.assertEqual((report["commit"], report["rounds"], report["failures"]), ("abc", 6, []))
        self.assertEqual([(s["op"], s["dtype"], s["out_dtype"]) for s in report["shapes"]],
                         [(op, t, t) for op in ("copy", "copy-rows", "transpose")
                          for t in ("f32", "bf16", "i8")]
                         + [("narrow", "f32", "bf16"), ("widen", "bf16", "f32")]
                         + [(op, t, t) for op in ("fill", "permute")
                            for t in ("f32", "bf16", "i8")]
                         + [("unpermute", t, t) for t in ("f32", "bf16")])
        for shape in report["shapes"]:
            peer = shape["peers"][0]
            self.assertEqual((peer["name"], shape["rows"]),
                             ("memcpy", 32 if shape["op"] == "unpermute" else 64))
            self.assertAlmostEqual(shape["gb_per_s"] * shape["seconds"]["median"] * 1e9,
                                   shape["bytes"], delta=shape["bytes"] * 1e-6)
            self.assertTrue(shape["kernel"].startswith("cpu_"))
        self.assertEqual({s["bytes"] for s in report["shapes"] if s["op"] == "fill"},
                         {4096, 8192, 16384})
        self.assertEqual([s["bytes"] for s in report["shapes"] if "permute" in s["op"]],
                         [33024, 16640, 8448, 64 * 64 * 4 + 32 * 64 * 4 + 512,
                          64 * 64 * 2 + 32 * 64 * 2 + 512])

    def test_table_and_refusals(self):
        text = self.succeed(*MOVES, "--op", "transpose", "--dtype", "f32", "--json", "report.json")
        self.assertIn("transpose f32 64 x 64", text)
        self.assertEqual(len(json.loads(self.path("report.json").read_text(encoding="utf-8"))["shapes"]),
                         1)
        self.refuse(USAGE, "--op", *MOVES, "--op", "sort")
        self.refuse(USAGE, "--side", *MOVES[:4], "--side", "7")
        self.refuse(INVALID, "no case", *MOVES, "--op", "narrow", "--dtype", "i8")
        self.refuse(INVALID, "--round-ms", *MOVES[:8], "--round-ms", "nan")


class BenchGroups(CommandTest):
    def test_report(self):
        report = json.loads(self.succeed(*GROUPS, "--commit", "abc", "--dtype", "bf16,i8", "--json",
                                         "-"))
        self.assertEqual(report["schema"], "girih-bench-grouped-1")
        self.assertEqual((report["commit"], report["rounds"], report["failures"]), ("abc", 6, []))
        self.assertEqual([(s["groups"], s["rows"], s["n"], s["k"], s["dtype"], s["out_dtype"])
                          for s in report["shapes"]],
                         [(3, 5, 16, 24, "bf16", "bf16"), (1, 70, 9, 33, "bf16", "bf16"),
                          (3, 5, 16, 24, "i8", "i32"), (1, 70, 9, 33, "i8", "i32")])
        for shape in report["shapes"]:
            flops = 2 * shape["groups"] * shape["rows"] * shape["n"] * shape["k"]
            self.assertAlmostEqual(shape["gflops"] * shape["seconds"]["median"] * 1e9, flops,
                                   delta=flops * 1e-6)
            width = 2 if shape["dtype"] == "bf16" else 1
            weights = shape["groups"] * shape["n"] * shape["k"] * width
            self.assertAlmostEqual(
                shape["weight_gb_per_s"] * shape["seconds"]["median"] * 1e9, weights,
                delta=weights * 1e-6)
            self.assertEqual([p["name"] for p in shape["peers"]], ["gemm-loop"])
            for interval in (shape["seconds"], shape["control"], shape["peers"][0]["ratio"]):
                self.assertLessEqual(interval["low"], interval["median"])
                self.assertLessEqual(interval["median"], interval["high"])
        self.assertEqual(report["least_ratio"]["gemm-loop"],
                         min(s["peers"][0]["ratio"]["median"] for s in report["shapes"]))

    def test_table_and_file(self):
        text = self.succeed(*GROUPS, "--json", "report.json")
        self.assertIn("bf16 3 x 5 x 16 x 24", text)
        self.assertIn("gemm-loop", text)
        self.assertIn("95 % interval", text)
        report = json.loads(self.path("report.json").read_text(encoding="utf-8"))
        self.assertEqual(len(report["shapes"]), 2)

    def test_refusals(self):
        for shapes in ("8x8x8", "8x8x8x", "0x8x8x8", "8x8x8x8x8", "8x8x8x8,", "axbxcxd", ""):
            self.refuse(INVALID, "shapes", "bench", "grouped_gemm", "--shapes", shapes)
        self.refuse(INVALID, "experts", "bench", "grouped_gemm", "--ladder", "square")
        self.refuse(INVALID, "2^63-1", "bench", "grouped_gemm", "--shapes",
                    f"{2 ** 40}x{2 ** 40}x1x1")
        self.refuse(USAGE, "--ladder", *GROUPS, "--ladder", "experts")
        self.refuse(USAGE, "--rounds", *GROUPS[:4], "--rounds", "0")
        self.refuse(INVALID, "--round-ms", *GROUPS[:4], "--round-ms", "nan")
        self.assertEqual(self.run_girih(*GROUPS, "--json", "none/report.json").returncode, FAILED)

    def test_what_cannot_be_timed(self):
        run = self.run_girih(*GROUPS, "--dtype", "i8,f32", "--out-dtype", "i32", "--json", "-")
        self.assertEqual(run.returncode, INVALID)
        report = json.loads(run.stdout)
        self.assertEqual([s["dtype"] for s in report["shapes"]], ["i8", "i8"])
        self.assertEqual([f["dtype"] for f in report["failures"]], ["f32", "f32"])


class Bench(CommandTest):
    def test_report(self):
        report = json.loads(self.succeed(*QUICK, "--commit", "abc", "--json", "-"))
        self.assertEqual(report["schema"], "girih-bench-gemm-2")
        self.assertEqual((report["commit"], report["rounds"], report["peers"]), ("abc", 6, {}))
        self.assertEqual([(s["m"], s["n"], s["k"]) for s in report["shapes"]],
                         [(8, 16, 24), (33, 1, 7)])
        for shape in report["shapes"]:
            self.assertGreater(shape["gflops"], 0)
            for interval in (shape["seconds"], shape["control"]):
                self.assertLessEqual(interval["low"], interval["median"])
                self.assertLessEqual(interval["median"], interval["high"])
            flops = 2 * shape["m"] * shape["n"] * shape["k"]
            self.assertAlmostEqual(shape["gflops"] * shape["seconds"]["median"] * 1e9, flops,
                                   delta=flops * 1e-6)

    def test_table_and_file(self):
        text = self.succeed(*QUICK, "--dtype", "i8", "--layout", "TN", "--json", "report.json")
        self.assertIn("8 x 16 x 24", text)
        self.assertIn("itself", text)
        self.assertIn("95 % interval", text)
        report = json.loads(self.path("report.json").read_text(encoding="utf-8"))
        self.assertEqual([(s["dtype"], s["out_dtype"], s["layout"]) for s in report["shapes"]],
                         [("i8", "i32", "TN")] * 2)

    def test_lists_replays_and_epilogues(self):
        report = json.loads(self.succeed(
            "bench", "gemm", "--shapes", "8x16x24,9x5x7x3", "--rounds", "6", "--round-ms", "1",
            "--dtype", "f32,bf16", "--layout", "nn,Tt", "--submission", "replay", "--epilogue",
            "bias,gelu", "--reproducibility", "row-invariant", "--against", "per-shape", "--json",
            "-"))
        self.assertEqual([(s["dtype"], s["layout"], s["batch"]) for s in report["shapes"]],
                         [(d, t, b) for d in ("f32", "bf16") for t in ("NN", "TT") for b in (1, 3)])
        self.assertEqual((report["reproducibility"], report["submission"], report["epilogue"]),
                         ("row-invariant", "replay", {"bias": True, "activation": "gelu_tanh", "scales": False}))
        for shape in report["shapes"]:
            self.assertEqual(shape["out_dtype"], shape["dtype"])
            self.assertGreater(shape["replayed"], 0)
            self.assertEqual([p["name"] for p in shape["peers"]], ["per-shape"])
            self.assertIn("epilogue_cost", shape)
        self.assertEqual(len(report["groups"]), 4)
        self.assertEqual(report["least_ratio"]["per-shape"],
                         min(s["peers"][0]["ratio"]["median"] for s in report["shapes"]))

    def test_what_cannot_be_timed(self):
        run = self.run_girih(*QUICK, "--dtype", "f32,i8", "--epilogue", "bias", "--json", "-")
        self.assertEqual(run.returncode, INVALID)
        report = json.loads(run.stdout)
        self.assertEqual([s["dtype"] for s in report["shapes"]], ["f32", "f32"])
        self.assertEqual([(f["dtype"], f["m"]) for f in report["failures"]],
                         [("i8", 8), ("i8", 33)])
        self.assertIn("bias", report["failures"][0]["error"])

    def test_every_type_and_layout(self):
        text = self.succeed("bench", "gemm", "--shapes", "5x6x7", "--rounds", "1", "--round-ms",
                            "1", "--dtype", "f32,bf16,f16,i8", "--layout", "NN,NT,TN,TT")
        self.assertIn("range", text.splitlines()[0])  # one round has no interval
        self.assertNotIn("95 %", text)

    def test_refusals(self):
        for shapes in ("8", "8x8", "8x8x", "0x8x8", "8x8x8,", "8x8x8x8x8", "8x8x8x0", "axbxc", "-1x8x8"):
            self.refuse(INVALID, "shapes", "bench", "gemm", f"--shapes={shapes}")
        self.refuse(INVALID, "shapes", "bench", "gemm", "--shapes", "")
        self.refuse(USAGE, "--ladder", *QUICK, "--ladder", "square")
        self.refuse(INVALID, "square", "bench", "gemm", "--ladder", "none")
        self.refuse(INVALID, "openblas", "bench", "gemm", "--against", "mkl9")
        self.refuse(UNSUPPORTED, "cuda", "bench", "gemm", "--backend", "cpu", "--against",
                    "cublaslt")
        self.refuse(UNAVAILABLE, "metal", *QUICK, "--backend", "metal")
        self.refuse(UNSUPPORTED, "tf32", *QUICK, "--precision", "tf32")
        self.refuse(USAGE, "--rounds", "bench", "gemm", "--rounds", "0")
        self.refuse(INVALID, "--round-ms", "bench", "gemm", "--round-ms", "nan")
        self.refuse(USAGE, "--layout", *QUICK, "--layout", "nn,xx")
        self.refuse(USAGE, "--dtype", *QUICK, "--dtype", "f32,")
        self.refuse(USAGE, "--epilogue", *QUICK, "--epilogue", "bias,tanh")
        self.refuse(USAGE, "--reproducibility", *QUICK, "--reproducibility", "always")
        self.assertEqual(self.run_girih(*QUICK, "--json", "none/report.json").returncode, FAILED)


main()
