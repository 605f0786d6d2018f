#!/usr/bin/env python3
"""bench: its report, its verdicts, its refusals. Usage: test_bench.py GIRIH"""
import json

from command import FAILED, INVALID, UNAVAILABLE, UNSUPPORTED, USAGE, CommandTest, main

QUICK = ["bench", "gemm", "--shapes", "8x16x24,33x1x7", "--rounds", "6"]


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
        report = json.loads(self.path("report.json").read_text(encoding="utf-8"))
        self.assertEqual([(s["dtype"], s["out_dtype"], s["layout"]) for s in report["shapes"]],
                         [("i8", "i32", "TN")] * 2)

    def test_every_type_and_layout(self):
        for dtype in ("f32", "bf16", "f16", "i8"):
            for layout in ("NN", "NT", "TN", "TT"):
                self.succeed("bench", "gemm", "--shapes", "5x6x7", "--rounds", "1", "--dtype",
                             dtype, "--layout", layout)

    def test_refusals(self):
        for shapes in ("8", "8x8", "8x8x", "0x8x8", "8x8x8,", "8x8x8x8x8", "8x8x8x0", "axbxc", "-1x8x8"):
            self.refuse(INVALID, "shapes", "bench", "gemm", f"--shapes={shapes}")
        self.refuse(INVALID, "square", "bench", "gemm", "--ladder", "none")
        self.refuse(INVALID, "openblas", "bench", "gemm", "--against", "mkl9")
        self.refuse(UNSUPPORTED, "cuda", "bench", "gemm", "--backend", "cpu", "--against",
                    "cublaslt")
        self.refuse(UNAVAILABLE, "metal", *QUICK, "--backend", "metal")
        self.refuse(UNSUPPORTED, "tf32", *QUICK, "--precision", "tf32")
        self.refuse(USAGE, "--rounds", "bench", "gemm", "--rounds", "0")
        self.refuse(USAGE, "--layout", *QUICK, "--layout", "nn,xx")
        self.refuse(USAGE, "--dtype", *QUICK, "--dtype", "f32,")
        self.refuse(USAGE, "--epilogue", *QUICK, "--epilogue", "bias,tanh")
        self.refuse(USAGE, "--reproducibility", *QUICK, "--reproducibility", "always")
        self.assertEqual(self.run_girih(*QUICK, "--json", "none/report.json").returncode, FAILED)


main()
