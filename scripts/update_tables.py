#!/usr/bin/env python3
"""Writes the tables of measurements from bench/results/*.json: the README's part, which has a line for
each report and peer, and docs/results.md, which has every product.

Usage: scripts/update_tables.py           rewrite both
       scripts/update_tables.py --check   fail if either is not what the results say
"""
import json
import math
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN = "<!-- measured: begin -->"
END = "<!-- measured: end -->"


def row(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def table(titles, rows):
    return [row(titles), "|---" * len(titles) + "|"] + [row(cells) for cells in rows]


def time(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            break
    return f"{seconds * scale:.3g} {unit}"


def rate(gflops):
    return f"{gflops / 1e3:.0f} TFLOP/s" if gflops >= 1e4 else f"{gflops:.1f} GFLOP/s"


def product(shape):
    extents = [shape["m"], shape["n"], shape["k"]]
    return " x ".join(map(str, extents)) + (f", {shape['batch']} times" if shape["batch"] > 1 else "")


def modes_of(report):
    epilogue = report["epilogue"]
    ends = [name for name, there in (("scales", epilogue.get("scales", False)), ("bias", epilogue["bias"]),
                                     (epilogue["activation"], epilogue["activation"] != "none"))
            if there]
    precision = report["precision"]
    return [text for text in (f"precision {precision}" if precision != "exact" else "",
                              report["reproducibility"] if report["reproducibility"] != "per-shape"
                              else "", "with " + " and ".join(ends) if ends else "",
                              "replayed" if report["submission"] == "replay" else "") if text]


def heading(report):
    host = f"{report['threads']} threads, " if report["backend"] == "cpu" else ""
    modes = modes_of(report)
    return (f"{report['device']}, {report['backend']}, {host}{''.join(m + ', ' for m in modes)}"
            f"commit {report['commit']}, {report['rounds']} interleaved rounds. Ratio: the peer's "
            "time over girih's, median and 95 % interval; above 1 girih is faster.")


def itself(shape):
    """What a product without peers is held against: its own control."""
    return {"name": "itself", "ratio": shape["control"], "verdict": "", "max_error": shape["max_error"]}


def every_product(report):
    """A row for each product and peer."""
    costs = any("epilogue_cost" in shape for shape in report["shapes"])
    errors = report["precision"] == "fast"
    rows = []
    for shape in report["shapes"]:
        for peer in shape["peers"] or [itself(shape)]:
            ratio = peer["ratio"]
            cells = [product(shape), f"{shape['dtype']} {shape['layout']}",
                     time(shape["seconds"]["median"]), rate(shape["gflops"]), peer["name"],
                     f"{ratio['median']:.2f}", f"{ratio['low']:.2f} .. {ratio['high']:.2f}",
                     peer["verdict"]]
            if costs:
                cells += [f"{entry['epilogue_cost']['median'] * 1e6:.2f} us"
                          if "epilogue_cost" in entry else "" for entry in (shape, peer)]
            if errors:
                cells += [f"{entry['max_error']:.2g}" for entry in (shape, peer)]
            rows.append(cells)
    titles = ["M x N x K", "type", "girih", "rate", "against", "ratio", "interval", "verdict"]
    return table(titles + (["epilogue adds", "its adds"] if costs else [])
                 + (["largest error", "its"] if errors else []), rows)


def cost_ratios(report):
    """What the epilogue costs over what it costs the peer: the geometric mean over the shapes whose
    costs are above 0 in both intervals."""
    logs = {}
    for shape in report["shapes"]:
        for peer in shape["peers"]:
            costs = [entry.get("epilogue_cost") for entry in (shape, peer)]
            if all(cost and cost["low"] > 0 for cost in costs):
                logs.setdefault(peer["name"], []).append(
                    math.log(costs[0]["median"] / costs[1]["median"]))
    return {name: math.exp(statistics.mean(each)) for name, each in logs.items()}


def gemm(path, report):
    means = ", ".join(f"{name} {mean:.2f} (least {report['least_ratio'][name]:.2f})"
                      for name, mean in report["geometric_mean_ratio"].items())
    costs = ", ".join(f"{name} {ratio:.2f}" for name, ratio in cost_ratios(report).items())
    costs = f"Cost of the epilogue over the peer's, where it can be told from 0: {costs}. " if costs else ""
    missing = (f"{len(report['failures'])} products could not be timed. "
               if report["failures"] else "")
    return "\n".join([heading(report), "", *every_product(report), "",
                      f"{f'Geometric mean: {means}. ' if means else ''}{costs}{missing}From `{path.relative_to(ROOT)}`."])


def cold(path, report):
    def text(interval):
        return (f"{interval['median'] * 1e3:.1f} ms ({interval['low'] * 1e3:.1f} .. "
                f"{interval['high'] * 1e3:.1f})")
    parts = [f"{report['device']}, commit {report['commit']}: from process start to the first right "
             f"product {text(report['seconds']['product'])}, {report['runs']} runs"]
    if "over_bare_seconds" in report:
        parts.append(f"; over a bare program of its kind {text(report['over_bare_seconds'])}")
    return "".join(parts) + f". From `{path.relative_to(ROOT)}`."


def grouped(path, report):
    rows = []
    for shape in report["shapes"]:
        for peer in shape["peers"]:
            ratio = peer["ratio"]
            rows.append([f"{shape['groups']} of {shape['rows']}", f"{shape['n']} x {shape['k']}",
                         shape["dtype"], time(shape["seconds"]["median"]), rate(shape["gflops"]),
                         peer["name"], f"{ratio['median']:.2f}",
                         f"{ratio['low']:.2f} .. {ratio['high']:.2f}", peer["verdict"]])
    titles = ["groups of rows", "N x K", "type", "girih", "rate", "against", "ratio", "interval",
              "verdict"]
    means = ", ".join(f"{name} {mean:.2f} (least {report['least_ratio'][name]:.2f})"
                      for name, mean in report["geometric_mean_ratio"].items())
    return "\n".join([f"Grouped products, {report['device']}, {report['backend']}, "
                      f"{report['threads']} threads, commit {report['commit']}, {report['rounds']} "
                      "interleaved rounds. Ratio: the time of a loop of single products over that of "
                      "one call, median and 95 % interval.", "", *table(titles, rows), "",
                      f"Geometric mean: {means}. From `{path.relative_to(ROOT)}`."])


def elementwise(path, report):
    rows = []
    for shape in report["shapes"]:
        types = " to ".join(dict.fromkeys((shape["dtype"], shape["out_dtype"])))
        for peer in shape["peers"]:
            ratio = peer["ratio"]
            rows.append([shape["op"], types, f"{shape['rows']} x {shape['columns']}",
                         time(shape["seconds"]["median"]), f"{shape['gb_per_s']:.0f} GB/s",
                         f"{peer['gb_per_s']:.0f} GB/s", f"{ratio['median']:.2f}",
                         f"{ratio['low']:.2f} .. {ratio['high']:.2f}", peer["verdict"]])
    titles = ["operation", "type", "extents", "girih", "rate", "memcpy", "ratio", "interval", "verdict"]
    return "\n".join([f"Elementwise operations, {report['device']}, {report['backend']}, commit "
                      f"{report['commit']}, {report['rounds']} interleaved rounds. Rates count bytes read "
                      "and written; ratio: the time of the system's own copy that moves as many bytes "
                      "over girih's, median and 95 % interval.", "", *table(titles, rows), "",
                      f"From `{path.relative_to(ROOT)}`."])


KINDS = {"girih-bench-gemm-2": gemm, "girih-bench-grouped-1": grouped, "girih-bench-cold-1": cold,
         "girih-bench-elementwise-1": elementwise}


def reports():
    for path in sorted((ROOT / "bench" / "results").glob("*.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        if report["schema"] not in KINDS:
            sys.exit(f"{path}: schema {report['schema']} is not known")
        yield path, report


def named(values):
    return ", ".join(dict.fromkeys(values))


def what(report):
    """What a report is about, in a few words."""
    types = named(shape["dtype"] for shape in report["shapes"])
    if report["schema"] == "girih-bench-elementwise-1":
        return f"{named(shape['op'] for shape in report['shapes'])} of {types}"
    if report["schema"] == "girih-bench-grouped-1":
        return f"grouped products, {types}"
    words = [types + " " + named(shape["layout"] for shape in report["shapes"]), *modes_of(report)]
    ladders = [group["ladder"] for group in report["groups"] if group["ladder"]]
    return ", ".join(word for word in words if word != "replayed") + (
        f": {named(ladders)}" if ladders else "")


def summary_rows(path, report):
    """A row for each peer: the geometric mean of its ratios and the least."""
    ratios = {}
    for shape in report["shapes"]:
        for peer in shape["peers"]:
            ratios.setdefault(peer["name"], []).append(peer["ratio"]["median"])
    device = f"{report['device']}, {report['backend']}"
    for peer, each in ratios.items():
        mean = math.exp(statistics.mean(map(math.log, each)))
        yield [what(report), device, len(each), peer, f"{mean:.2f}", f"{min(each):.2f}",
               f"`{path.name}`"]


def summary():
    rows, lines = [], []
    for path, report in reports():
        if report["schema"] == "girih-bench-cold-1":
            lines.append(cold(path, report))
        else:
            rows += summary_rows(path, report)
    titles = ["timed", "on", "cases", "against", "mean ratio", "least", "`bench/results/`"]
    return "\n\n".join(["Ratio: the peer's time over girih's in the same interleaved rounds; above 1 girih "
                        "is faster. Geometric means of medians. Every case, with its interval: "
                        "[results](docs/results.md).", "\n".join(table(titles, rows)), *lines])


def wanted_readme(text):
    if BEGIN not in text or END not in text:
        sys.exit("README.md has no place for measured tables")
    head, rest = text.split(BEGIN, 1)
    return f"{head}{BEGIN}\n{summary()}\n{END}{rest.split(END, 1)[1]}"


def wanted_results():
    return "\n\n".join(["# Results", "Written by `scripts/update_tables.py` from `bench/results`; "
                        "[measuring](measuring.md) has the method.",
                        *(KINDS[report["schema"]](path, report) for path, report in reports())]) + "\n"


def main():
    readme, results = ROOT / "README.md", ROOT / "docs" / "results.md"
    pages = {readme: wanted_readme(readme.read_text(encoding="utf-8")), results: wanted_results()}
    for path, wanted in pages.items():
        if sys.argv[1:] != ["--check"]:
            path.write_text(wanted, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != wanted:
            sys.exit(f"{path.relative_to(ROOT)} is not what bench/results says: run "
                     "scripts/update_tables.py")
    print("README.md and docs/results.md agree with bench/results")


main()
