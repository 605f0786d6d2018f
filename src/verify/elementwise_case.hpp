#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "ops/op.hpp"
#include "verify/case.hpp"

namespace girih::inline v0::verify {

/// How one operand of an element-wise case lies in memory.
struct StridedCase {
  std::array<int, kMaxRank> order{0, 1, 2, 3, 4, 5};  ///< dimensions, outermost in memory first
  std::int64_t step = 1;                              ///< distance along the innermost one
  std::int64_t pad = 0;                               ///< elements between rows
  std::int64_t offset = 0;                            ///< elements past a 64-byte boundary
  bool repeats_outermost = false;                     ///< stride 0 there: sources only
};

Strides strides_of(const Shape& shape, const StridedCase& layout);

/// One copy, cast or fill to be verified.
struct ElementwiseCase {
  std::uint64_t seed = 1;
  std::uint64_t index = 0;
  Op op = Op::Copy;
  DType source_type = DType::F32;
  DType destination_type = DType::F32;
  Shape shape;
  StridedCase source{}, destination{};
  double value = 0;  ///< of a fill

  [[nodiscard]] std::string to_string() const;
};

/// Case `index` of a seed for one operation.
ElementwiseCase make_elementwise_case(Op op, std::uint64_t seed, std::uint64_t index) noexcept;
/// Every bit pattern of the source type occurs if there is room; then random bits.
CaseReport run_case(Runtime& runtime, const ElementwiseCase& elementwise_case, Mode mode);

}  // namespace girih::inline v0::verify
