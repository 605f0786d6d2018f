#!/usr/bin/env python3
"""Fails if a kernel is compiled with another geometry than its row of kernels.inc says.

Usage: scripts/audit_geometry.py [ROOT]      audit the tree (default: the repository)
       scripts/audit_geometry.py --self-test show that one changed constant a backend is caught

Launch grids come from the rows. cuda's matrix tiles are the rows themselves, included by the kernels;
everything that names its numbers a second time is compared here.
"""
import pathlib
import re
import shutil
import sys
import tempfile

BACKENDS = pathlib.Path("src", "backends")
LANES = {"scalar": 1, "avx2": 8, "avx512": 16, "neon": 4}  # f32 in a vector


def text_of(root, *parts):
    return (root / BACKENDS / pathlib.Path(*parts)).read_text(encoding="utf-8")


def rows_of(text, macro):
    """Arguments of each row of a macro in kernels.inc."""
    return [[word.strip() for word in match.split(",")]
            for match in re.findall(rf"^{macro}\(([^)]*)\)", text, re.MULTILINE)]


def constant(text, name):
    match = re.search(rf"\b{name} = (\d+)", text)
    return int(match.group(1)) if match else None


def audit_cpu(root):
    inc = text_of(root, "cpu", "kernels.inc")
    for target, kind, m, n, *_ in rows_of(inc, "GIRIH_CPU_GEMM"):
        source = text_of(root, "cpu", "kernels", "targets", f"{target}.cpp")
        found = re.search(rf"gemm_{kind}_{m}x{n} = {kind}_kernel<(\d+), (\d+)>", source)
        geometry = (int(found.group(1)), int(found.group(2)) * LANES[target]) if found else None
        yield f"cpu {target} {kind}", (int(m), int(n)), geometry


def audit_cuda(root):
    inc = text_of(root, "cuda", "kernels.inc")
    params = text_of(root, "cuda", "kernels", "simt_params.hpp")
    tiles = text_of(root, "cuda", "kernels", "gemm_tiles.hpp")
    yield "cuda wgmma tiles", True, "backends/cuda/kernels.inc" in tiles
    f32 = (root / "src" / "plan" / "cuda_f32_tile.hpp").read_text(encoding="utf-8")
    tiles = re.findall(r"^    \{(\d+), (\d+), \d+, \d+, (\d+), \d+(?:, true)?\},$", f32, re.MULTILINE)
    rows = [row for row in rows_of(inc, "GIRIH_CUDA_SIMT_GEMM") if row[0] == "f32"]
    yield "cuda f32 tiles", [tuple(row[1:4]) for row in rows], tiles
    for types, m, n, *_ in rows_of(inc, "GIRIH_CUDA_SIMT_GEMM"):
        if types == "f32":
            continue
        tile = constant(params, "kSimtTile")
        yield f"cuda simt {types}", (int(m), int(n)), (tile, tile)
    geometry = text_of(root, "cuda", "kernels", "mma_geometry.hpp")
    extents = set(re.findall(r"\{(\d+), \d+, \d+\}", geometry))
    for types, m, n, *_ in rows_of(inc, "GIRIH_CUDA_MMA"):
        yield f"cuda mma {types}", (True, n), (m in extents, m)
    routing = text_of(root, "cuda", "kernels", "routing_params.hpp")
    segments = {"Route": 32,  # lanes of a warp, which takes a row
                "Permute": constant(routing, "kPermuteSegment"),
                "Unpermute": constant(routing, "kRowSegment")}
    for op, _, _, _, n, *_ in rows_of(inc, "GIRIH_CUDA_ELEMENTWISE"):
        yield f"cuda {op}", int(n), segments.get(op, constant(params, "kWalkSegment"))


def instances(root):
    """Template arguments, numbers alone, of each instance of a Metal kernel."""
    for path in sorted((root / BACKENDS / "metal" / "kernels").glob("*.metal")):
        for name, arguments in re.findall(r'GIRIH_INSTANTIATE\("([^"]+)",\s*\w+<([^;]*)>\)',
                                          path.read_text(encoding="utf-8")):
            yield name, [int(word) for word in re.findall(r"\b\d+\b", arguments)]


def thread_bounds(root, name):
    """What the kernels of a Metal source are bounded at."""
    text = text_of(root, "metal", "kernels", name)
    return {int(bound) for bound in re.findall(r"max_total_threads_per_threadgroup\((\d+)\)", text)}


