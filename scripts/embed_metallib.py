#!/usr/bin/env python3
"""Writes a metallib as C++: what `metal::embedded_metallib` returns.

Usage: scripts/embed_metallib.py CPP [METALLIB]     without METALLIB: no bytes
"""
import pathlib
import sys


def main():
    cpp, *metallib = sys.argv[1:]
    data = pathlib.Path(metallib[0]).read_bytes() if metallib else b""
    if metallib and not data:
        sys.exit(f"{metallib[0]} is empty")
    rows = [", ".join(str(byte) for byte in data[i:i + 24]) for i in range(0, len(data), 24)]
    body = ",\n  ".join(rows) or "0"
    pathlib.Path(cpp).write_text(
        '#include "backends/metal/pipelines.hpp"\n\n'
        "namespace girih::inline v0::metal {\nnamespace {\n\n"
        f"constexpr unsigned char kBytes[] = {{\n  {body}}};\n\n}}  // namespace\n\n"
        "std::span<const std::byte> embedded_metallib() noexcept {\n"
        f"  return std::as_bytes(std::span(kBytes)).first({len(data)});\n}}\n\n"
        "}  // namespace girih::inline v0::metal\n", encoding="utf-8")


main()
