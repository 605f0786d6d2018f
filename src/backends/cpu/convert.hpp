#pragma once

#include <cstdint>

#include <girih/dtype.hpp>

namespace girih::inline v0::cpu {

/// Elements that casts convert at once. A fixed count lets compilers vectorise the loops.
inline constexpr std::int64_t kConvertBlock = 256;

/// The first `count` <= kConvertBlock floats of a strided run, as f32; entries beyond are 0.
void widen_block(const std::byte* source, DType type, std::int64_t stride, std::int64_t count,
                 float* destination) noexcept;
/// The inverse, rounding as `girih/dtype.hpp` says. `source` must have kConvertBlock entries.
void narrow_block(const float* source, std::int64_t count, DType type, std::int64_t stride,
                  std::byte* destination) noexcept;

}  // namespace girih::inline v0::cpu
