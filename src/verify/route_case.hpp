#pragma once

#include <cstdint>
#include <string>

#include <girih/routing.hpp>

#include "verify/elementwise_case.hpp"

namespace girih::inline v0::verify {

/// What the logits of a case are.
enum class Logits : std::uint8_t {
  Uniform,  ///< [-8, 8)
  Ties,     ///< whole numbers from -2 to 2, zeros of both signs
  Far,      ///< up to 200 apart, so that most weights underflow
  Special,  ///< uniform with NaN and infinities
  Masked,   ///< mostly -infinity
  Sorted,   ///< every token prefers the same experts, rising from the first to the last
};

/// One call of `route` to be verified.
struct RouteCase {
  std::uint64_t seed = 1;
  std::uint64_t index = 0;
  std::int64_t tokens = 1, experts = 1, k = 1;
  DType dtype = DType::F32;
  RouterWeights kind = RouterWeights::SoftmaxOfChosen;
  float scale = 1;
  Logits contents = Logits::Uniform;
  /// Of the matrices and of the vectors that are written.
  StridedCase logits{}, written{}, lists{};

  [[nodiscard]] std::string to_string() const;
};

/// Case `index` of a seed.
RouteCase make_route_case(std::uint64_t seed, std::uint64_t index) noexcept;

}  // namespace girih::inline v0::verify
