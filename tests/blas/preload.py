"""Programs of Debian that take their BLAS from a preloaded library, reference BLAS behind it."""
import os
import pathlib
import subprocess
import sys

SKIPPED = 77


def skip(what):
    print(f"skipped: {what} is not here; scripts/install_packages.sh names the packages")
    sys.exit(SKIPPED)


class Preloaded:
    """`libraries` are preloaded in order; `folder` is where Debian has its reference BLAS."""

    def __init__(self, folder, libraries):
        self.folder = pathlib.Path(folder)
        if not (self.folder / "libblas.so.3").exists():
            skip("libblas3")
        lapack = self.folder.parent / "lapack"
        self.environment = dict(
            os.environ,
            LD_PRELOAD=":".join(libraries),
            LD_LIBRARY_PATH=f"{self.folder}:{lapack}",
            GIRIH_THREADS="3",
            ASAN_OPTIONS="detect_leaks=0",  # of programs that are not ours
        )

    def run(self, command, **options):
        """The finished program; its streams are text."""
        environment = dict(self.environment, **options.pop("environment", {}))
        return subprocess.run(command, env=environment, capture_output=True, text=True,
                              timeout=300, **options)
