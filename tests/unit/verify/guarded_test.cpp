#include "verify/guarded.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

#include "reference/element.hpp"
#include "support/expect.hpp"
#include "verify/coverage.hpp"
#include "verify/gemm_case.hpp"
#include "verify/random.hpp"

namespace girih {
namespace {

using testing::must;
using verify::GuardedTensor;
using verify::Poison;
using verify::surviving_poison;

class GuardedTensorTest : public ::testing::Test {
 protected:
  /// Two rows of three, five apart, in the middle of guards.
  GuardedTensor make(DType dtype) {
    GuardedTensor tensor = must(GuardedTensor::make(runtime_, dtype, {2, 3}, {5, 1}, 1));
    for (std::int64_t i = 0; i < 6; ++i) tensor.set(i, static_cast<double>(i + 1));
    must(tensor.upload(runtime_));
    return tensor;
  }
  void overwrite(const GuardedTensor& tensor, std::int64_t element, float value) {
    const Tensor one = must(tensor.allocation().view({1}, {1}, element));
    must(runtime_.upload(one, &value, sizeof value));
  }

  Runtime runtime_ = must(Runtime::open({.backend = Backend::Cpu}));
};

TEST_F(GuardedTensorTest, SurroundsItsElements) {
  for (const DType dtype : {DType::F32, DType::BF16, DType::F16, DType::F8E4M3, DType::F8E5M2}) {
    GuardedTensor tensor = make(dtype);
    must(tensor.observe(runtime_));
    const std::byte* memory = tensor.observed().data;
    std::set<std::int64_t> inside;
    for (const std::int64_t at : verify::element_offsets(tensor.observed().geometry))
      inside.insert(at);
    ASSERT_EQ(inside.size(), 6U);
    for (std::int64_t i = 0; i < tensor.allocation().size(); ++i) {
      EXPECT_EQ(std::isnan(load_element(memory, dtype, i)), inside.count(i) == 0) << i;
    }
  }
  GuardedTensor integers = make(DType::I8);
  EXPECT_EQ(load_element(integers.host().data, DType::I8, 0), -128);
  EXPECT_EQ(load_element(integers.host().data, DType::I8, 1), 127);
}

TEST_F(GuardedTensorTest, RoundTripsThroughTheDevice) {
  GuardedTensor tensor = make(DType::F32);
  must(tensor.observe(runtime_));
  EXPECT_EQ(tensor.damage(), "");
  EXPECT_EQ(tensor.change(), "");
  const std::vector<std::byte> elements = tensor.observed_elements();
  for (std::int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(load_element(elements.data(), DType::F32, i), static_cast<double>(i + 1));
  }
  // What the view shows is what the runtime downloads from it.
  std::vector<float> downloaded(6);
  must(runtime_.download(tensor.tensor(), std::span(downloaded)));
  EXPECT_EQ(downloaded, (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(GuardedTensorTest, NoticesEveryOverwrittenGuard) {
  const GuardedTensor pattern = make(DType::F32);
  const std::int64_t first = pattern.tensor().offset();
  const std::int64_t last = pattern.allocation().size() - 1;
  // Both ends, next to the first and last element, and the padding between the rows.
  for (const std::int64_t at :
       {std::int64_t{0}, first - 1, first + 3, first + 4, first + 8, last}) {
    GuardedTensor tensor = make(DType::F32);
    overwrite(tensor, at, 0.5F);
    must(tensor.observe(runtime_));
    EXPECT_NE(tensor.damage().find(std::to_string(at)), std::string::npos) << tensor.damage();
    EXPECT_NE(tensor.change(), "");
  }
}

TEST_F(GuardedTensorTest, AnElementMayBeWrittenButIsAChange) {
  GuardedTensor tensor = make(DType::F32);
  overwrite(tensor, tensor.tensor().offset() + 5, 9.0F);
  must(tensor.observe(runtime_));
  EXPECT_EQ(tensor.damage(), "");
  EXPECT_NE(tensor.change(), "");
}

TEST_F(GuardedTensorTest, NoticesPoisonThatSurvives) {
  GuardedTensor tensor = make(DType::F32);
  const auto run = [&](Poison poison, std::int64_t unwritten) {
    tensor.poison(poison);
    must(tensor.upload(runtime_));
    for (std::int64_t i = 0; i < 6; ++i) {
      if (i != unwritten) overwrite(tensor, tensor.tensor().offset() + i / 3 * 5 + i % 3, 1.0F);
    }
    must(tensor.observe(runtime_));
    EXPECT_EQ(tensor.damage(), "");
    return tensor.observed_elements();
  };
  const auto survivor = [&](std::int64_t unwritten) {
    const auto first = run(Poison::Nan, unwritten);
    return surviving_poison(DType::F32, first, Poison::Nan, run(Poison::Huge, unwritten),
                            Poison::Huge);
  };
  EXPECT_EQ(survivor(-1), std::nullopt);
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(survivor(i), i);
}

TEST(CoverageTest, NamesTheKernelsThatNeverRan) {
  verify::Coverage coverage;
  const std::vector<std::string> wanted = {"one", "two", "three"};
  EXPECT_EQ(coverage.missing(wanted), wanted);
  coverage.hit("one");
  coverage.hit("three");
  coverage.hit("four");
  EXPECT_EQ(coverage.missing(wanted), std::vector<std::string>{"two"});
  coverage.hit("two");
  EXPECT_TRUE(coverage.missing(wanted).empty());
}

TEST(RandomTest, IsSplitmix64) {
  verify::Random random(1234567);  // the published sequence of this seed
  EXPECT_EQ(random.bits(), 6457827717110365317ULL);
  EXPECT_EQ(random.bits(), 3203168211198807973ULL);
  verify::Random uniform(5);
  double low = 1, high = -1;
  for (int i = 0; i < 100'000; ++i) {
    const double x = uniform.real();
    low = std::min(low, x);
    high = std::max(high, x);
  }
  EXPECT_TRUE(low >= -1 && low < -0.999 && high < 1 && high > 0.999) << low << " " << high;
}

TEST(GemmCaseTest, AreReproducibleAndDistinct) {
  std::set<std::string> lines;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const std::string line = verify::make_gemm_case(7, i).to_string();
    EXPECT_EQ(line, verify::make_gemm_case(7, i).to_string());
    EXPECT_NE(line, verify::make_gemm_case(8, i).to_string());
    EXPECT_EQ(line.find('\n'), std::string::npos);
    lines.insert(line);
  }
  EXPECT_GT(lines.size(), 495U);
}

TEST(GemmCaseTest, ReachEveryKindOfCase) {
  std::set<std::string> seen;
  const auto note = [&](const char* what, bool is) {
    if (is) seen.insert(what);
  };
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const verify::GemmCase x = verify::make_gemm_case(1, i);
    EXPECT_LE(x.m * x.n * x.k * x.products(), 24'000'000);
    seen.insert(std::string(name(x.operands)) + "->" + std::string(name(x.output)));
    seen.insert(std::string(name(x.activation)));
    note("gate", x.gate.has_value());
    note("gate of pairs", x.gate && x.gate->order == GateOrder::Interleaved);
    note("gate with alpha", x.gate && x.gate->alpha != 1);
    note("gate with limit and offset", x.gate && x.gate->limit < 10 && x.gate->up_offset != 0);
    note("empty", x.m == 0 || x.n == 0 || x.batch == 0);
    note("k 0", x.k == 0);
    note("NN", !x.a.column_major && !x.b.column_major);
    note("NT", !x.a.column_major && x.b.column_major);
    note("TN", x.a.column_major && !x.b.column_major);
    note("TT", x.a.column_major && x.b.column_major);
    note("C^T", x.c.column_major);
    note("A shared", x.a.sharing == verify::Sharing::Rank2);
    note("B stride 0", x.b.sharing == verify::Sharing::Repeated);
    note("alpha 0", !x.alpha_on_device && x.alpha == 0);
    note("device beta", x.beta_on_device);
    note("bias a batch", x.bias_per_batch);
    note("residual C", x.residual == verify::ResidualCase::SameAsC);
    note("residual", x.residual == verify::ResidualCase::Separate);
    note("row scale", x.a_scale == Granularity::PerRow);
    note("column scale", x.b_scale == Granularity::PerColumn);
    note("factor of C", x.c_scale);
    note("row blocks", x.a_scale == Granularity::PerRowBlock);
    note("column blocks", x.b_scale == Granularity::PerColumnBlock);
    note("blocks", x.b_scale == Granularity::PerBlock);
    note("few rows", x.m <= 16 && x.n >= 256 && x.k >= 256);
    note("few columns", x.n <= 16 && x.m >= 256 && x.k >= 256);
    note("fast", x.precision == Precision::Fast);
    note("tf32", x.precision == Precision::Tf32);
    note("portable", x.path == Path::Portable);
    note("row-invariant", x.reproducibility == Reproducibility::RowInvariant);
    note("special", x.contents == verify::Contents::Special);
    note("batch 3", x.batch == 3);
  }
  EXPECT_EQ(seen.size(), 37U + 4U + 32U);
}

}  // namespace
}  // namespace girih
