#pragma once

#include <array>
#include <cstddef>

#include "emulator/launch.hpp"

namespace girih::inline v0::emulator {

/// A SIMD group's d = a b + c on 8 x 8 matrices. Each lane notes its part and goes on; the
/// arithmetic is done for all of them when somebody looks at a result. If lanes took turns at every
/// product instead, most of the time of a kernel would go into switching between them.
struct MatrixProduct {
  static constexpr int kSide = 8;
  using Values = std::array<std::array<float, kSide>, kSide>;

  Site site;
  Values a, b, c;
  bool adds_to_d = false;                ///< c is the matrix d, whose value may not be known yet
  std::array<void*, kSimdWidth> d = {};  ///< each lane's matrix; null: a lane that noted nothing
  /// Of the lanes' matrices d; `give` also tells them that they are done.
  void (*take)(const MatrixProduct& product, Values& sums) = nullptr;
  void (*give)(const MatrixProduct& product, const Values& sums) = nullptr;
};

/// Where the running lane puts its part of its SIMD group's next product.
MatrixProduct& note_product(const Site& site);
/// Lanes of the SIMD group meet, and what they noted is done in that order.
void settle_products(const Site& site);

}  // namespace girih::inline v0::emulator
