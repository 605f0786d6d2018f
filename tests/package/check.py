#!/usr/bin/env python3
"""Builds and runs a user's project against girih.

Usage: check.py installed BUILD_DIR EXAMPLE   an installed copy, moved after installation
       check.py subdirectory SOURCE_DIR EXAMPLE
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def build_and_run(work, example, *options):
    consumer = pathlib.Path(__file__).parent / "consumer"
    if shutil.which("ccache"):
        options += ("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache",)
    run("cmake", "-G", "Ninja", "-S", consumer, "-B", work / "build", f"-DGIRIH_EXAMPLE={example}",
        *options)
    run("cmake", "--build", work / "build")
    print(run(work / "build" / "consumer"), end="")


def main():
    mode, folder, example = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        if mode == "installed":
            run("cmake", "--install", folder, "--prefix", work / "first")
            shutil.move(work / "first", work / "moved")
            build_and_run(work, example, f"-DCMAKE_PREFIX_PATH={work / 'moved'}")
        else:
            build_and_run(work, example, f"-DGIRIH_SOURCE={folder}")


main()
