#!/usr/bin/env python3
"""Writes a .metal file with its quoted includes pasted in, as Metal compiles it at run time.

Usage: scripts/flatten_msl.py INPUT OUTPUT [--embed NAME CPP]

Each header is pasted once; #line keeps messages pointing at the sources. With --embed the same text
also goes to CPP as `const char NAME_source[]`.

A text of the backend's own ends with its mark: a kernel that writes one word, named after what stands
before it. A metallib that lacks it was made of another text. CPP has the name as NAME_mark.
"""
import hashlib
import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "src"
KERNELS = SOURCES / "backends" / "metal" / "kernels"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def flatten(path, seen):
    """Lines of `path` with every quoted include that is not in `seen` in place."""
    seen.add(path.resolve())
    lines = [f'#line 1 "{path.name}"']
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            lines.append("" if line.strip() == "#pragma once" else line)
            continue
        included = SOURCES / match.group(1)
        if not included.is_file():
            sys.exit(f"{path}:{number}: no file {match.group(1)} in src")
        if included.resolve() not in seen:
            lines += flatten(included, seen)
        lines.append(f'#line {number + 1} "{path.name}"')
    return lines


def mark_of(source, text):
    digest = hashlib.sha256(text.encode("utf-8")).hexdigest()
    return f"girih_{source.stem}_{digest[:16]}"


def as_cpp(name, text, mark):
    data = text.encode("utf-8") + b"\0"
    rows = [", ".join(str(byte) for byte in data[i:i + 24]) for i in range(0, len(data), 24)]
    body = ",\n  ".join(rows)
    return (f"namespace girih::inline v0::metal {{\n"
            f"extern const char {name}_source[], {name}_mark[];\n"
            f'const char {name}_mark[] = "{mark}";\n'
            f"const char {name}_source[] = {{\n  {body}}};\n}}\n")


def main():
    source, output, *rest = sys.argv[1:]
    source = pathlib.Path(source).resolve()
    text = "\n".join(flatten(source, set())) + "\n"
    mark = mark_of(source, text)
    if source.parent == KERNELS:
        text += f"[[kernel]] void {mark}(device uint* x [[buffer(0)]]) {{\n  x[0] = 0u;\n}}\n"
    pathlib.Path(output).write_text(text, encoding="utf-8")
    if rest:
        flag, name, cpp = rest
        if flag != "--embed":
            sys.exit(__doc__)
        pathlib.Path(cpp).write_text(as_cpp(name, text, mark), encoding="utf-8")


main()
