"""A test case that runs the command in a folder of its own."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

GIRIH = str(pathlib.Path(sys.argv.pop(1)).resolve()) if len(sys.argv) > 1 else "girih"
USAGE, INVALID, UNSUPPORTED, UNAVAILABLE, FAILED = 2, 3, 4, 5, 6


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def path(self, name):
        return self.folder / name

    def run_girih(self, *arguments, **options):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("GIRIH_")} | options.pop("env", {})
        return subprocess.run([GIRIH, *map(str, arguments)], capture_output=True, text=True,
                              cwd=self.folder, env=environment, timeout=300, **options)

    def succeed(self, *arguments, **options):
        """Standard output of a call that must succeed and complain of nothing."""
        result = self.run_girih(*arguments, **options)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stderr)
        return result.stdout

    def succeed_json(self, *arguments, **options):
        return json.loads(self.succeed(*arguments, "--json", **options))

    def refuse(self, code, fragment, *arguments, **options):
        """A call that must fail with this exit code and one line that holds `fragment`, and leave
        the folder as it was."""
        before = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        result = self.run_girih(*arguments, **options)
        lines = result.stderr.splitlines()
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertTrue(lines[0].startswith("girih: "), lines[0])
        self.assertIn(fragment, lines[0])
        self.assertEqual(result.stdout, "")
        after = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        self.assertEqual(before, after)


def main():
    unittest.main(module="__main__", verbosity=1)
