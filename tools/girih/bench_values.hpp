#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <girih/dtype.hpp>

namespace girih::cli {

/// Elements uniform in [-1, 1), or all of int8: never zeros, which draw less power and so run
/// faster.
std::vector<std::byte> random_elements(std::int64_t count, DType dtype, std::mt19937_64& generator);
/// The position of the first NaN, or -1.
std::int64_t find_nan(const std::vector<std::byte>& bytes, DType dtype);

}  // namespace girih::cli
