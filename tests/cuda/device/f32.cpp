#include <cmath>

#include "cuda/device/gpu_test.hpp"
#include "verify/bound_gemm.hpp"

// f32 products: exact ones on every row, with and without slices of K, and fast ones with operands
// that have parts and that have none.

namespace girih::testing {
namespace {

using verify::Contents;
using verify::GemmCase;

class CudaF32 : public BackendTest {
 protected:
  /// The rows of f32 that split their operands, or those that do not.
  [[nodiscard]] std::vector<std::string> rows(bool splits) const {
    std::vector<std::string> names;
    for (const UsableKernel& kernel : usable_kernels(GetParam(), Op::Gemm)) {
      const bool is_exact = kernel.info.reduction == Reduction::SequentialF32;
      if (kernel.info.operands.has(DType::F32) && (splits ? kernel.info.splits_f32 : is_exact)) {
        names.emplace_back(kernel.info.name);
      }
    }
    return names;
  }
};

/// Case i of several that differ in every field at once.
GemmCase varied(std::uint64_t i, std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmCase x{.index = i, .m = m, .n = n, .k = k};
  x.a.column_major = i % 2 != 0;
  x.b.column_major = i / 2 % 2 != 0;
  x.a.pad = static_cast<std::int64_t>(i % 3);
  x.b.pad = static_cast<std::int64_t>(i % 5);
  x.a.offset = static_cast<std::int64_t>(i % 4);
  x.b.step = i % 7 == 3 ? 2 : 1;
  if (i % 3 == 1) x.batch = 3;
  if (i % 6 == 4) x.b.sharing = verify::Sharing::Rank2;
  x.beta = i % 4 == 2 ? 0.5F : 0.0F;
  if (i % 5 == 1) x.bias = DType::F32;
  x.activation = static_cast<Activation>(i % 4);
  if (i % 4 == 3) x.residual = verify::ResidualCase::Separate;
  x.output = i % 3 == 2 ? DType::BF16 : DType::F32;
  return x;
}

constexpr std::array<std::array<std::int64_t, 3>, 7> kShapes = {{{1, 1, 1},
                                                                 {7, 130, 64},
                                                                 {64, 128, 65},
                                                                 {129, 127, 200},
                                                                 {257, 300, 1000},
                                                                 {300, 40, 3},
                                                                 {128, 256, 2048}}};

TEST_P(CudaF32, EveryExactRowTakesEveryLayout) {
  for (const std::string& row : rows(false)) {
    Runtime runtime = open(GetParam(), {.force_kernel = row});
    std::uint64_t i = 0;
    for (const auto& [m, n, k] : kShapes) {
      for (int round = 0; round < 4; ++round, ++i) {
        GemmCase x = varied(i, m, n, k);
        x.c.column_major = i % 5 == 0;
        x.c.pad = static_cast<std::int64_t>(i % 4);
        x.contents = static_cast<Contents>(i % 5);
        expect_passes(runtime, x, static_cast<verify::Mode>(i % 3));
      }
    }
  }
}

TEST_P(CudaF32, SlicesOfKAreAdded) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{64, 64}, {100, 30}, {3, 5}}) {
    GemmCase x{.m = m, .n = n, .k = 20'000, .bias = DType::F32, .activation = Activation::Silu};
    const auto bound = must(verify::BoundGemm::make(runtime_, x));
    EXPECT_GT(must(bound.plan(runtime_)).split_k, 1);
    expect_passes(runtime_, x, verify::Mode::Replayed);
    x.reproducibility = Reproducibility::RowInvariant;
    expect_passes(runtime_, x, verify::Mode::Eager);
  }
}

TEST_P(CudaF32, EveryFastRowIsWithinItsBoundWhateverOperandsHold) {
  for (const std::string& row : rows(true)) {
    Runtime runtime = open(GetParam(), {.force_kernel = row});
    std::uint64_t i = 0;
    for (const auto& [m, n, k] : kShapes) {
      for (const Contents contents : {Contents::Uniform, Contents::Wide, Contents::Cancelling,
                                      Contents::Special, Contents::Lowest}) {
        GemmCase x = varied(i, m, n, k);
        x.contents = contents;
        x.precision = Precision::Fast;
        expect_passes(runtime, x, static_cast<verify::Mode>(i % 3));
        ++i;
      }
    }
  }
}

