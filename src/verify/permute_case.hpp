#pragma once

#include <cstdint>
#include <string>

#include "verify/elementwise_case.hpp"

namespace girih::inline v0::verify {

/// One `permute` or `unpermute` to be verified: rows of x are named by indices, of which the case
/// draws others for each variant.
struct PermuteCase {
  std::uint64_t seed = 1;
  std::uint64_t index = 0;
  Op op = Op::Permute;
  std::int64_t x_rows = 1;  ///< that may be named
  std::int64_t y_rows = 1;  ///< permute: sources; unpermute: tokens
  std::int64_t k = 1;       ///< unpermute
  std::int64_t columns = 1;
  DType x_type = DType::F32, y_type = DType::F32;
  bool has_weights = true;  ///< unpermute
  bool is_special = false;  ///< NaN and infinities among the numbers
  StridedCase x{}, y{}, indices{};

  [[nodiscard]] std::string to_string() const;
};

/// Case `index` of a seed for one of the two.
PermuteCase make_permute_case(Op op, std::uint64_t seed, std::uint64_t index) noexcept;

}  // namespace girih::inline v0::verify
