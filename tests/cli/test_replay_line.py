#!/usr/bin/env python3
"""girih replay-line, on lines that GIRIH_TRACE=line wrote. Usage: test_replay_line.py GIRIH"""
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
        for op in ("gemm", "copy", "cast", "fill"):
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

    def test_bad_lines(self):
        self.refuse(USAGE, "required", "replay-line")
        self.refuse(USAGE, "--file", "replay-line", FILL, "--file", "x")
        self.refuse(INVALID, "cannot be opened", "replay-line", "--file", "nowhere")
        self.refuse(INVALID, "no line", "replay-line", "--file", "-", input="")
        self.refuse(INVALID, "line 2: call line", "replay-line", FILL, FILL[:30])
        self.refuse(UNSUPPORTED, "version '2'", "replay-line", FILL.replace("-1", "-2"))
        self.refuse(INVALID, "twice", "replay-line", FILL + " value=2")
        self.refuse(INVALID, "3 bytes past", "replay-line", FILL.replace("@0", "@3"))
        self.refuse(INVALID, "2^63", "replay-line",
                    FILL.replace("[4]", "[9223372036854775807]"))
        self.refuse(UNAVAILABLE, "allowed", "replay-line", FILL.replace("[4]", "[9999999999]"))
        self.refuse(UNAVAILABLE, "allowed", "replay-line",
                    FILL.replace("[4]:1", "[2]:4611686018427387"))
        # Little memory, endless work.
        self.refuse(INVALID, "would take", "replay-line",
                    "girih-call-1 gemm backend=cpu a=f32[99,4611686018427]:0,0@0 "
                    "b=f32[4611686018427,99]:0,0@0 c=f32[99,99]:99,1@0")
        self.refuse(UNAVAILABLE, "metal", "replay-line", FILL.replace("cpu", "metal"))

    def test_documents_its_json(self):
        text = self.succeed("replay-line", "--help").partition("JSON:")[2]
        for field in self.succeed_json("replay-line", FILL)["lines"][0]:
            self.assertIn(field, text)


main()
