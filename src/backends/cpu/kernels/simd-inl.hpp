// No include guard: included once by each kernels/targets/*.cpp, inside its instruction set.
//
// The lane-count-generic part of every kernel: vectors of f32, their bit patterns, and the exact
// conversions of 16-bit floats. Only operations that give the same bits on every target are used:
// IEEE add, subtract, multiply, divide, explicit fused multiply-add, integers, selects.

#include <hwy/highway.h>

#include "backends/cpu/kernels/kernel.hpp"

#if defined(__clang__)
#define GIRIH_UNROLL _Pragma("clang loop unroll(full)")
#else
#define GIRIH_UNROLL _Pragma("GCC unroll 64")
#endif

namespace girih::inline v0::cpu::GIRIH_CPU_TARGET {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using I32 = hn::RebindToSigned<F32>;
using U32 = hn::RebindToUnsigned<F32>;
using U16 = hn::Rebind<std::uint16_t, F32>;
using Floats = hn::Vec<F32>;
using Words = hn::Vec<U32>;
inline constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(F32()));

/// a * b + c, rounded once. Highway's scalar target would round twice.
HWY_INLINE Floats fma(Floats a, Floats b, Floats c) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(F32(), __builtin_fmaf(hn::GetLane(a), hn::GetLane(b), hn::GetLane(c)));
#else
  return hn::MulAdd(a, b, c);
#endif
}
HWY_INLINE Floats set(float value) {
  return hn::Set(F32(), value);
}
HWY_INLINE Words bits(Floats value) {
  return hn::BitCast(U32(), value);
}
HWY_INLINE Words word(std::uint32_t value) {
  return hn::Set(U32(), value);
}
HWY_INLINE Floats from_bits(Words value) {
  return hn::BitCast(F32(), value);
}
/// condition ? yes : no, for the result of a comparison of words.
template <class Mask>
HWY_INLINE Words select(Mask condition, Words yes, Words no) {
  return hn::IfThenElse(condition, yes, no);
}
/// a > b as signed integers: for magnitudes, whose sign bit is clear.
HWY_INLINE hn::Mask<U32> greater(Words a, Words b) {
  return hn::RebindMask(U32(), hn::BitCast(I32(), a) > hn::BitCast(I32(), b));
}

HWY_INLINE Floats widen_bf16(Words half) {
  return from_bits(hn::ShiftLeft<16>(half));
}

/// binary16 to f32. A subnormal is the difference of two normal numbers, which is exact.
HWY_INLINE Floats widen_f16(Words half) {
  const Words sign = hn::ShiftLeft<16>(hn::And(half, word(0x8000)));
  const Words magnitude = hn::ShiftLeft<13>(hn::And(half, word(0x7FFF)));
  const Words rebias = word(112U << 23);
  const Words normal = hn::Add(magnitude, rebias);
  const Words infinite_or_nan = hn::Add(normal, rebias);
  const Words smallest = word(113U << 23);
  const Words subnormal =
      bits(hn::Sub(from_bits(hn::Add(magnitude, smallest)), from_bits(smallest)));
  Words result = select(greater(magnitude, word((0x7C00U << 13) - 1)), infinite_or_nan, normal);
  result = select(greater(word(0x0400U << 13), magnitude), subnormal, result);
  return from_bits(hn::Or(result, sign));
}

/// f32 to bfloat16, to nearest even; NaN keeps its sign and high bits and is made quiet.
HWY_INLINE Words narrow_bf16(Floats value) {
  const Words x = bits(value);
  const Words magnitude = hn::And(x, word(0x7FFFFFFF));
  const Words odd = hn::And(hn::ShiftRight<16>(x), word(1));
  const Words rounded = hn::ShiftRight<16>(hn::Add(hn::Add(x, word(0x7FFF)), odd));
  const Words nan = hn::Or(hn::ShiftRight<16>(x), word(0x40));
  return select(greater(magnitude, word(0x7F800000)), nan, rounded);
}

/// f32 to binary16, to nearest even; NaN as in `narrow_bf16`. Subnormal results are rounded by
/// adding 0.5, whose last place is 2^-24, their unit.
HWY_INLINE Words narrow_f16(Floats value) {
  const Words x = bits(value);
  const Words sign = hn::And(hn::ShiftRight<16>(x), word(0x8000));
  const Words magnitude = hn::And(x, word(0x7FFFFFFF));
  const Words odd = hn::And(hn::ShiftRight<13>(magnitude), word(1));
  const Words normal = hn::ShiftRight<13>(hn::Add(hn::Add(magnitude, word(0xC8000FFFU)), odd));
  const Words is_small = hn::VecFromMask(U32(), greater(word(0x38800000), magnitude));
  // Only small magnitudes are added, so that the rest cannot raise a floating-point flag.
  const Words half = word(0x3F000000);
  const Words subnormal =
      hn::Sub(bits(hn::Add(from_bits(hn::And(magnitude, is_small)), from_bits(half))), half);
  Words result = hn::Or(hn::And(is_small, subnormal), hn::AndNot(is_small, normal));
  result = select(greater(magnitude, word(0x477FEFFF)), word(0x7C00), result);
  const Words payload = hn::And(hn::ShiftRight<13>(magnitude), word(0x3FF));
  result = select(greater(magnitude, word(0x7F800000)), hn::Or(word(0x7E00), payload), result);
  return hn::Or(result, sign);
}

HWY_INLINE Words load_halves(const std::uint16_t* source) {
  return hn::PromoteTo(U32(), hn::LoadU(U16(), source));
}
HWY_INLINE void store_halves(Words value, std::uint16_t* destination) {
#if HWY_TARGET == HWY_SCALAR
  *destination = static_cast<std::uint16_t>(hn::GetLane(value));
#else
  // Values fit 15 or 16 bits: sign-extended first, so that the saturating narrowing keeps them.
  const auto extended = hn::ShiftRight<16>(hn::BitCast(I32(), hn::ShiftLeft<16>(value)));
  hn::StoreU(hn::BitCast(U16(), hn::DemoteTo(hn::RebindToSigned<U16>(), extended)), U16(),
             destination);
#endif
}

}  // namespace
}  // namespace girih::inline v0::cpu::GIRIH_CPU_TARGET
