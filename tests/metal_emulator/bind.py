#!/usr/bin/env python3
"""Writes the C++ that compiles a flattened .metal file for the emulator and registers its kernels.

Usage: bind.py FLAT.metal LIBRARY OUTPUT.cpp

Buffer indices, built-ins and thread limits are read from the attributes in the source, so that they
are tested too. Kernels are functions marked [[kernel]]; templates among them are registered through
their GIRIH_INSTANTIATE("name", function<...>) lines.
"""
import pathlib
import re
import sys

KERNEL = re.compile(r"\[\[\s*kernel\b([^\]]*)\]\]\s*void\s+(\w+)\s*\(")
INSTANCE = re.compile(r'GIRIH_INSTANTIATE\(\s*"([^"]+)"\s*,\s*([^;]*)\)\s*;')
LIMIT = re.compile(r"max_total_threads_per_threadgroup\(([^)]*)\)")
BUILTIN = re.compile(r"(thread|threads|threadgroup|threadgroups|simdgroup|simdgroups)_\w+")


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def split(text):
    """Parts between commas that are in no bracket."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += c in "(<[{"
        depth -= c in ")>]}"
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [part for part in parts + [text[start:]] if part.strip()]


def parameters(text, start):
    """The text between the bracket before `start` and its partner."""
    depth, end = 1, start
    while depth > 0:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    return text[start:end - 1]


def binding(parameter, kernel):
    found = re.search(r"\[\[(.*?)\]\]", parameter, flags=re.S)
    if not found:
        sys.exit(f"{kernel}: no attribute on parameter '{parameter.strip()}'")
    attributes = [part.strip() for part in split(found.group(1))]
    place = re.fullmatch(r"(buffer|threadgroup)\((\d+)\)", attributes[0])
    if place and place.group(1) == "buffer":
        is_optional = any(a.startswith("function_constant") for a in attributes)
        return f"BufferParameter<{place.group(2)}, {str(is_optional).lower()}>"
    if place:
        return f"ThreadgroupParameter<{place.group(2)}>"
    if BUILTIN.fullmatch(attributes[0]):
        return attributes[0]
    sys.exit(f"{kernel}: attribute [[{attributes[0]}]] is not known")


def main():
    flat, library, output = sys.argv[1:]
    raw = pathlib.Path(flat).read_text(encoding="utf-8")
    text = without_comments(raw)
    kernels = {}
    for match in KERNEL.finditer(text):
        name = match.group(2)
        limit = LIMIT.search(match.group(1))
        kernels[name] = ([binding(p, name) for p in split(parameters(text, match.end()))],
                         limit.group(1) if limit else "1024",
                         re.search(r"template\s*<[^;{}]*>\s*$", text[:match.start()]) is not None)
    instances = [(m.group(1), " ".join(m.group(2).split())) for m in INSTANCE.finditer(text)]
    instances += [(name, name) for name, kernel in kernels.items() if not kernel[2]]
    if not instances:
        sys.exit(f"{flat}: no kernel")
    rows = []
    for host_name, function in instances:
        places, limit, _ = kernels[re.match(r"\w+", function).group(0)]
        bound = f"Bound<&{function}, {', '.join(places)}>"
        rows.append(f'    {{"{host_name}", &{bound}::call, {limit}, {bound}::kBindings, '
                    f"{bound}::kParameters}},")
    # A file of its own, so that the line table names the sources. `threadgroup` is an address space
    # elsewhere, and so an empty macro.
    source = pathlib.Path(output).with_suffix(".bound.metal")
    source.write_text(re.sub(r"\[\[threadgroup\(\d+\)\]\]", "", raw), encoding="utf-8")
    data = ", ".join(str(byte) for byte in raw.encode("utf-8") + b"\0")
    pathlib.Path(output).write_text(
        f'#define GIRIH_EMULATED_LIBRARY "{library}"\n'
        f'#include "{source.name}"\n'
        "namespace {\nusing namespace girih::emulator;\n"
        "const Kernel girih_kernels[] = {\n" + "\n".join(rows) + "\n};\n"
        f"const char girih_text[] = {{{data}}};\n"
        f'const Registration girih_library{{Library{{"{library}", girih_text, girih_kernels, '
        "sizeof(girih_kernels) / sizeof(Kernel)}};\n}\n", encoding="utf-8")


main()
