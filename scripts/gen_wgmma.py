#!/usr/bin/env python3
"""Prints src/backends/cuda/kernels/wgmma.cuh: one wrapper for each wgmma width that the rows of
kernels.inc use. Lay the result out with clang-format."""
WIDTHS = [16, 32, 64, 80, 96, 128, 160, 176, 192, 256]  # those of the tile table
HEAD = '''#pragma once
// d (64 x kCols, in registers) = A B + (accumulate ? d : 0) for one slice of 32 bytes of K, A and B by descriptor from
// shared memory: 16 of 16-bit operands, 32 of 8-bit ones, 8 of tf32. Sums are f32, of I8 s32. Only 16-bit operands may be
// transposed. Written by scripts/gen_wgmma.py: one specialisation a width, because the register list is part of the text.

#include <cstdint>

#include "plan/cuda_gemm_tile.hpp"

namespace girih::inline v0::cuda {

template <int kCols>
struct Wgmma;

// clang-format off
#define GIRIH_WGMMA_ASM(COLS, TYPES, REGS, A, B, P, REST, ...)                                               \\
    asm volatile("{\\n.reg .pred p;\\nsetp.ne.b32 p, " P ", 0;\\n"                                             \\
                 "wgmma.mma_async.sync.aligned.m64n" #COLS TYPES " {" REGS "}, " A ", " B                     \\
                 ", p" REST ";\\n}" : __VA_ARGS__                                                             \\
                 : "l"(a), "l"(b), "r"(accumulate), "n"(kTransA), "n"(kTransB))

#define GIRIH_WGMMA(COLS, REGS, A, B, P, TA, TB, LIST)                                                       \\
    template <> struct Wgmma<COLS> {                                                                         \\
        template <Element kType, int kTransA, int kTransB>                                                   \\
        static __device__ __forceinline__ void multiply(float (&d)[COLS / 2], std::uint64_t a,               \\
                                                        std::uint64_t b, int accumulate) {                   \\
            if constexpr (kType == Element::BF16) {                                                          \\
                GIRIH_WGMMA_ASM(COLS, "k16.f32.bf16.bf16", REGS, A, B, P, ", 1, 1, " TA ", " TB, LIST(GIRIH_F8)); \\
            } else if constexpr (kType == Element::F16) {                                                    \\
                GIRIH_WGMMA_ASM(COLS, "k16.f32.f16.f16", REGS, A, B, P, ", 1, 1, " TA ", " TB, LIST(GIRIH_F8)); \\
            } else if constexpr (kType == Element::F8E4M3) {                                                 \\
                GIRIH_WGMMA_ASM(COLS, "k32.f32.e4m3.e4m3", REGS, A, B, P, ", 1, 1", LIST(GIRIH_F8));         \\
            } else if constexpr (kType == Element::F8E5M2) {                                                 \\
                GIRIH_WGMMA_ASM(COLS, "k32.f32.e5m2.e5m2", REGS, A, B, P, ", 1, 1", LIST(GIRIH_F8));         \\
            } else {                                                                                         \\
                static_assert(kType == Element::TF32);                                                       \\
                GIRIH_WGMMA_ASM(COLS, "k8.f32.tf32.tf32", REGS, A, B, P, ", 1, 1", LIST(GIRIH_F8));          \\
            }                                                                                                \\
        }                                                                                                    \\
        template <Element kType, int kTransA, int kTransB>                                                   \\
        static __device__ __forceinline__ void multiply(std::int32_t (&d)[COLS / 2], std::uint64_t a,        \\
                                                        std::uint64_t b, int accumulate) {                   \\
            static_assert(kType == Element::I8);                                                             \\
            GIRIH_WGMMA_ASM(COLS, "k32.s32.s8.s8", REGS, A, B, P, "", LIST(GIRIH_S8));                       \\
        }                                                                                                    \\
    }
#define GIRIH_F4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define GIRIH_F8(i) GIRIH_F4(i), GIRIH_F4(i + 4)
#define GIRIH_S4(i) "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3])
#define GIRIH_S8(i) GIRIH_S4(i), GIRIH_S4(i + 4)
'''
TAIL = '''
#undef GIRIH_S8
#undef GIRIH_S4
#undef GIRIH_F8
#undef GIRIH_F4
#undef GIRIH_WGMMA
#undef GIRIH_WGMMA_ASM
// clang-format on

}  // namespace girih::inline v0::cuda
'''
out = [HEAD]
for n in WIDTHS:
    r = n // 2
    blocks = [f"D({i})" for i in range(0, r, 8)]
    out.append(f"#define GIRIH_LIST(D) " + ", ".join(blocks))
    out.append(f"GIRIH_WGMMA({n},")
    for i in range(0, r, 16):
        part = ", ".join(f"%{j}" for j in range(i, min(i + 16, r)))
        out.append(f'    "{part}' + ('"' if i + 16 >= r else ', "') + ("," if i + 16 >= r else ""))
    out.append("    " + ", ".join(f'"%{r + i}"' for i in range(5)) + ", GIRIH_LIST);")
    out.append("#undef GIRIH_LIST")
out.append(TAIL)
print("\n".join(out), end="")