class FastProduct {
 public:
  FastProduct(Runtime& runtime, std::int64_t m, std::int64_t n, std::int64_t k, double scale = 1)
      : m_(m),
        n_(n),
        k_(k),
        a(random_tensor(runtime, {m, k}, DType::F32, 1)),
        b(random_tensor(runtime, {k, n}, DType::F32, 2)),
        c(must(runtime.tensor({m, n}, DType::F32))),
        host_a(floats_of(runtime, a)),
        host_b(floats_of(runtime, b)) {
    for (std::vector<float>* values : {&host_a, &host_b}) {
      for (float& x : *values) x *= static_cast<float>(scale);
    }
    upload(runtime);
  }
  void upload(Runtime& runtime) {
    must(runtime.upload(a, std::span<const float>(host_a)));
    must(runtime.upload(b, std::span<const float>(host_b)));
  }
  [[nodiscard]] GemmDesc desc(Precision precision) const {
    GemmDesc desc{.a = a, .b = b, .c = c};
    desc.precision = precision;
    // Without slices of K, as the kernel that steps in.
    if (precision == Precision::Exact) desc.reproducibility = Reproducibility::RowInvariant;
    return desc;
  }
  std::vector<float> run(Runtime& runtime, Precision precision) {
    must(gemm(runtime, desc(precision)));
    return floats_of(runtime, c);
  }
  /// The largest |got - A B|, in double.
  [[nodiscard]] double error_of(const std::vector<float>& got) const {
    double worst = 0;
    for (std::int64_t i = 0; i < m_; i += 7) {
      for (std::int64_t j = 0; j < n_; j += 5) {
        double sum = 0;
        for (std::int64_t k = 0; k < k_; ++k) {
          sum += static_cast<double>(host_a[static_cast<std::size_t>(i * k_ + k)]) *
                 static_cast<double>(host_b[static_cast<std::size_t>(k * n_ + j)]);
        }
        worst = std::max(
            worst, std::fabs(sum - static_cast<double>(got[static_cast<std::size_t>(i * n_ + j)])));
      }
    }
    return worst;
  }

 private:
  std::int64_t m_, n_, k_;

 public:
  Tensor a, b, c;
  std::vector<float> host_a, host_b;
};

TEST_P(CudaF32, FastIsWithinTwiceTheErrorOfExact) {
  for (const std::string& row : rows(true)) {
    Runtime runtime = open(GetParam(), {.force_kernel = row});
    for (const std::int64_t k : {64, 512, 4096}) {
      FastProduct product(runtime, 300, 200, k), same(runtime_, 300, 200, k);
      const std::vector<float> fast = product.run(runtime, Precision::Fast);
      const std::vector<float> exact = same.run(runtime_, Precision::Exact);
      EXPECT_NE(fast, exact) << "the exact kernel ran";
      EXPECT_LE(product.error_of(fast), 2 * product.error_of(exact)) << row << ", K " << k;
    }
  }
}

TEST_P(CudaF32, SmallPartsAndSubnormalProductsAreKept) {
  for (const std::string& row : rows(true)) {
    Runtime runtime = open(GetParam(), {.force_kernel = row});
    for (const double scale : {0x1p-40, 0x1p-66, 0x1p-72}) {
      FastProduct product(runtime, 100, 150, 256, scale);
      // Uniform in steps of 2^-23: the relative bound, and half the least subnormal a rounding.
      const double largest = scale * scale * 256;
      EXPECT_LE(product.error_of(product.run(runtime, Precision::Fast)),
                300 * (0x1p-24 * largest + 0x1p-150))
          << row << ", " << scale;
    }
  }
}

TEST_P(CudaF32, WhatHasNoPartsIsComputedExactlyAndIsForgottenAfterwards) {
  for (const std::string& row : rows(true)) {
    Runtime runtime = open(GetParam(), {.force_kernel = row});
    FastProduct product(runtime, 150, 140, 300), same(runtime_, 150, 140, 300);
    const std::vector<float> fast = product.run(runtime, Precision::Fast);
    Graph graph = must(
        capture(runtime, [&]() -> Status { return gemm(runtime, product.desc(Precision::Fast)); }));
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (const float special : {kInfinity, -kInfinity, 3.4e38F, 0x1p-120F, 0x1p-140F}) {
      for (const bool in_a : {true, false}) {
        std::vector<float>& values = in_a ? product.host_a : product.host_b;
        std::vector<float>& mirror = in_a ? same.host_a : same.host_b;
        const float before = values[1234];
        values[1234] = mirror[1234] = special;
        product.upload(runtime);
        same.upload(runtime_);
        const std::vector<float> exact = same.run(runtime_, Precision::Exact);
        EXPECT_EQ(product.run(runtime, Precision::Fast), exact) << special;
        must(graph.replay());
        EXPECT_EQ(floats_of(runtime, product.c), exact) << special;
        values[1234] = mirror[1234] = before;
        product.upload(runtime);
        EXPECT_EQ(product.run(runtime, Precision::Fast), fast) << "after " << special;
        must(graph.replay());
        EXPECT_EQ(floats_of(runtime, product.c), fast) << "after " << special;
      }
    }
  }
}

