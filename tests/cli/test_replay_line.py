#!/usr/bin/env python3
"""girih replay-line, on lines that GIRIH_TRACE=line wrote. Usage: test_replay_line.py GIRIH"""
import json

from command import INVALID, UNAVAILABLE, UNSUPPORTED, USAGE, CommandTest, main

FILL = "girih-call-1 fill backend=cpu destination=f32[4]:1@0 value=2"
GEMM = ("girih-call-1 gemm backend=cpu threads=2 a=bf16[5,64]:64,1@2 b=bf16[64,7]:1,64@0 "
        "c=f32[5,7]:7,1@0")


class ReplayLine(CommandTest):
    def trace(self, *arguments):
        self.succeed(*arguments, env={"GIRIH_TRACE": "line",
                                      "GIRIH_TRACE_FILE": str(self.path("calls.txt"))})
        return self.path("calls.txt").read_text(encoding="utf-8").splitlines()

    def test_recorded_calls_of_every_operation_run_again_and_are_right(self):
        for op in ("gemm", "grouped_gemm", "copy", "cast", "fill"):
            with self.subTest(op):
                lines = self.trace("verify", "--op", op, "--cases", "12", "--seed", "3")
                self.assertGreater(len(lines), 12)
                report = self.succeed_json("replay-line", "--verify", "--file", "calls.txt")
                self.assertEqual(len(report["lines"]), len(lines))
                for line in report["lines"]:
                    if line["recorded_status"] == "ok":
                        self.assertEqual(line["outcome"], "verified", line)
                        self.assertEqual(line["kernel"], line["recorded_kernel"])
                        self.assertLessEqual(line["worst_ratio"], 1)
                    else:
                        self.assertEqual(line["outcome"], line["recorded_status"])
                self.path("calls.txt").unlink()

    def test_a_line_from_the_command_line(self):
        text = self.succeed("replay-line", "--verify", GEMM, FILL)
        self.assertIn("cpu_gemm_", text)
        self.assertEqual(text.count("verified"), 2)
        self.assertIn(" ok", self.succeed("replay-line", FILL))
        for text in (FILL, FILL + "\n", FILL + "\r\n\n"):
            self.assertIn(" ok", self.succeed("replay-line", "--file", "-", input=text))

    def test_what_was_refused_when_recorded_is_refused_again(self):
        refused = ("girih-call-1 gemm backend=cpu a=f32[4,4]:4,1@0 b=f32[5,4]:4,1@0 "
                   "c=f32[4,4]:4,1@0 status=")
        text = self.succeed("replay-line", refused + "GemmShapeMismatch")
        self.assertIn("GemmShapeMismatch", text)
        result = self.run_girih("replay-line", refused + "Ok")
        self.assertEqual(result.returncode, INVALID)
        self.assertIn("line 1: ", result.stderr)
        tf32 = GEMM.replace("bf16", "f32").replace("@2", "@4") + " precision=tf32"
        self.assertEqual(self.run_girih("replay-line", tf32).returncode, UNSUPPORTED)

    def test_groups_get_equal_shares_of_the_rows(self):
        start = "girih-call-1 grouped_gemm backend=cpu threads=2 offsets=i32[4]:2@4 "
        for operands in ("a=bf16[50,20]:20,1@0 b=bf16[3,20,6]:120,1,20@0 c=f32[50,6]:6,1@0",
                         "a=f32[5,50]:50,1@0 b=f32[50,6]:6,1@0 c=f32[3,5,6]:30,6,1@0 beta=1"):
            line = self.succeed_json("replay-line", "--verify", start + operands)["lines"][0]
            self.assertEqual((line["op"], line["outcome"]), ("grouped_gemm", "verified"))
            run = self.run_girih("replay-line", start.replace("i32", "f32") + operands)
            self.assertEqual(run.returncode, INVALID)
            self.assertIn("i32", run.stderr)

    def test_routing_chooses_among_logits_and_goes_through_rows(self):
        lists = "chosen=i32[9,2]:2,1@0 {}weights=f32[9,2]:3,1@4 offsets=i32[6]:2@8 " \
                "rows=i32[9,2]:1,9@0 sources=i32[18]:1@4"
        for op, operands in (
                ("route", "logits=bf16[9,5]:5,1@2 " + lists.format("")),
                ("route", "logits=f32[9,5]:1,9@0 " + lists.format("") +
                 " kind=sigmoid_of_chosen scale=2.5"),
                ("permute", "x=f16[4,7]:7,1@0 sources=i32[11]:1@0 y=f16[11,7]:8,1@2"),
                ("unpermute", "x=bf16[11,7]:7,1@0 rows=i32[3,2]:2,1@0 y=f32[3,7]:7,1@0"),
                ("unpermute", "x=bf16[5,7]:7,1@0 rows=i32[3,4]:4,1@0 weights=f32[3,4]:4,1@0 "
                 "y=bf16[3,7]:1,3@0")):
            with self.subTest(operands):
                text = f"girih-call-1 {op} backend=cpu threads=2 {operands}"
                line = self.succeed_json("replay-line", "--verify", text)["lines"][0]
                self.assertEqual((line["op"], line["outcome"]), (op, "verified"))
                run = self.run_girih("replay-line", text.replace("i32[", "u8[", 1))
                self.assertEqual(run.returncode, INVALID)
                self.assertIn("RoutingTypeMismatch", run.stdout)

    def test_every_line_is_gone_through(self):
        large = FILL.replace("[4]", "[9999999999]")
        run = self.run_girih("replay-line", "--verify", FILL, FILL[:30], large, GEMM, "--json")
        self.assertEqual(run.returncode, INVALID)
        self.assertIn("line 2: call line", run.stderr)
        lines = json.loads(run.stdout)["lines"]
        self.assertEqual([line["outcome"] for line in lines],
                         ["verified", "not read", "not tried", "verified"])
        self.assertEqual([line["op"] for line in lines], ["fill", None, "fill", "gemm"])
        self.assertIn("allowed", lines[2]["message"])
        run = self.run_girih("replay-line", FILL[:30], GEMM)
        self.assertIn("not read", run.stdout)
        self.assertIn(" ok", run.stdout)

    def test_options_that_are_no_value_are_refused_again(self):
        for field in ("activation=#9", "path=#200", "precision=#3", "reproducibility=#2"):
            text = self.succeed("replay-line", f"{GEMM} {field} status=InvalidOption")
            self.assertIn("InvalidOption", text)
        self.refuse_line(INVALID, "activation", GEMM + " activation=#0")

    def test_an_oracle_of_hours_is_not_begun(self):
        long = ("girih-call-1 gemm backend=cpu a=f32[9000,9000]:9000,1@0 "
                "b=f32[9000,9000]:9000,1@0 c=f32[9000,9000]:9000,1@0")
        self.refuse_line(INVALID, "oracle", "--verify", long)

    def refuse_line(self, code, fragment, *arguments):
        """A single line that cannot be read or tried: the report has it, and the exit code."""
        run = self.run_girih("replay-line", *arguments)
        self.assertEqual(run.returncode, code, run.stderr)
        self.assertEqual(len(run.stderr.splitlines()), 1)
        self.assertIn(fragment, run.stderr)
        self.assertRegex(run.stdout, "not (read|tried)")

    def test_bad_lines(self):
        self.refuse(USAGE, "required", "replay-line")
        self.refuse(USAGE, "--file", "replay-line", FILL, "--file", "x")
        self.refuse(INVALID, "cannot be opened", "replay-line", "--file", "nowhere")
        self.refuse(INVALID, "no line", "replay-line", "--file", "-", input="")
        self.refuse_line(UNSUPPORTED, "version '2'", FILL.replace("-1", "-2"))
        self.refuse_line(INVALID, "twice", FILL + " value=2")
        self.refuse_line(INVALID, "3 bytes past", FILL.replace("@0", "@3"))
        self.refuse_line(INVALID, "2^63", FILL.replace("[4]", "[9223372036854775807]"))
        self.refuse_line(UNAVAILABLE, "allowed", FILL.replace("[4]", "[9999999999]"))
        self.refuse_line(UNAVAILABLE, "allowed", FILL.replace("[4]:1", "[2]:4611686018427387"))
        # Little memory, endless work.
        self.refuse_line(INVALID, "would take",
                         "girih-call-1 gemm backend=cpu a=f32[99,4611686018427]:0,0@0 "
                         "b=f32[4611686018427,99]:0,0@0 c=f32[99,99]:99,1@0")
        self.refuse_line(UNAVAILABLE, "metal", FILL.replace("cpu", "metal"))

    def test_documents_its_json(self):
        text = self.succeed("replay-line", "--help").partition("JSON:")[2]
        for field in self.succeed_json("replay-line", FILL)["lines"][0]:
            self.assertIn(field, text)


main()
