#!/usr/bin/env python3
"""Prints src/backends/cuda/kernels/wgmma.cuh: one wrapper for each wgmma width that the rows of
kernels.inc use. Lay the result out with clang-format."""
WIDTHS = [16, 32, 64, 80, 96, 128, 160, 176, 192, 256]  # those of the tile table
HEAD = '''#pragma once
// d (64 x kCols, f32, in registers) = A B + (accumulate ? d : 0) for one 16-deep slice, A and B by descriptor from shared
// memory. Written by scripts/gen_wgmma.py: one specialisation a width, because the register list is part of the text.

#include <cstdint>

#include "plan/cuda_gemm_tile.hpp"

namespace girih::inline v0::cuda {

template <int kCols>
struct Wgmma;

// clang-format off
#define GIRIH_WGMMA_ASM(TYPE, COLS, REGS, A, B, P, TA, TB, ...)                                              \\
    asm volatile("{\\n.reg .pred p;\\nsetp.ne.b32 p, " P ", 0;\\n"                                             \\
                 "wgmma.mma_async.sync.aligned.m64n" #COLS "k16.f32." TYPE "." TYPE " {" REGS "}, " A ", " B   \\
                 ", p, 1, 1, " TA ", " TB ";\\n}" : __VA_ARGS__                                               \\
                 : "l"(a), "l"(b), "r"(accumulate), "n"(kTransA), "n"(kTransB))

#define GIRIH_WGMMA(COLS, REGS, A, B, P, TA, TB, ...)                                                        \\
    template <> struct Wgmma<COLS> {                                                                         \\
        template <Element kType, int kTransA, int kTransB>                                                   \\
        static __device__ __forceinline__ void multiply(float (&d)[COLS / 2], std::uint64_t a,               \\
                                                        std::uint64_t b, int accumulate) {                   \\
            if constexpr (kType == Element::BF16) {                                                          \\
                GIRIH_WGMMA_ASM("bf16", COLS, REGS, A, B, P, TA, TB, __VA_ARGS__);                            \\
            } else {                                                                                         \\
                GIRIH_WGMMA_ASM("f16", COLS, REGS, A, B, P, TA, TB, __VA_ARGS__);                             \\
            }                                                                                                \\
        }                                                                                                    \\
    }
#define GIRIH_D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define GIRIH_D8(i) GIRIH_D4(i), GIRIH_D4(i + 4)
'''
TAIL = '''
#undef GIRIH_D8
#undef GIRIH_D4
#undef GIRIH_WGMMA
#undef GIRIH_WGMMA_ASM
// clang-format on

}  // namespace girih::inline v0::cuda
'''
out = [HEAD]
for n in WIDTHS:
    r = n // 2
    out.append(f"GIRIH_WGMMA({n},")
    for i in range(0, r, 16):
        part = ", ".join(f"%{j}" for j in range(i, min(i + 16, r)))
        out.append(f'    "{part}' + ('"' if i + 16 >= r else ', "') + ("," if i + 16 >= r else ""))
    out.append("    " + ", ".join(f'"%{r + i}"' for i in range(5)) + ",")
    blocks = [f"GIRIH_D8({i})" for i in range(0, r, 8)]
    for i in range(0, len(blocks), 8):
        last = i + 8 >= len(blocks)
        out.append("    " + ", ".join(blocks[i:i + 8]) + (");" if last else ","))
out.append(TAIL)
print("\n".join(out), end="")
