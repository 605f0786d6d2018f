#!/usr/bin/env python3
"""probe, kernels, plan and help. Usage: test_listings.py GIRIH"""
import arrays
from command import INVALID, UNAVAILABLE, UNSUPPORTED, USAGE, CommandTest, main

COMMANDS = [["probe"], ["kernels"], ["plan"], ["plan", "gemm"], ["plan", "grouped_gemm"], ["gemm"], ["verify"], ["bench"], ["bench", "gemm"],
            ["bench", "grouped_gemm"]]
GROUPS = ["--sizes", "30,0,7", "--n", "64", "--k", "256"]
EXTENTS = ["--m", "128", "--n", "64", "--k", "256"]


class Help(CommandTest):
    def test_every_command_has_an_example(self):
        self.assertIn("Example", self.succeed("--help"))
        for command in COMMANDS:
            with self.subTest(command):
                text = self.succeed(*command, "--help")
                self.assertRegex(text, r"Examples?:\n  girih " + " ".join(command))

    def test_commands_document_their_json(self):
        for command, make in [(["probe"], []), (["kernels"], []), (["plan", "gemm"], EXTENTS),
                              (["plan", "grouped_gemm"], GROUPS),
                              (["verify"], ["--op", "gemm", "--cases", "2"])]:
            report = self.succeed_json(*command, *make)
            text = self.succeed(*command, "--help")
            for field in report:
                self.assertIn(field, text.partition("JSON:")[2])

    def test_version(self):
        self.assertRegex(self.succeed("--version"), r"^\d+\.\d+\.\d+\n$")


class Probe(CommandTest):
    def test_facts(self):
        report = self.succeed_json("probe")
        self.assertGreaterEqual(report["cpu"]["cores"], 1)
        self.assertGreaterEqual(report["cpu"]["threads"], 1)
        self.assertGreater(report["cpu"]["l1_bytes"], 0)
        states = {backend["name"]: backend for backend in report["backends"]}
        self.assertEqual(set(states), {"cpu", "cuda", "metal"})
        self.assertTrue(states["cpu"]["usable"])
        self.assertEqual(states["metal"]["state"], "not built")
        self.assertIn("backend cpu", self.succeed("probe"))

    def test_threads_follow_the_environment(self):
        report = self.succeed_json("probe", env={"GIRIH_THREADS": "3"})
        self.assertEqual(report["cpu"]["threads"], 3)


class Kernels(CommandTest):
    def test_rows(self):
        rows = self.succeed_json("kernels")["kernels"]
        names = [row["name"] for row in rows]
        self.assertEqual(len(names), len(set(names)))
        self.assertTrue(any(row["usable"] and row["op"] == "gemm" for row in rows))
        for row in rows:
            self.assertEqual(row["usable"], row["reason"] == "")
            self.assertEqual(len(row["tile"]), 3)
        text = self.succeed("kernels")
        for name in names:
            self.assertIn(name, text)
        for backend in ["cpu", "cuda", "metal"]:
            only = [row for row in rows if row["backend"] == backend]
            self.assertTrue(only)
            self.assertEqual(self.succeed_json("kernels", "--backend", backend)["kernels"], only)
        metal = self.succeed_json("kernels", "--backend", "metal")["kernels"]
        self.assertTrue(metal)
        for row in metal:
            self.assertEqual((row["backend"], row["usable"]), ("metal", False))
            self.assertTrue(row["reason"])


