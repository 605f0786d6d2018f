#!/usr/bin/env python3
"""girih verify. Usage: test_verify.py GIRIH"""
from command import INVALID, UNAVAILABLE, UNSUPPORTED, USAGE, CommandTest, main

OPS = ["gemm", "grouped_gemm", "route", "permute", "unpermute", "copy", "cast", "fill"]
# A row that takes integers only, and is there on every machine.
INTEGERS = "cpu_gemm_i8_4x4_scalar"


class Verify(CommandTest):
    def test_every_operation_passes(self):
        for op in OPS:
            with self.subTest(op):
                report = self.succeed_json("verify", "--op", op, "--cases", "12", "--seed", "7")
                self.assertEqual((report["op"], report["seed"], report["cases"]), (op, 7, 12))
                self.assertEqual(report["passed"] + report["refused"], 12)
                self.assertEqual(report["failures"], [])
                self.assertEqual(sum(report["kernels"].values()), report["passed"])
                self.assertLessEqual(report["worst_ratio"], 1)
                text = self.succeed("verify", "--op", op, "--cases", "12", "--seed", "7")
                self.assertIn(f"{op}, seed 7, cases 0..11", text)
                self.assertIn(" 0 failed", text)

    def test_cases_are_reproducible(self):
        def run(*options):
            report = self.succeed_json("verify", "--op", "gemm", "--cases", "8", *options)
            return report["worst_ratio"], report["kernels"]
        self.assertEqual(run("--seed", "5"), run("--seed", "5"))
        self.assertEqual(run("--seed", "5"), run("--seed", "5", "--threads", "1"))
        self.assertNotEqual(run("--seed", "5")[0], run("--seed", "6")[0])

    def test_one_case(self):
        report = self.succeed_json("verify", "--op", "gemm", "--seed", "3", "--case", "4")
        self.assertEqual((report["cases"], report["passed"]), (1, 1))

    def test_a_case_that_is_refused(self):
        # Case 1 of seed 1 multiplies floats.
        result = self.run_girih("verify", "--op", "gemm", "--case", "1", "--kernel", INTEGERS)
        self.assertEqual(result.returncode, UNSUPPORTED, result.stderr)
        self.assertIn("refused: ", result.stdout)

    def test_a_forced_kernel_serves_what_it_takes(self):
        report = self.succeed_json("verify", "--op", "gemm", "--cases", "60", "--kernel", INTEGERS)
        self.assertEqual(set(report["kernels"]), {INTEGERS})
        self.assertGreater(report["passed"], 3)
        self.assertGreater(report["refused"], 10)
        from_outside = self.succeed_json("verify", "--op", "gemm", "--cases", "60",
                                         env={"GIRIH_FORCE_KERNEL": INTEGERS})
        self.assertEqual(from_outside["kernels"], report["kernels"])

    def test_documents_its_json(self):
        text = self.succeed("verify", "--help").partition("JSON:")[2]
        for field in self.succeed_json("verify", "--op", "fill", "--cases", "1"):
            self.assertIn(field, text)

    def test_refusals(self):
        gemm = ["verify", "--op", "gemm"]
        self.refuse(USAGE, "--op", "verify")
        self.refuse(USAGE, "'softmax' is not one of", "verify", "--op", "softmax")
        self.refuse(USAGE, "--cases", *gemm, "--cases", "0")
        self.refuse(USAGE, "--cases", *gemm, "--cases", "-4")
        self.refuse(USAGE, "--cases", *gemm, "--cases", "many")
        self.refuse(USAGE, "--case", *gemm, "--case", "-1")
        self.refuse(USAGE, "--seed", *gemm, "--seed", "x")
        self.refuse(USAGE, "--seed", *gemm, "--seed", "-1")
        self.refuse(USAGE, "--seed", *gemm, "--seed", "99999999999999999999")
        self.refuse(USAGE, "--threads", *gemm, "--threads", "2000")
        self.refuse(UNAVAILABLE, "cuda", *gemm, "--backend", "cuda")
        self.refuse(INVALID, "abacus", *gemm, "--kernel", "abacus")
        self.refuse(INVALID, "GIRIH_THREADS", *gemm, env={"GIRIH_THREADS": "x"})


if __name__ == "__main__":
    main()
