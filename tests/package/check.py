#!/usr/bin/env python3
"""Builds and runs a user's project against girih.

Usage: check.py installed BUILD_DIR EXAMPLE      an installed copy, moved after installation, found
                                                 by find_package (twice) and by pkg-config
       check.py shared SOURCE_DIR EXAMPLE        the same of a shared build, made for this
       check.py subdirectory SOURCE_DIR EXAMPLE  by add_subdirectory, static and shared
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CONSUMER = pathlib.Path(__file__).parent / "consumer"


def run(*command, env=None):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                            env=os.environ | (env or {}))
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def configure(source, build, *options):
    # The flags of the release preset, so that one compilation, cached, serves several builds.
    # Device code takes minutes; `installed` has it where the build under test does.
    options += ("-DCMAKE_BUILD_TYPE=Release", "-DGIRIH_WERROR=ON", "-DGIRIH_CUDA=OFF")
    if shutil.which("ccache"):
        options += ("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache",)
    run("cmake", "-G", "Ninja", "-S", source, "-B", build, *options)


def expect_library(program, shared):
    """The program must need libgirih.so exactly if it is shared."""
    needed = "libgirih.so" in run("readelf", "-d", program)
    if needed != shared:
        sys.exit(f"{program}: {'needs' if needed else 'does not need'} libgirih.so")


def check_cmake(build, example, shared, *options):
    configure(CONSUMER, build, f"-DGIRIH_EXAMPLE={example}", *options)
    run("cmake", "--build", build)
    expect_library(build / "consumer", shared)
    print(run(build / "consumer"), end="")


def check_pkg_config(work, prefix, example, shared):
    folder = next(prefix.rglob("girih.pc")).parent
    env = {"PKG_CONFIG_PATH": str(folder)}
    program = work / "by_pkg_config"
    for options in ([], ["--static"]):
        flags = run("pkg-config", *options, "--cflags", "--libs", "girih", env=env).split()
        run(os.environ.get("CXX", "c++"), "-std=c++20", example, "-o", program, *flags)
        expect_library(program, shared)
        libraries = {"LD_LIBRARY_PATH": str(folder.parent)}
        print(run(program, env=libraries), end="")
        run(os.environ.get("CC", "cc"), CONSUMER / "program.c", "-o", program, *flags)
        print(run(program, env=libraries), end="")


def check_installed(work, build, example, shared):
    run("cmake", "--install", build, "--prefix", work / "first")
    shutil.move(work / "first", work / "moved")
    check_cmake(work / "consumer", example, shared, f"-DCMAKE_PREFIX_PATH={work / 'moved'}")
    check_pkg_config(work, work / "moved", example, shared)


def main():
    mode, folder, example = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        if mode == "installed":
            check_installed(work, folder, example, shared=False)
        elif mode == "shared":
            configure(folder, work / "girih", "-DBUILD_SHARED_LIBS=ON", "-DGIRIH_BUILD_TESTS=OFF",
                      "-DGIRIH_BUILD_CLI=OFF", "-DGIRIH_BUILD_BLAS=OFF",
                      "-DGIRIH_BUILD_BENCHMARKS=OFF", "-DGIRIH_BUILD_EXAMPLES=OFF")
            run("cmake", "--build", work / "girih")
            check_installed(work, work / "girih", example, shared=True)
        else:
            for shared in (False, True):
                check_cmake(work / f"consumer_{shared}", example, shared,
                            f"-DGIRIH_SOURCE={folder}",
                            f"-DBUILD_SHARED_LIBS={'ON' if shared else 'OFF'}")


main()
