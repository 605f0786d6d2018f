#!/usr/bin/env python3
"""Runs every `girih` command that the documents show. Usage: test_documented.py GIRIH

Long runs are cut: --cases to 20, a ladder to one small shape. Peers are left out: they are optional.
"""
import pathlib
import re
import shlex
import shutil

import arrays
from command import CommandTest, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)


def documented_commands():
    """(file, command line) of each line that begins with `girih`, continuations joined."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for block in BLOCK.findall(path.read_text(encoding="utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                if line.strip().startswith("girih "):
                    yield path.relative_to(ROOT), line.strip()


def cut(line):
    line = re.sub(r"--cases \d+", "--cases 20", line)
    line = re.sub(r"--against \S+", "", line)
    return re.sub(r"--ladder \S+", "--shapes 16x16x16 --rounds 1", line)


class Documented(CommandTest):
    def test_every_command_runs(self):
        # x is [5, 64]: the slice keeps 64 of the layer's hidden units.
        shutil.copy(ROOT / "examples" / "data" / "minilm_slice.safetensors",
                    self.path("w.safetensors"))
        arrays.write_npy(self.path("x.npy"), [0.5] * (5 * 64), [5, 64])
        commands = list(documented_commands())
        self.assertGreater(len(commands), 3)
        for path, line in commands:
            with self.subTest(f"{path}: {line}"):
                self.succeed(*shlex.split(cut(line), comments=True)[1:])


main()
