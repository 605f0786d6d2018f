#pragma once

#include <cstdint>

#include <girih/dtype.hpp>

namespace girih::inline v0 {

/// Bytes of one element holding `value`, rounded once; for integers, which must be exact.
std::uint64_t pattern_of(double value, DType type) noexcept;

}  // namespace girih::inline v0
