#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <girih/status.hpp>

namespace girih::cli {

struct BenchShape {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batch = 1;
};

/// "8x16x24", and "8x16x24x2" for a batch of 2.
std::string to_string(const BenchShape& shape);
/// "square, tessl, ...": the named lists of shapes.
std::string ladder_names();
/// The shapes of a ladder. InvalidOption for a name that is none.
Result<std::vector<BenchShape>> ladder(std::string_view name);
/// "1024x1024x1024,128x128x64x32" as M, N, K and, if it is not 1, the batch.
Result<std::vector<BenchShape>> parse_shapes(std::string_view text);

}  // namespace girih::cli
