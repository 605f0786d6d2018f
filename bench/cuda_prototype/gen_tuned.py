"""Writes src/backends/cuda/kernels/gemm_tuned_h200.hpp from comparison files: gen_tuned.py AB.csv...

A row of a comparison is one shape with the plan that was fastest in an interleaved run; a row of a sweep (15 fields) is one
plan. The measure is time over cuBLASLt's first heuristic in the same run; a sweep wins only by more than 5 %, because the
least of many single timings is flattered.
"""
import csv
import sys

rows = {}
swept = {}
for name in sys.argv[1:]:
    for r in csv.reader(open(name)):
        if len(r) == 21 and r[2] == "bf16" and r[0] != "epi":
            key, ratio = (r[1],) + tuple(map(int, r[3:7])), float(r[7]) / float(r[8])
            if key not in rows or ratio < rows[key][0]:
                rows[key] = (ratio, [int(x) for x in r[12:20]])
        elif len(r) == 15:
            key, ratio = (r[0],) + tuple(map(int, r[1:5])), float(r[12]) / float(r[13])
            tile, transposed, cr, cc, splits, cluster = (int(x) for x in r[6:12])
            if key not in swept or ratio < swept[key][0]:
                swept[key] = (ratio, [tile, cr, cc, cluster, splits, 8, 0, transposed])
for key, (ratio, plan) in swept.items():
    if key not in rows or ratio < 0.95 * rows[key][0]:
        print(f"swept: {key} {ratio:.3f} instead of {rows[key][0] if key in rows else 0:.3f}", file=sys.stderr)
        rows[key] = (ratio, plan)
print('''#pragma once
// Plans that were measured fastest on an H200, by exact shape. Written by scripts/gen_tuned.py.

#include "gemm_select.hpp"

namespace girih::cuda {

struct TunedRow {
    GemmShape shape;
    GemmPlan plan;  // tile, cluster rows, columns, split, splits, {group, band columns}, transposed
};

// clang-format off
constexpr TunedRow kTunedH200[] = {''')
major = {"N": ("K", "MN"), "T": ("MN", "K")}
for (layout, m, n, k, b), (_, p) in sorted(rows.items()):
    a, bb = major[layout[0]][0], major[layout[1]][1]
    band = "true" if p[6] else "false"
    form = "true" if p[7] else "false"
    print(f"    {{{{{m}, {n}, {k}, {b}, Major::{a}, Major::{bb}}}, {{{p[0]}, {p[1]}, {p[2]}, {p[3]}, {p[4]}, {{{p[5]}, {band}}}, {form}}}}},")
print('''};
// clang-format on

// The tuned plan of this shape and layout, or null. Types do not matter to it; a general epilogue and f32 output do.
constexpr const GemmPlan* tuned_plan(const GemmShape& s) {
    if (!s.plain_epilogue || s.out == Element::F32) return nullptr;
    for (const TunedRow& row : kTunedH200) {
        const GemmShape& t = row.shape;
        if (t.m == s.m && t.n == s.n && t.k == s.k && t.batch == s.batch && t.a == s.a && t.b == s.b) return &row.plan;
    }
    return nullptr;
}

}  // namespace girih::cuda''')