def audit_metal(root):
    inc = text_of(root, "metal", "kernels.inc")
    compiled = list(instances(root))
    claimed = set()
    threads = constant(text_of(root, "metal", "gemm.cpp"), "kThreads")
    for types, m, n, k, simdgroups, target, *_ in rows_of(inc, "GIRIH_METAL_GEMM"):
        row = f"metal_gemm_{types}_{m}x{n}_{target}"
        own = [(name, numbers) for name, numbers in compiled if name.startswith(row + "_")]
        yield f"{row} has kernels", True, bool(own)
        depth = [] if target == "tensorops" else [int(k)]
        for name, numbers in own:
            claimed.add(name)
            yield name, [int(m), int(n), *depth, int(simdgroups)], numbers
        yield f"{row}: threads", int(simdgroups) * 32, threads
    for name, _ in compiled:
        if name.startswith("metal_gemm_"):
            yield f"{name} has a row", True, name in claimed
    for name in ("gemm_simdgroup.metal", "gemm_tensor.metal"):
        yield f"{name}: threads", {threads}, thread_bounds(root, name)
    walkers = constant(text_of(root, "metal", "elementwise.cpp"), "kSimdgroups")
    yield "elementwise.metal: threads", {walkers * 32}, thread_bounds(root, "elementwise.metal")
    params = text_of(root, "metal", "kernels", "params.h")
    for op, _, _, _, n, *_ in rows_of(inc, "GIRIH_METAL_ELEMENTWISE"):
        yield f"metal {op}", int(n), constant(params, "kWalkSegment")


def audit(root):
    """Messages, and how many pairs were compared."""
    messages, count = [], 0
    for backend in (audit_cpu, audit_cuda, audit_metal):
        pairs = list(backend(root))
        if not pairs:
            messages.append(f"{backend.__name__}: nothing to compare")
        count += len(pairs)
        messages += [f"{what}: the row says {row}, the kernel {kernel}"
                     for what, row, kernel in pairs if row != kernel]
    return messages, count


def self_test(root):
    faults = [("cpu/kernels/targets/avx2.cpp", "f32_kernel<6, 2>", "f32_kernel<6, 3>"),
              ("cpu/kernels.inc", "GIRIH_CPU_GEMM(neon, f32, 8,", "GIRIH_CPU_GEMM(neon, f32, 4,"),
              ("cuda/kernels/simt_params.hpp", "kSimtTile = 64", "kSimtTile = 32"),
              ("cuda/kernels/simt_params.hpp", "kWalkSegment = 512", "kWalkSegment = 256"),
              ("cuda/kernels/routing_params.hpp", "kPermuteSegment = 128", "kPermuteSegment = 64"),
              ("cuda/kernels/routing_params.hpp", "kRowSegment = 256", "kRowSegment = 128"),
              ("../plan/cuda_f32_tile.hpp", "{128, 64, 8, 8, 8, 3}", "{64, 128, 8, 8, 8, 3}"),
              ("cuda/kernels/mma_geometry.hpp", "{128, 2, 4}", "{96, 2, 4}"),
              ("metal/kernels/gemm_tensor.metal", "128, 64, 4, true, true", "64, 128, 4, true, true"),
              ("metal/kernels/gemm_simdgroup.metal", "float, 64, 64, 16, 4", "float, 64, 64, 32, 4"),
              ("metal/kernels.inc", "64, 64, 16, 4, simdgroup", "64, 64, 16, 8, simdgroup"),
              ("metal/kernels/params.h", "kWalkSegment = 512", "kWalkSegment = 128"),
              ("metal/gemm.cpp", "kThreads = 128", "kThreads = 256"),
              ("metal/elementwise.cpp", "kSimdgroups = 4", "kSimdgroups = 8"),
              ("metal/kernels/gemm_tensor.metal", "per_threadgroup(128)", "per_threadgroup(64)")]
    for name, before, after in faults:
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder)
            for part in (BACKENDS, pathlib.Path("src", "plan")):
                shutil.copytree(root / part, copy / part)
            path = copy / BACKENDS / name
            text = path.read_text(encoding="utf-8")
            if before not in text:
                sys.exit(f"self-test: {name} has no '{before}'")
            path.write_text(text.replace(before, after, 1), encoding="utf-8")
            if not audit(copy)[0]:
                sys.exit(f"self-test: '{after}' in {name} was not caught")
    print(f"self-test: {len(faults)} changed constants caught")


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    if sys.argv[1:] == ["--self-test"]:
        self_test(root)
        return
    messages, count = audit(pathlib.Path(sys.argv[1]).resolve() if sys.argv[1:] else root)
    if messages:
        sys.exit("\n".join(messages))
    print(f"geometry: {count} kernels agree with their rows")


main()
