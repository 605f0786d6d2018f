#!/usr/bin/env python3
"""Fails if a source file includes what its layer may not see.

Usage: scripts/check_layers.py [ROOT]      check the tree (default: the repository)
       scripts/check_layers.py --self-test  show that a wrong edge is caught
"""
import pathlib
import re
import sys
import tempfile

# Each layer and what it may include besides itself and the public headers, bottom up.
LAYERS = {
    "core": [],
    "ops": ["core"],
    "reference": ["core", "ops"],
    "plan": ["core", "ops"],
    "backends": ["core", "ops", "plan"],
    "io": ["core"],
    "accel": ["core", "plan"],
    "runtime": ["core", "ops", "plan", "backends"],
    "capi": ["core", "ops", "runtime", "reference"],
    "blas": ["core", "ops", "plan", "backends", "runtime"],
    "measure": ["core", "runtime"],
    "verify": ["core", "ops", "plan", "backends", "reference", "runtime"],
}
# Folders of programs written as a user would write them.
PUBLIC_ONLY = ["examples", "python", "bench"]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
SUFFIXES = {".hpp", ".cpp", ".inc", ".cu", ".cuh", ".h"}


def files(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in SUFFIXES) if folder.is_dir() else []


def includes(path):
    return INCLUDE.findall(path.read_text(encoding="utf-8"))


def backend_of(parts):
    """The backend's name in a path like backends/cpu/x.hpp, or None."""
    return parts[1] if len(parts) > 2 and parts[0] == "backends" else None


def check_source(root, path):
    """Messages for every include of `path`, a file under src/, that goes the wrong way."""
    here = path.relative_to(root / "src").parts
    layer = here[0]
    if layer not in LAYERS:
        yield f"{path.relative_to(root)}: folder src/{layer} is no layer; add it to the table"
        return
    for style, name in includes(path):
        if style == "<":
            continue
        there = pathlib.PurePosixPath(name).parts
        where = f"{path.relative_to(root)}: includes {name}"
        if there[0] not in LAYERS:
            yield f"{where}: quoted includes name a layer from src/"
        elif there[0] != layer and there[0] not in LAYERS[layer]:
            yield f"{where}: {layer} may not see {there[0]}"
        elif layer == "backends" and backend_of(here) and backend_of(there) not in (
                None, backend_of(here)):
            yield f"{where}: a backend may not see its sibling"
        elif layer == "backends" and not backend_of(here) and backend_of(there):
            yield f"{where}: the shared interface may not see a backend"


def check_public(root, path):
    """Public headers and programs for users see the standard library, tl::expected and girih/."""
    for style, name in includes(path):
        if style == '"' or (root / "src" / name).exists():
            yield f"{path.relative_to(root)}: includes {name}: only public headers may be seen here"


def check(root):
    messages = []
    for path in files(root / "src"):
        messages += check_source(root, path)
    for folder in ["include", *PUBLIC_ONLY]:
        for path in files(root / folder):
            messages += check_public(root, path)
    return messages


def self_test():
    """Seeds one fault a rule and expects one message each."""
    faults = {
        "src/core/a.cpp": '#include "ops/op.hpp"\n',
        "src/plan/a.cpp": '#include "backends/device.hpp"\n',
        "src/backends/cpu/a.cpp": '#include "backends/cuda/device.hpp"\n',
        "src/backends/a.cpp": '#include "backends/cpu/device.hpp"\n',
        "src/utils/a.cpp": "\n",
        "src/io/a.cpp": '#include "local.hpp"\n',
        "include/girih/a.hpp": '#include "core/error.hpp"\n',
        "examples/a.cpp": '#include "core/error.hpp"\n',
    }
    for name, text in faults.items():
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
            if len(check(pathlib.Path(folder))) != 1:
                sys.exit(f"self-test: the fault in {name} was not caught once")
    print(f"self-test: {len(faults)} seeded faults caught")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    root = root.resolve()
    if not files(root / "src"):
        sys.exit(f"no sources under {root / 'src'}")
    messages = check(root)
    for message in messages:
        print(message, file=sys.stderr)
    if messages:
        sys.exit(1)
    print(f"layers: {len(files(root / 'src'))} files, every include goes down")


main()
