#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <girih/gemm.hpp>

namespace girih::inline v0::verify {

/// What the operands of a case hold.
enum class Contents : std::uint8_t {
  Uniform,     ///< [-1, 1), integers over their whole range
  Wide,        ///< uniform times 2^e, e in [-12, 12]
  Cancelling,  ///< +-1 and a little, signs in turn: sums far smaller than their terms
  Special,  ///< uniform with a few NaN, infinities, signed zeros and subnormals; integers extreme
  Lowest,   ///< every element the lowest finite number of its type
};

enum class Sharing : std::uint8_t {
  Own,       ///< each product of a batch has its own matrix
  Rank2,     ///< a matrix without batch extent, shared by all
  Repeated,  ///< batch stride 0
};

enum class ResidualCase : std::uint8_t { None, Separate, SameAsC };

/// How one matrix lies in memory.
struct MatrixCase {
  bool column_major = false;
  std::int64_t step = 1;    ///< distance of neighbours along the fast dimension
  std::int64_t pad = 0;     ///< leading dimension beyond the smallest
  std::int64_t offset = 0;  ///< elements past a 64-byte boundary
  std::int64_t batch_gap = 0;
  Sharing sharing = Sharing::Own;
};

/// One product to be verified: everything but the memory. A test states the fields it is about.
struct GemmCase {
  std::uint64_t seed = 1;
  std::uint64_t index = 0;
  std::int64_t m = 1, n = 1, k = 1;     ///< n of C: half of B's with a gate
  std::optional<std::int64_t> batch{};  ///< none: rank 2
  DType operands = DType::F32;
  DType output = DType::F32;
  MatrixCase a{}, b{}, c{};
  float alpha = 1, beta = 0;
  bool alpha_on_device = false, beta_on_device = false;
  std::optional<DType> bias{};
  bool bias_per_batch = false;
  std::int64_t bias_offset = 0;
  Activation activation = Activation::None;
  std::optional<Gate> gate{};
  ResidualCase residual = ResidualCase::None;
  DType residual_type = DType::F32;
  MatrixCase residual_layout{};
  std::optional<Granularity> a_scale{}, b_scale{};
  bool c_scale = false;           ///< there is a factor of an 8-bit output
  bool scales_per_batch = false;  ///< of grouped products: each has factors of its own
  Precision precision = Precision::Exact;
  Path path = Path::Auto;
  Reproducibility reproducibility = Reproducibility::PerShape;
  Contents contents = Contents::Uniform;

  [[nodiscard]] std::int64_t products() const noexcept { return batch.value_or(1); }
  /// Of B, the bias and the scale of B.
  [[nodiscard]] std::int64_t product_columns() const noexcept { return gate ? 2 * n : n; }
  /// One line that states every field.
  [[nodiscard]] std::string to_string() const;
};

/// Case `index` of a seed: equal on every machine, and independent of the other cases.
GemmCase make_gemm_case(std::uint64_t seed, std::uint64_t index) noexcept;
/// The same with the types given: for kernels that take only those.
GemmCase make_gemm_case(std::uint64_t seed, std::uint64_t index, DType operands,
                        DType output) noexcept;

}  // namespace girih::inline v0::verify
