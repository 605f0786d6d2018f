#pragma once
// d (64 x kCols, in registers) = A B + (accumulate ? d : 0) for one slice of 32 bytes of K, A and B
// by descriptor from shared memory: 16 of 16-bit operands, 32 of 8-bit ones, 8 of tf32. Sums are
// f32, of I8 s32. Only 16-bit operands may be transposed. Written by scripts/gen_wgmma.py: one
// specialisation a width, because the register list is part of the text.

#include <cstdint>

#include "plan/cuda_gemm_tile.hpp"

namespace girih::inline v0::cuda {

template <int kCols>
struct Wgmma;

// clang-format off
#define GIRIH_WGMMA_ASM(COLS, TYPES, REGS, A, B, P, REST, ...)                                               \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " P ", 0;\n"                                             \
                 "wgmma.mma_async.sync.aligned.m64n" #COLS TYPES " {" REGS "}, " A ", " B                     \
                 ", p" REST ";\n}" : __VA_ARGS__                                                             \
                 : "l"(a), "l"(b), "r"(accumulate), "n"(kTransA), "n"(kTransB))

#define GIRIH_WGMMA(COLS, REGS, A, B, P, TA, TB, LIST)                                                       \
    template <> struct Wgmma<COLS> {                                                                         \
        template <Element kType, int kTransA, int kTransB>                                                   \
        static __device__ __forceinline__ void multiply(float (&d)[COLS / 2], std::uint64_t a,               \
                                                        std::uint64_t b, int accumulate) {                   \
            if constexpr (kType == Element::BF16) {                                                          \
                GIRIH_WGMMA_ASM(COLS, "k16.f32.bf16.bf16", REGS, A, B, P, ", 1, 1, " TA ", " TB, LIST(GIRIH_F8)); \
            } else if constexpr (kType == Element::F16) {                                                    \
                GIRIH_WGMMA_ASM(COLS, "k16.f32.f16.f16", REGS, A, B, P, ", 1, 1, " TA ", " TB, LIST(GIRIH_F8)); \
            } else if constexpr (kType == Element::F8E4M3) {                                                 \
                GIRIH_WGMMA_ASM(COLS, "k32.f32.e4m3.e4m3", REGS, A, B, P, ", 1, 1", LIST(GIRIH_F8));         \
            } else if constexpr (kType == Element::F8E5M2) {                                                 \
                GIRIH_WGMMA_ASM(COLS, "k32.f32.e5m2.e5m2", REGS, A, B, P, ", 1, 1", LIST(GIRIH_F8));         \
            } else {                                                                                         \
                static_assert(kType == Element::TF32);                                                       \
                GIRIH_WGMMA_ASM(COLS, "k8.f32.tf32.tf32", REGS, A, B, P, ", 1, 1", LIST(GIRIH_F8));          \
            }                                                                                                \
        }                                                                                                    \
        template <Element kType, int kTransA, int kTransB>                                                   \
        static __device__ __forceinline__ void multiply(std::int32_t (&d)[COLS / 2], std::uint64_t a,        \
                                                        std::uint64_t b, int accumulate) {                   \
            static_assert(kType == Element::I8);                                                             \
            GIRIH_WGMMA_ASM(COLS, "k32.s32.s8.s8", REGS, A, B, P, "", LIST(GIRIH_S8));                       \
        }                                                                                                    \
    }
#define GIRIH_F4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define GIRIH_F8(i) GIRIH_F4(i), GIRIH_F4(i + 4)
#define GIRIH_S4(i) "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3])
#define GIRIH_S8(i) GIRIH_S4(i), GIRIH_S4(i + 4)

#define GIRIH_LIST(D) D(0)
GIRIH_WGMMA(16,
    "%0, %1, %2, %3, %4, %5, %6, %7",
    "%8", "%9", "%10", "%11", "%12", GIRIH_LIST);
#undef GIRIH_LIST
#define GIRIH_LIST(D) D(0), D(8)
GIRIH_WGMMA(32,
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15",
    "%16", "%17", "%18", "%19", "%20", GIRIH_LIST);
#undef GIRIH_LIST
#define GIRIH_LIST(D) D(0), D(8), D(16), D(24)
GIRIH_WGMMA(64,
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31",
    "%32", "%33", "%34", "%35", "%36", GIRIH_LIST);
#undef GIRIH_LIST
#define GIRIH_LIST(D) D(0), D(8), D(16), D(24), D(32), D(40)
GIRIH_WGMMA(96,
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47",
    "%48", "%49", "%50", "%51", "%52", GIRIH_LIST);
#undef GIRIH_LIST
#define GIRIH_LIST(D) D(0), D(8), D(16), D(24), D(32), D(40), D(48), D(56)
GIRIH_WGMMA(128,
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63",
    "%64", "%65", "%66", "%67", "%68", GIRIH_LIST);
#undef GIRIH_LIST
#define GIRIH_LIST(D) D(0), D(8), D(16), D(24), D(32), D(40), D(48), D(56), D(64), D(72)
GIRIH_WGMMA(160,
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79",
    "%80", "%81", "%82", "%83", "%84", GIRIH_LIST);
#undef GIRIH_LIST
#define GIRIH_LIST(D) D(0), D(8), D(16), D(24), D(32), D(40), D(48), D(56), D(64), D(72), D(80)
GIRIH_WGMMA(176,
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
    "%80, %81, %82, %83, %84, %85, %86, %87",
    "%88", "%89", "%90", "%91", "%92", GIRIH_LIST);
#undef GIRIH_LIST
#define GIRIH_LIST(D) D(0), D(8), D(16), D(24), D(32), D(40), D(48), D(56), D(64), D(72), D(80), D(88)
GIRIH_WGMMA(192,
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95",
    "%96", "%97", "%98", "%99", "%100", GIRIH_LIST);
#undef GIRIH_LIST
#define GIRIH_LIST(D) D(0), D(8), D(16), D(24), D(32), D(40), D(48), D(56), D(64), D(72), D(80), D(88), D(96), D(104), D(112), D(120)
GIRIH_WGMMA(256,
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127",
    "%128", "%129", "%130", "%131", "%132", GIRIH_LIST);
#undef GIRIH_LIST

#undef GIRIH_S8
#undef GIRIH_S4
#undef GIRIH_F8
#undef GIRIH_F4
#undef GIRIH_WGMMA
#undef GIRIH_WGMMA_ASM
// clang-format on

}  // namespace girih::inline v0::cuda