class Plan(CommandTest):
    def test_this_machine(self):
        report = self.succeed_json("plan", "gemm", *EXTENTS)
        usable = {row["name"] for row in self.succeed_json("kernels")["kernels"] if row["usable"]}
        self.assertIn(report["kernel"], usable)
        self.assertEqual(report["flops"], 2 * 128 * 64 * 256)
        text = self.succeed("plan", "gemm", *EXTENTS)
        self.assertIn(f"kernel: {report['kernel']}", text)
        self.assertEqual(text.count("rejected: "), len(report["rejected"]))

    def test_plans_as_gemm_runs(self):
        arrays.write_npy(self.path("a.npy"), [1] * 12, (4, 3))
        arrays.write_npy(self.path("b.npy"), [1] * 15, (5, 3))
        operands = ["--a", "a.npy", "--b", "b.npy", "--trans-b"]
        for options in [[], ["--in-dtype", "bf16"], ["--path", "portable"], ["--in-dtype", "i8"],
                        ["--threads", "1"]]:
            plan = self.succeed_json("plan", "gemm", *operands, *options)
            run = self.succeed_json("gemm", *operands, "--out", "c.npy", *options)
            self.assertEqual(plan, run["plan"])

    def test_fixtures(self):
        unknown = self.run_girih("plan", "gemm", *EXTENTS, "--device", "abacus")
        self.assertEqual(unknown.returncode, INVALID)
        names = unknown.stderr.partition("known are ")[2].strip().split(", ")
        self.assertGreater(len(names), 1)
        kernels = set()
        for name in names:
            self.assertIn(name, self.succeed("plan", "gemm", "--help"))
            report = self.succeed_json("plan", "gemm", *EXTENTS, "--device", name)
            self.assertEqual(report["device"], name)
            kernels.add(report["kernel"])
        self.assertGreater(len(kernels), 2)

    def test_gpu(self):
        report = self.succeed_json("plan", "gemm", "--m", "4096", "--n", "4096", "--k", "4096",
                                   "--in-dtype", "bf16", "--out-dtype", "bf16", "--device", "h200")
        self.assertEqual(report["backend"], "cuda")
        self.assertEqual(report["reduction"], "wgmma_f32")
        self.assertIn("wgmma", report["kernel"])
        for name in ["a100", "l40s", "b200", "rtx-pro-6000"]:
            report = self.succeed_json("plan", "gemm", "--m", "4096", "--n", "4096", "--k", "4096",
                                       "--in-dtype", "bf16", "--out-dtype", "bf16", "--device", name)
            self.assertEqual(report["kernel"], "cuda_gemm_16bit_128x128_mma")
            self.assertEqual(report["reduction"], "mma_f32")

    def test_batches_and_threads(self):
        report = self.succeed_json("plan", "gemm", *EXTENTS, "--batch", "3", "--device", "avx2-2c",
                                   "--threads", "1")
        self.assertEqual(report["threads"], 1)
        self.assertEqual(report["flops"], 3 * 2 * 128 * 64 * 256)

    def test_groups(self):
        plan = ["plan", "grouped_gemm"]
        by_sizes = self.succeed_json(*plan, *GROUPS)
        self.assertEqual(by_sizes["flops"], 2 * 37 * 64 * 256)
        self.assertIn("3 groups share the rows, 37 in all", by_sizes["notes"][0])
        in_all = self.succeed_json(*plan, "--m", "37", "--groups", "3", *GROUPS[2:])
        self.assertEqual(by_sizes, in_all)
        depth = self.succeed_json(*plan, "--depth", "--sizes", "30,0,7", "--m", "9", "--n", "5",
                                  "--in-dtype", "bf16", "--device", "avx512-16c")
        self.assertEqual(depth["flops"], 2 * 9 * 5 * 37)
        self.assertEqual(depth["device"], "avx512-16c")
        self.assertIn("3 groups share the depth", depth["notes"][0])
        gated = self.succeed_json(*plan, *GROUPS, "--gate", "silu", "--trans-b")
        self.assertEqual(gated["flops"], 2 * by_sizes["flops"])
        self.assertIn("kernel: ", self.succeed(*plan, *GROUPS))

    def test_refusals_of_groups(self):
        plan = ["plan", "grouped_gemm"]
        self.refuse(USAGE, "give --n and --k", *plan, "--sizes", "1,2")
        self.refuse(USAGE, "either --m and --groups or --sizes", *plan, "--n", "1", "--k", "1")
        self.refuse(USAGE, "either --m", *plan, *GROUPS, "--m", "37")
        self.refuse(USAGE, "either --m", *plan, *GROUPS, "--groups", "3")
        self.refuse(USAGE, "either --k", *plan, "--depth", "--m", "1", "--n", "1", "--k", "1")
        for sizes in ("1,-2", "1,,2", "many", "1,2.5", f"{2 ** 62},{2 ** 62}", str(2 ** 70)):
            self.refuse(INVALID, "sizes", *plan, "--n", "1", "--k", "1", "--sizes", sizes)
        self.refuse(INVALID, "2^31 - 1", *plan, "--n", "1", "--k", "1", "--sizes", 2 ** 31)
        self.refuse(INVALID, "-1", *plan, "--m", "4", "--n", "-1", "--k", "1", "--groups", "2")
        self.refuse(UNSUPPORTED, "grouped_gemm", *plan, *GROUPS, "--device", "m5pro")

    def test_refusals(self):
        plan = ["plan", "gemm"]
        self.refuse(USAGE, "give --a and --b, or --m, --n and --k", *plan)
        self.refuse(USAGE, "give --a and --b", *plan, "--m", "1", "--n", "1")
        self.refuse(USAGE, "give --a and --b", *plan, *EXTENTS, "--a", "x.npy", "--b", "x.npy")
        self.refuse(USAGE, "give --a and --b", *plan, "--a", "x.npy", "--b", "x.npy", "--batch", "2")
        self.refuse(USAGE, "--m", *plan, "--m", "many", "--n", "1", "--k", "1")
        self.refuse(INVALID, "-1", *plan, "--m", "-1", "--n", "1", "--k", "1")
        self.refuse(INVALID, "2^63-1", *plan, "--m", 2 ** 62, "--n", "1", "--k", "4")
        self.refuse(USAGE, "--m", *plan, "--m", 2 ** 70, "--n", "1", "--k", "4")
        self.refuse(INVALID, "cannot be opened", *plan, "--a", "x.npy", "--b", "x.npy")
        cuda = {row["name"]: row for row in self.succeed_json("probe")["backends"]}["cuda"]
        if not cuda["usable"]:
            self.refuse(UNAVAILABLE, "cuda", *plan, *EXTENTS, "--backend", "cuda")
        metal = self.succeed_json(*plan, *EXTENTS, "--backend", "metal", "--device", "m5pro")
        self.assertEqual(metal["kernel"], "metal_gemm_f32_64x64_simdgroup")
        self.assertIn("matrix unit", " ".join(metal["notes"]))
        self.refuse(INVALID, "of backend cpu", *plan, *EXTENTS, "--backend", "metal", "--device",
                    "avx2-2c")
        self.refuse(UNSUPPORTED, "fast", *plan, *EXTENTS, "--precision", "tf32")


if __name__ == "__main__":
    main()
