#include "verify/gemm_case.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/format.hpp"
#include "ops/gemm.hpp"
#include "verify/random.hpp"

namespace girih::inline v0::verify {
namespace {

// Around tile edges, and everywhere.
constexpr auto kExtents =
    std::to_array<std::int64_t>({1,  2,  3,  7,  8,   15,  16,  17,  31,  32,  33,  63,
                                 64, 65, 95, 96, 127, 128, 129, 191, 192, 193, 255, 257});
constexpr auto kDepths = std::to_array<std::int64_t>(
    {1, 3, 16, 31, 63, 96, 127, 128, 129, 255, 256, 257, 383, 511, 2047, 2048, 2049});
constexpr std::int64_t kMaxWork = 24'000'000;
constexpr std::int64_t kMaxSkinnyWork = 2'000'000;

std::int64_t pick_extent(Random& random) {
  if (random.one_in(100)) return 0;
  if (random.one_in(2)) return random.pick(kExtents);
  return random.integer(1, 160);
}

std::int64_t pick_depth(Random& random) {
  if (random.one_in(40)) return 0;
  if (random.one_in(2)) return random.pick(kDepths);
  return random.integer(1, 320);
}

MatrixCase pick_layout(Random& random, bool may_share) {
  static constexpr auto kPads = std::to_array<std::int64_t>({0, 0, 1, 8});
  static constexpr auto kOffsets = std::to_array<std::int64_t>({0, 0, 1, 2, 4, 8});
  static constexpr auto kGaps = std::to_array<std::int64_t>({0, 0, 1, 16});
  MatrixCase layout;
  layout.column_major = random.one_in(2);
  layout.step = random.one_in(16) ? 2 : 1;
  layout.pad = random.pick(kPads);
  layout.offset = random.pick(kOffsets);
  layout.batch_gap = random.pick(kGaps);
  if (may_share && random.one_in(3)) {
    layout.sharing = random.one_in(2) ? Sharing::Rank2 : Sharing::Repeated;
  }
  return layout;
}

/// Halves the largest extent until the product is small enough.
void limit_work(GemmCase& result, std::int64_t most) {
  while (result.m * result.n * result.k * result.products() > most) {
    std::int64_t& wider = result.m > result.n ? result.m : result.n;
    std::int64_t& largest = result.k > wider ? result.k : wider;
    largest = (largest + 1) / 2;
  }
}

void pick_shape(Random& random, GemmCase& result) {
  result.m = pick_extent(random);
  result.n = pick_extent(random);
  result.k = pick_depth(random);
  if (random.one_in(3)) {
    static constexpr auto kBatches = std::to_array<std::int64_t>({0, 1, 3, 3, 3, 17});
    result.batch = random.pick(kBatches);
  }
  limit_work(result, kMaxWork);
}

void pick_scalar(Random& random, float& value, bool& on_device) {
  static constexpr auto kValues = std::to_array<float>({0.0F, 1.0F, 1.0F, -0.75F, 0.5F, 2.25F});
  value = random.pick(kValues);
  on_device = random.one_in(4);
}

DType pick_wide_type(Random& random) {
  static constexpr auto kTypes = std::to_array<DType>({DType::F32, DType::BF16, DType::F16});
  return random.pick(kTypes);
}

void pick_epilogue(Random& random, GemmCase& result) {
  if (random.one_in(4)) return;  // C = A.B
  pick_scalar(random, result.beta, result.beta_on_device);
  if (result.output == DType::I32) {
    result.beta = random.one_in(2) ? 1.0F : 0.0F;
    result.beta_on_device = false;
    return;
  }
  pick_scalar(random, result.alpha, result.alpha_on_device);
  if (random.one_in(2)) {
    result.bias = pick_wide_type(random);
    result.bias_per_batch = result.batch && random.one_in(2);
    result.bias_offset = random.integer(0, 3);
  }
  static constexpr auto kActivations = std::to_array<Activation>(
      {Activation::None, Activation::Relu, Activation::GeluTanh, Activation::Silu});
  result.activation = random.pick(kActivations);
  if (random.one_in(3)) {
    result.residual = random.one_in(2) ? ResidualCase::SameAsC : ResidualCase::Separate;
    result.residual_type =
        result.residual == ResidualCase::SameAsC ? result.output : pick_wide_type(random);
    result.residual_layout = pick_layout(random, false);
  }
  if (random.one_in(4)) {
    result.a_scale = random.one_in(2) ? Granularity::PerRow : Granularity::PerTensor;
  }
  if (random.one_in(4)) {
    result.b_scale = random.one_in(2) ? Granularity::PerColumn : Granularity::PerTensor;
  }
}

void pick_modes(Random& random, GemmCase& result) {
  if (random.one_in(6)) result.precision = Precision::Fast;
  if (random.one_in(64)) result.precision = Precision::Tf32;
  if (random.one_in(6)) result.path = random.one_in(2) ? Path::Portable : Path::Matrix;
  if (random.one_in(3)) result.reproducibility = Reproducibility::RowInvariant;
  static constexpr auto kContents =
      std::to_array<Contents>({Contents::Uniform, Contents::Uniform, Contents::Wide,
                               Contents::Cancelling, Contents::Special});
  result.contents = random.pick(kContents);
}

/// Drawn last: what is drawn before does not depend on whether a case is gated.
void pick_gate(Random& random, GemmCase& result) {
  if (result.output == DType::I32 || !random.one_in(6)) return;
  static constexpr auto kLimits = std::to_array<float>({0.25F, 1.0F, 7.0F});
  Gate gate;
  gate.activation = result.activation;
  if (random.one_in(2)) gate.activation = Activation::Silu;
  if (random.one_in(2)) gate.order = GateOrder::Interleaved;
  if (gate.activation == Activation::Silu && random.one_in(2)) gate.alpha = 1.702F;
  if (random.one_in(2)) gate.limit = random.pick(kLimits);
  if (random.one_in(2)) gate.up_offset = random.one_in(2) ? 1.0F : -0.5F;
  result.gate = gate;
  result.activation = Activation::None;
  result.beta = 0;
  result.beta_on_device = false;
}

/// Few rows, or columns, of a long K and many of the others.
void pick_skinny(Random& random, GemmCase& result) {
  if (!random.one_in(8)) return;
  static constexpr auto kLengths =
      std::to_array<std::int64_t>({256, 257, 512, 1000, 1024, 2056, 4096});
  result.m = random.integer(1, 16);
  result.n = random.pick(kLengths);
  result.k = random.pick(kLengths);
  if (random.one_in(2)) std::swap(result.m, result.n);
  limit_work(result, kMaxSkinnyWork);
}

/// What only some types have.
void pick_factors_and_rounding(Random& random, GemmCase& result) {
  if (result.operands == DType::F32 && random.one_in(12)) result.precision = Precision::Tf32;
  const bool is_eighth = result.operands == DType::F8E4M3 || result.operands == DType::F8E5M2;
  if (!is_eighth || !random.one_in(3)) return;
  if (!random.one_in(3)) result.a_scale = Granularity::PerRowBlock;
  if (!random.one_in(3)) {
    result.b_scale = random.one_in(2) ? Granularity::PerColumnBlock : Granularity::PerBlock;
  }
}

/// An 8-bit output takes no beta, and no residual of its own type.
void fit_quantised(Random& random, GemmCase& result) {
  if (!is_quantised(result.output)) return;
  result.beta = 0;
  result.beta_on_device = false;
  if (result.residual == ResidualCase::SameAsC) {
    result.residual = ResidualCase::Separate;
    result.residual_type = pick_wide_type(random);
  }
  result.c_scale = random.one_in(2);
}

std::string describe(const char* operand, const MatrixCase& layout) {
  static constexpr const char* kSharing[] = {"", " rank2", " repeated"};
  return formatted(" {}:{}+{}@{}{}{}{}", operand, layout.column_major ? 'T' : 'N', layout.pad,
                   layout.offset, layout.step > 1 ? formatted(" step {}", layout.step) : "",
                   layout.batch_gap > 0 ? formatted(" gap {}", layout.batch_gap) : "",
                   kSharing[static_cast<int>(layout.sharing)]);
}

std::string describe(const char* operand, const std::optional<Granularity>& granularity) {
  static constexpr const char* kNames[] = {"tensor",    "row",          "column",
                                           "row block", "column block", "block"};
  return granularity ? formatted(" {} per {}", operand, kNames[static_cast<int>(*granularity)])
                     : std::string();
}

}  // namespace

GemmCase make_gemm_case(std::uint64_t seed, std::uint64_t index, DType operands,
                        DType output) noexcept {
  Random random(seed, index);
  GemmCase result;
  result.seed = seed;
  result.index = index;
  result.operands = operands;
  result.output = output;
  pick_shape(random, result);
  result.a = pick_layout(random, result.batch.has_value());
  result.b = pick_layout(random, result.batch.has_value());
  result.c = pick_layout(random, false);
  pick_epilogue(random, result);
  pick_modes(random, result);
  pick_gate(random, result);
  pick_skinny(random, result);
  pick_factors_and_rounding(random, result);
  fit_quantised(random, result);
  return result;
}

GemmCase make_gemm_case(std::uint64_t seed, std::uint64_t index) noexcept {
  static constexpr auto kOperands = std::to_array<DType>(
      {DType::F32, DType::F32, DType::BF16, DType::F16, DType::I8, DType::F8E4M3, DType::F8E5M2});
  Random random(~seed, index);
  const DType operands = random.pick(kOperands);
  DType output = pick_wide_type(random);
  if (operands == DType::I8 && random.one_in(2)) {
    output = DType::I32;
  } else if (random.one_in(8)) {
    static constexpr auto kTypes = std::to_array<DType>({DType::F8E4M3, DType::F8E5M2, DType::I8});
    output = random.pick(kTypes);
  }
  return make_gemm_case(seed, index, operands, output);
}

std::string GemmCase::to_string() const {
  static constexpr const char* kContents[] = {"uniform", "wide", "cancelling", "special", "lowest"};
  std::string line = formatted("{}->{} {}x{}x{}", name(operands), name(output), m, n, k);
  if (batch) line += formatted(" batch {}", *batch);
  line += describe("A", a) + describe("B", b) + describe("C", c);
  line += formatted(" alpha {}{} beta {}{}", alpha, alpha_on_device ? " (device)" : "", beta,
                    beta_on_device ? " (device)" : "");
  line += describe("a_scale", a_scale) + describe("b_scale", b_scale);
  if (c_scale) line += " c_scale";
  if (bias) {
    line +=
        formatted(" bias {}@{}{}", name(*bias), bias_offset, bias_per_batch ? " per batch" : "");
  }
  line += formatted(" activation {}", name(activation));
  if (gate) {
    line += formatted(" gate {} {} alpha {} limit {} offset {}", name(gate->activation),
                      name(gate->order), gate->alpha, gate->limit, gate->up_offset);
  }
  if (residual == ResidualCase::SameAsC) line += " residual C";
  if (residual == ResidualCase::Separate) {
    line += formatted(" residual {}{}", name(residual_type), describe("R", residual_layout));
  }
  line += formatted(" {} {}", name(precision), name(path));
  if (reproducibility == Reproducibility::RowInvariant) line += " row-invariant";
  return line + " " + kContents[static_cast<int>(contents)];
}

}  // namespace girih::inline v0::verify
