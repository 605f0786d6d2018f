#!/usr/bin/env python3
"""Writes the README's tables of measurements from bench/results/*.json.

Usage: scripts/update_tables.py           rewrite README.md
       scripts/update_tables.py --check   fail if README.md is not what the results say
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN = "<!-- measured: begin -->"
END = "<!-- measured: end -->"


def table(path):
    """The markdown of one report."""
    report = json.loads(path.read_text(encoding="utf-8"))
    if report["schema"] != "girih-bench-gemm-1":
        sys.exit(f"{path}: schema {report['schema']} is not known")
    lines = [
        f"{report['device']}, {report['backend']}, {report['threads']} threads, "
        f"{report['dtype']} {report['layout']}, commit {report['commit']}, "
        f"{report['rounds']} interleaved rounds. Ratio: the peer's time over girih's, "
        "median and 95 % interval; above 1 girih is faster.",
        "",
        "| M x N x K | girih GFLOP/s | against | ratio | interval | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for shape in report["shapes"]:
        for peer in shape["peers"]:
            ratio = peer["ratio"]
            lines.append(
                f"| {shape['m']} x {shape['n']} x {shape['k']} | {shape['gflops']:.1f} "
                f"| {peer['name']} | {ratio['median']:.2f} "
                f"| {ratio['low']:.2f} .. {ratio['high']:.2f} | {peer['verdict']} |")
    means = ", ".join(f"{name} {mean:.2f}" for name, mean in report["geometric_mean_ratio"].items())
    lines += ["", f"Geometric mean: {means}. From `{path.relative_to(ROOT)}`."]
    return "\n".join(lines)


def main():
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        sys.exit("README.md has no place for measured tables")
    tables = [table(path) for path in sorted((ROOT / "bench" / "results").glob("*.json"))]
    body = "\n\n".join(tables) if tables else "Nothing measured yet."
    head, rest = text.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    wanted = f"{head}{BEGIN}\n{body}\n{END}{tail}"
    if sys.argv[1:] == ["--check"]:
        if wanted != text:
            sys.exit("README.md is not what bench/results says: run scripts/update_tables.py")
        print(f"README.md agrees with {len(tables)} reports")
    else:
        readme.write_text(wanted, encoding="utf-8")


main()
