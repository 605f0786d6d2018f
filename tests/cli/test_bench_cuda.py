#!/usr/bin/env python3
"""bench on a GPU, against cuBLASLt if it is installed. Usage: test_bench_cuda.py GIRIH"""
import json

from command import CommandTest, main

QUICK = ["--backend", "cuda", "--rounds", "6", "--round-ms", "1"]


class BenchCuda(CommandTest):
    def has_cublaslt(self):
        return "cublasLt" not in self.run_girih("bench", "gemm", *QUICK, "--shapes", "8x8x8",
                                                "--against", "cublaslt", "--dtype",
                                                "bf16").stderr

    def against(self):
        return ["--against", "cublaslt"] if self.has_cublaslt() else []

    def names(self, report):
        return {peer["name"] for shape in report["shapes"] for peer in shape["peers"]}

    def test_every_layout_type_and_batch(self):
        peers = self.against()
        for submission in ("replay", "eager"):
            report = json.loads(self.succeed(
                "bench", "gemm", *QUICK, *peers, "--shapes", "256x192x320,100x72x88x5,1x4096x512",
                "--dtype", "bf16,f16", "--layout", "nn,nt,tn,tt", "--submission", submission,
                "--json", "-"))
            self.assertEqual((len(report["shapes"]), report["failures"]), (24, []))
            for shape in report["shapes"]:
                self.assertIn("cuda_gemm", shape["kernel"])
                self.assertEqual(shape["replayed"] > 0, submission == "replay")
                for peer in shape["peers"]:
                    self.assertNotIn("unknown", peer["kernel"])
                    self.assertNotEqual(peer["kernel"], "")
            self.assertEqual(self.names(report),
                             {"cublaslt", "cublaslt-best"} if peers else set())

    def test_epilogues(self):
        report = json.loads(self.succeed(
            "bench", "gemm", *QUICK, *self.against(), "--shapes", "512x512x512,128x96x64x3",
            "--dtype", "bf16", "--epilogue", "bias,gelu", "--json", "-"))
        for shape in report["shapes"]:
            self.assertIn("epilogue_cost", shape)
            for peer in shape["peers"]:
                self.assertIn("epilogue_cost", peer)

    def test_fast_f32_and_elementwise(self):
        report = json.loads(self.succeed("bench", "gemm", *QUICK, *self.against(), "--shapes",
                                         "2048x2048x2048", "--precision", "fast", "--json", "-"))
        shape = report["shapes"][0]
        self.assertIn("f32x3", shape["kernel"])
        self.assertGreater(shape["max_error"], 0)
        for peer in shape["peers"]:
            self.assertLessEqual(shape["max_error"], 2 * peer["max_error"])
        report = json.loads(self.succeed("bench", "elementwise", *QUICK, "--side", "1024", "--dtype",
                                         "f32,bf16,f16,i8", "--json", "-"))
        self.assertEqual(report["failures"], [])

    def test_launches(self):
        self.succeed("bench", "launches", "--shapes", "1000x776x1024,64x64x4096", "--most", "6",
                     "--rounds", "6", "--rows", "rows.inc", "--timings", "timings")
        rows = self.path("rows.inc").read_text(encoding="utf-8").splitlines()
        timings = self.path("timings").read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(rows), 2)
        self.assertTrue(rows[0].startswith("GIRIH_CUDA_TUNED(1000, 776, 1024, 1, K, MN, "), rows)
        self.assertGreater(len(timings), 12)
        self.assertTrue(all(float(line.rsplit(" ", 1)[1]) > 0 for line in timings))


main()