TEST_P(CudaF32, AccumulatingWholeNumbersIsExactOnEveryRow) {
  constexpr std::int64_t kM = 130, kN = 200, kK = 3000;
  for (const bool splits : {false, true}) {
    for (const std::string& row : rows(splits)) {
      Runtime runtime = open(GetParam(), {.force_kernel = row});
      verify::Random random(5);
      std::vector<float> left(kM * kK), right(kK * kN);
      for (float& x : left) x = static_cast<float>(random.integer(-9, 9));
      for (float& x : right) x = static_cast<float>(random.integer(-9, 9));
      for (const bool of_weights : {false, true}) {
        const Tensor a = of_weights ? tensor_of(runtime, {kK, kM}, DType::F32, left).transposed()
                                    : tensor_of(runtime, {kM, kK}, DType::F32, left);
        const Tensor b = of_weights ? tensor_of(runtime, {kK, kN}, DType::F32, right)
                                    : tensor_of(runtime, {kN, kK}, DType::F32, right).transposed();
        const Tensor c = must(runtime.tensor({kM, kN}, DType::F32));
        GemmDesc desc{.a = a, .b = b, .c = c};
        desc.precision = splits ? Precision::Fast : Precision::Exact;
        must(gemm(runtime, desc));
        const std::vector<float> once = floats_of(runtime, c);
        desc.beta = 1.0F;
        for (int pass = 2; pass <= 5; ++pass) must(gemm(runtime, desc));
        const std::vector<float> now = floats_of(runtime, c);
        for (std::size_t i = 0; i < now.size(); ++i) ASSERT_EQ(now[i], 5 * once[i]) << row;
      }
    }
  }
}

TEST_P(CudaF32, PiecesOfALargeFastProductHaveTheBitsOfTheWhole) {
  constexpr std::int64_t kM = 3000, kN = 600, kK = 20'000;
  FastProduct product(runtime_, kM, kN, kK);
  GemmDesc desc = product.desc(Precision::Fast);
  desc.path = Path::Matrix;
  EXPECT_NE(must(plan(runtime_, desc)).to_string().find("in pieces of"), std::string::npos);
  must(gemm(runtime_, desc));
  const std::vector<float> whole = floats_of(runtime_, product.c);
  for (const std::int64_t begin : {std::int64_t{0}, std::int64_t{1234}, kM - 50}) {
    const Tensor c = must(runtime_.tensor({50, kN}, DType::F32));
    desc.a = must(product.a.slice(0, begin, begin + 50));
    desc.c = c;
    must(gemm(runtime_, desc));
    const std::vector<float> part = floats_of(runtime_, c);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + begin * kN)) << begin;
  }
}

// Each piece that reads an operand's band knows what is in it, not the first one alone.
TEST_P(CudaF32, EveryPieceOfAFastProductKnowsWhatHasNoParts) {
  constexpr std::int64_t kK = 20'000, kRow = 77;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto& [m, n] : {std::pair{3000, 600}, std::pair{600, 3000}}) {
    FastProduct product(runtime_, m, n, kK);
    product.host_a[kRow * kK] = kInfinity;
    product.upload(runtime_);
    GemmDesc desc = product.desc(Precision::Fast);
    desc.path = Path::Matrix;
    EXPECT_NE(must(plan(runtime_, desc)).to_string().find("in pieces of"), std::string::npos);
    must(gemm(runtime_, desc));
    const std::vector<float> c = floats_of(runtime_, product.c);
    for (std::int64_t j = 0; j < n; ++j) {
      const float beside = product.host_b[static_cast<std::size_t>(j)];
      if (beside == 0) continue;
      ASSERT_EQ(c[static_cast<std::size_t>(kRow * n + j)], beside > 0 ? kInfinity : -kInfinity)
          << m << " x " << n << ", column " << j;
    }
  }
}

GIRIH_FOR_EVERY_GPU(CudaF32);

}  // namespace
}  // namespace girih::testing
