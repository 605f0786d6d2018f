#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <girih/status.hpp>

namespace girih::cli {

struct BenchShape {
  std::int64_t m = 0, n = 0, k = 0;
};

/// "square, tessl, ...": the named lists of shapes.
std::string ladder_names();
/// The shapes of a ladder. InvalidOption for a name that is none.
Result<std::vector<BenchShape>> ladder(std::string_view name);
/// "1024x1024x1024,8x4096x4096" as M, N, K.
Result<std::vector<BenchShape>> parse_shapes(std::string_view text);

}  // namespace girih::cli
