#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <tuple>

#include "support/case_lane.hpp"
#include "support/gemm.hpp"

// 8-bit floats, tf32 and scaled int8: what matrix units multiply besides 16-bit types. Backends
// without such a unit refuse the first two.

namespace girih::testing {
namespace {

using verify::CaseReport;
using verify::Contents;
using verify::GemmCase;
using verify::ResidualCase;
using verify::Sharing;

constexpr auto kEighths = std::to_array<DType>({DType::F8E4M3, DType::F8E5M2});
constexpr auto kOutputs = std::to_array<DType>({DType::BF16, DType::F32, DType::F16});
constexpr auto kWays = std::to_array<Precision>({Precision::Exact, Precision::Fast});

class NarrowGemm : public LaneTest {
 protected:
  void expect(const GemmCase& x) {
    const bool is_eighth = x.operands == DType::F8E4M3 || x.operands == DType::F8E5M2;
    const bool is_tf32 = x.operands == DType::F32 && x.precision == Precision::Tf32;
    const Backend backend = runtime_.backend();
    const bool lacks_path = (is_eighth || is_tf32) && x.path == Path::Portable;
    const bool has_blocks = x.a_scale == Granularity::PerRowBlock ||
                            x.b_scale == Granularity::PerColumnBlock ||
                            x.b_scale == Granularity::PerBlock;
    const bool lacks_unit = (is_eighth && backend != Backend::Cuda) ||
                            (is_tf32 && backend == Backend::Cpu) || (has_blocks && !takes_blocks_);
    const CaseReport report = verify::run_case(runtime_, x, mode());
    EXPECT_EQ(report.outcome,
              lacks_path || lacks_unit ? CaseReport::Outcome::Refused : CaseReport::Outcome::Passed)
        << x.to_string() << "\n  on " << report.kernel << ": " << report.detail;
  }

 private:
  static bool takes_blocks(Backend backend) {
    const std::vector<UsableKernel> rows = usable_kernels(backend, Op::Gemm);
    return std::any_of(rows.begin(), rows.end(),
                       [](const UsableKernel& row) { return row.info.scales_blocks; });
  }
  /// Not a GPU other than Hopper's, or one that `GIRIH_CUDA` has taken for one.
  const bool takes_blocks_ = takes_blocks(runtime_.backend());
};

TEST_P(NarrowGemm, ShapesAroundTileEdgesInAllLayouts) {
  constexpr auto kExtents = std::to_array<std::int64_t>({1, 8, 17, 63, 64, 65, 128, 130, 257});
  constexpr auto kDepths =
      std::to_array<std::int64_t>({1, 4, 16, 31, 32, 33, 127, 128, 129, 256, 272, 385});
  std::size_t i = 0;
  for (const std::int64_t m : kExtents) {
    for (const std::int64_t n : kExtents) {
      GemmCase x{.index = i,
                 .m = m,
                 .n = n,
                 .k = kDepths[i * 5 % kDepths.size()],
                 .operands = kEighths[i % 2],
                 .output = kOutputs[i % 3],
                 .a = {.column_major = (i & 1) != 0},
                 .b = {.column_major = (i & 2) == 0},
                 .c = {.column_major = (i & 12) == 12},
                 .precision = kWays[i / 2 % 2]};
      expect(x);
      x.operands = DType::F32;
      x.precision = Precision::Tf32;
      expect(x);
      ++i;
    }
  }
}

TEST_P(NarrowGemm, ScalesBiasAndActivationInEveryStoreMode) {
  std::size_t i = 0;
  // Boxes, boxes that clip, and rows that they cannot write; both sides longer than the other.
  for (const auto& [m, n] : {std::pair{64, 128}, {130, 264}, {33, 67}, {16, 520}, {520, 16}}) {
    for (const DType operands : {DType::I8, DType::F8E4M3, DType::F8E5M2}) {
      for (const DType output : kOutputs) {
        for (const auto a_scale :
             {std::optional<Granularity>{}, {Granularity::PerTensor}, {Granularity::PerRow}}) {
          for (const auto b_scale :
               {std::optional<Granularity>{}, {Granularity::PerTensor}, {Granularity::PerColumn}}) {
            GemmCase x{
                .index = i, .m = m, .n = n, .k = 144, .operands = operands, .output = output};
            x.b.column_major = true;
            x.a_scale = a_scale;
            x.b_scale = b_scale;
            x.alpha = i % 2 == 0 ? 1.0F : -0.75F;
            x.alpha_on_device = i % 5 == 0;
            if (i % 3 != 0) x.bias = i % 3 == 1 ? DType::F32 : output;
            x.activation = static_cast<Activation>(i % 4);
            if (i % 7 == 0) x.beta = 0.5F;
            if (i % 11 == 0) x.residual = ResidualCase::Separate;
            expect(x);
            ++i;
          }
        }
      }
    }
  }
}

TEST_P(NarrowGemm, IntegerResultsInEveryStoreMode) {
  std::size_t i = 0;
  for (const std::int64_t n : {1, 15, 64, 127, 256, 600}) {
    for (const std::int64_t m : {1, 17, 128, 300}) {
      for (const float beta : {0.0F, 1.0F}) {
        GemmCase x{.index = i,
                   .m = m,
                   .n = n,
                   .k = i % 4 == 0 ? 1040 : 176,
                   .operands = DType::I8,
                   .output = DType::I32,
                   .beta = beta,
                   .contents = i % 3 == 0 ? Contents::Special : Contents::Uniform};
        x.a.column_major = i % 5 == 1;
        x.b.column_major = i % 3 != 1;
        x.c.column_major = i % 7 == 1;
        x.c.pad = i % 2 == 0 ? 0 : 3;
        if (i % 6 == 5) x.batch = 3;
        expect(x);
        ++i;
      }
    }
  }
}

TEST_P(NarrowGemm, AlignmentsAndBatches) {
  std::size_t i = 0;
  for (const std::int64_t pad : {0, 1, 16}) {
    for (const std::int64_t offset : {0, 1, 4, 16}) {
      for (const Sharing sharing : {Sharing::Own, Sharing::Rank2, Sharing::Repeated}) {
        GemmCase x{.index = i,
                   .m = 40,
                   .n = 72,
                   .k = 160,
                   .batch = 3,
                   .operands = kEighths[i % 2],
                   .output = DType::BF16,
                   .precision = kWays[i % 2]};
        x.a = {.pad = pad, .offset = offset, .batch_gap = 16, .sharing = Sharing::Own};
        x.b = {.column_major = true, .pad = pad, .offset = offset, .sharing = sharing};
        expect(x);
        x.operands = DType::F32;
        x.precision = Precision::Tf32;
        expect(x);
        x.operands = DType::I8;
        expect(x);
        ++i;
      }
    }
  }
}

TEST_P(NarrowGemm, FactorsOfBlocks) {
  std::size_t i = 0;
  for (const auto& [m, n, k] : {std::tuple{64, 128, 128},
                                {130, 264, 385},
                                {300, 520, 256},
                                {17, 40, 129},
                                {1, 130, 640},
                                {257, 1, 64},
                                {256, 256, 1024}}) {
    for (const auto a_scale :
         {std::optional<Granularity>{}, {Granularity::PerRow}, {Granularity::PerRowBlock}}) {
      for (const auto b_scale : {Granularity::PerColumnBlock, Granularity::PerBlock}) {
        GemmCase x{.index = i,
                   .m = m,
                   .n = n,
                   .k = k,
                   .operands = kEighths[i % 2],
                   .output = kOutputs[i % 3]};
        x.a.column_major = i % 5 == 0;
        x.b.column_major = i % 4 != 0;
        x.a_scale = a_scale;
        x.b_scale = b_scale;
        x.precision = kWays[i % 2];
        if (i % 3 == 0) x.bias = DType::F32;
        if (i % 6 == 1) x.gate = Gate{.limit = 2};
        if (i % 7 == 2) x.batch = 3;
        if (i % 2 == 0) x.activation = x.gate ? Activation::None : Activation::Silu;
        expect(x);
        ++i;
      }
    }
    GemmCase alone{.m = m, .n = n, .k = k, .operands = DType::F8E4M3, .output = DType::BF16};
    alone.a_scale = Granularity::PerRowBlock;
    alone.b_scale = Granularity::PerColumn;
    expect(alone);
  }
}

TEST_P(NarrowGemm, LongSums) {
  for (const std::int64_t k : {2048, 8200, 33000}) {
    for (const Precision way : kWays) {
      for (const DType operands : kEighths) {
        expect({.m = 24,
                .n = 40,
                .k = k,
                .operands = operands,
                .output = DType::F32,
                .b = {.column_major = true},
                .precision = way,
                .contents = Contents::Cancelling});
        expect({.m = 70,
                .n = 16,
                .k = k,
                .operands = operands,
                .output = DType::F32,
                .precision = way});
      }
    }
    expect({.m = 24, .n = 40, .k = k, .output = DType::F32, .precision = Precision::Tf32});
    for (const float beta : {0.0F, 1.0F}) {
      expect({.m = 24,
              .n = 41,
              .k = k,
              .operands = DType::I8,
              .output = DType::I32,
              .beta = beta,
              .contents = Contents::Special});
    }
    GemmCase scaled{.m = 65, .n = 40, .k = k, .operands = DType::I8, .output = DType::BF16};
    scaled.a_scale = Granularity::PerRow;
    scaled.b_scale = Granularity::PerColumn;
    expect(scaled);
  }
}

/// What the grid of the other types has, of these.
struct NarrowTypes {
  DType operands, output;
  Precision precision;
};
constexpr auto kNarrow = std::to_array<NarrowTypes>({{DType::F8E4M3, DType::BF16, Precision::Exact},
                                                     {DType::F8E4M3, DType::F32, Precision::Fast},
                                                     {DType::F8E5M2, DType::F16, Precision::Exact},
                                                     {DType::F8E5M2, DType::F32, Precision::Fast},
                                                     {DType::F32, DType::F32, Precision::Tf32},
                                                     {DType::F32, DType::BF16, Precision::Tf32}});

TEST_P(NarrowGemm, ExtentsOfZeroAndOperandsThatMayNotBeRead) {
  for (const auto& [operands, output, precision] : kNarrow) {
    GemmCase x{.m = 17, .n = 33, .k = 48, .operands = operands, .output = output};
    x.precision = precision;
    for (std::int64_t GemmCase::*const extent : {&GemmCase::m, &GemmCase::n, &GemmCase::k}) {
      GemmCase empty = x;
      empty.*extent = 0;
      expect(empty);
      empty.batch = 3;
      empty.beta = 1;
      expect(empty);
    }
    x.batch = 0;
    expect(x);
    x.batch.reset();
    x.alpha = 0;
    expect(x);
    x.beta = 0.5F;
    x.bias = DType::BF16;
    x.activation = Activation::Silu;
    expect(x);
  }
}

TEST_P(NarrowGemm, EveryKindOfContents) {
  for (const auto& [operands, output, precision] : kNarrow) {
    for (const Contents contents :
         {Contents::Wide, Contents::Cancelling, Contents::Special, Contents::Lowest}) {
      for (const std::int64_t m : {5, 70}) {
        GemmCase x{.m = m, .n = 56, .k = m == 5 ? 2064 : 130, .operands = operands};
        x.output = output;
        x.precision = precision;
        x.contents = contents;
        x.b.column_major = m == 70;
        expect(x);
      }
    }
  }
}

TEST_P(NarrowGemm, EveryTermOfTheEpilogue) {
  std::size_t i = 0;
  for (const Activation activation :
       {Activation::None, Activation::Relu, Activation::GeluTanh, Activation::Silu}) {
    for (const ResidualCase residual :
         {ResidualCase::None, ResidualCase::Separate, ResidualCase::SameAsC}) {
      for (const float beta : {0.0F, 1.0F, -0.5F}) {
        for (const auto& [operands, output, precision] : kNarrow) {
          GemmCase x{.index = i, .m = 37, .n = 48, .k = 144, .operands = operands};
          x.output = output;
          x.precision = precision;
          x.c.column_major = i % 4 == 1;
          x.alpha = 0.75F;
          x.beta = beta;
          x.beta_on_device = i % 5 == 2;
          if (i % 4 != 0) x.bias = i % 2 == 0 ? DType::F32 : DType::F16;
          x.bias_offset = static_cast<std::int64_t>(i % 3);
          x.activation = activation;
          x.residual = residual;
          x.residual_type = residual == ResidualCase::SameAsC ? output : DType::BF16;
          x.residual_layout = {.column_major = i % 3 == 0, .pad = 1};
          expect(x);
          ++i;
        }
      }
    }
  }
}

/// Cases of a fixed seed, of the types that the general fuzzer does not draw.
TEST_P(NarrowGemm, Fuzz) {
  const std::uint64_t cases = runtime_.backend() == Backend::Metal ? 40 : 120;  // of 0.4 s
  for (std::uint64_t i = 0; i < cases; ++i) {
    GemmCase x = verify::make_gemm_case(20261130, i, kEighths[i % 2], kOutputs[i % 3]);
    const CaseReport report = verify::run_case(runtime_, x, mode());
    EXPECT_FALSE(report.failed()) << x.to_string() << "\n  on " << report.kernel << ": "
                                  << report.detail;
    x.operands = DType::F32;
    x.precision = Precision::Tf32;
    if (x.a_scale == Granularity::PerRowBlock) x.a_scale = Granularity::PerRow;
    if (x.b_scale > Granularity::PerColumn) x.b_scale = Granularity::PerColumn;
    const CaseReport tf32 = verify::run_case(runtime_, x, mode());
    EXPECT_FALSE(tf32.failed()) << x.to_string() << "\n  on " << tf32.kernel << ": " << tf32.detail;
  }
}

INSTANTIATE_TEST_SUITE_P(Lanes, NarrowGemm, ::testing::ValuesIn(lanes_of_rows_off_metal()),
                         lane_name);

class NarrowValues : public BackendTest {
 protected:
  /// A [1, k] times B [k, 8], which is 1 everywhere, or the refusal of a backend without the unit.
  std::optional<float> sum(const std::vector<float>& values, DType dtype, Precision precision) {
    const auto k = std::ssize(values);
    std::vector<std::byte> bytes(static_cast<std::size_t>(k * bit_width(dtype) / 8)),
        ones(8 * bytes.size());
    for (std::int64_t i = 0; i < k; ++i) {
      store_element(bytes.data(), dtype, i,
                    static_cast<double>(values[static_cast<std::size_t>(i)]));
    }
    for (std::int64_t i = 0; i < 8 * k; ++i) store_element(ones.data(), dtype, i, 1);
    const Tensor a = must(runtime_.tensor({1, k}, dtype)), b = must(runtime_.tensor({8, k}, dtype));
    must(runtime_.upload(a, bytes.data(), bytes.size()));
    must(runtime_.upload(b, ones.data(), ones.size()));
    const Tensor c = must(runtime_.tensor({1, 8}, DType::F32));
    const Status status =
        gemm(runtime_, {.a = a, .b = b.transposed(), .c = c, .precision = precision});
    if (!status) {
      EXPECT_EQ(status.error().code, Code::GemmNoKernel);
      EXPECT_NE(runtime_.backend(), Backend::Cuda);
      return std::nullopt;
    }
    return floats_of(runtime_, c).front();
  }
};

TEST_P(NarrowValues, EveryEighthIsReadExactly) {
  for (const DType dtype : kEighths) {
    for (int pattern = 0; pattern < 256; ++pattern) {
      const auto byte = static_cast<std::byte>(pattern);
      const double want = load_element(&byte, dtype, 0);
      for (const Precision precision : kWays) {
        const std::optional<float> got = sum({static_cast<float>(want)}, dtype, precision);
        if (!got) return;
        if (std::isnan(want)) {
          EXPECT_TRUE(std::isnan(*got)) << name(dtype) << " " << pattern;
        } else {
          EXPECT_EQ(static_cast<double>(*got), want) << name(dtype) << " " << pattern;
        }
      }
    }
  }
}

/// Where a factor of `granularity` is: of row, column or block 1, in the second 128 of K.
struct SpoiltPlace {
  std::int64_t at;  ///< element of the scale tensor
  Shape shape;      ///< of the scale tensor
  std::int64_t first_row, last_row, first_column, last_column;
};
constexpr std::int64_t kRows = 20, kColumns = 150, kDepth = 300;

SpoiltPlace spoilt_place(Granularity granularity) {
  switch (granularity) {
    case Granularity::PerTensor:
      return {0, {1}, 0, kRows, 0, kColumns};
    case Granularity::PerRow:
      return {1, {kRows}, 1, 2, 0, kColumns};
    case Granularity::PerColumn:
      return {1, {kColumns}, 0, kRows, 1, 2};
    case Granularity::PerRowBlock:
      return {1 * 3 + 1, {kRows, 3}, 1, 2, 0, kColumns};
    case Granularity::PerColumnBlock:
      return {kColumns + 1, {3, kColumns}, 0, kRows, 1, 2};
    case Granularity::PerBlock:
      return {2 + 1, {3, 2}, 0, kRows, 128, kColumns};
  }
  return {};
}

TEST_P(NarrowValues, AFactorThatIsNotFiniteSpoilsWhatItIsForAlone) {
  constexpr auto kTypes =
      std::to_array<DType>({DType::F32, DType::BF16, DType::I8, DType::F8E4M3, DType::F8E5M2});
  int spoilt = 0;
  for (const DType dtype : kTypes) {
    const Tensor a = random_tensor(runtime_, {kRows, kDepth}, dtype, 1),
                 b = random_tensor(runtime_, {kColumns, kDepth}, dtype, 2);
    for (int each = 0; each <= static_cast<int>(Granularity::PerBlock); ++each) {
      const auto granularity = static_cast<Granularity>(each);
      const SpoiltPlace place = spoilt_place(granularity);
      const bool is_blocked = granularity >= Granularity::PerRowBlock;
      const bool is_eighth = bit_width(dtype) == 8 && dtype != DType::I8;
      if (is_blocked && !is_eighth) continue;
      const bool of_a =
          granularity == Granularity::PerRow || granularity == Granularity::PerRowBlock;
      const auto run = [&](float factor) -> std::optional<std::vector<float>> {
        std::vector<float> factors(
            static_cast<std::size_t>(place.shape.rank() == 2 ? place.shape[0] * place.shape[1]
                                                             : place.shape[0]),
            0.5F);
        factors[static_cast<std::size_t>(place.at)] = factor;
        const Scale scale{tensor_of(runtime_, place.shape, DType::F32, factors), granularity};
        const Tensor c = must(runtime_.tensor({kRows, kColumns}, DType::F32));
        GemmDesc desc{.a = a, .b = b.transposed(), .c = c};
        (of_a ? desc.a_scale : desc.b_scale) = scale;
        const Status status = gemm(runtime_, desc);
        if (status) return floats_of(runtime_, c);
        EXPECT_EQ(status.error().code, Code::GemmNoKernel) << status.error().message;
        EXPECT_TRUE(is_eighth);
        return std::nullopt;
      };
      const auto clean = run(0.5F);
      if (!clean) continue;
      for (const float factor :
           {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
            -std::numeric_limits<float>::infinity()}) {
        const std::vector<float> got = *run(factor);
        ++spoilt;
        for (std::int64_t i = 0; i < kRows * kColumns; ++i) {
          const std::int64_t row = i / kColumns, column = i % kColumns;
          const bool is_its = row >= place.first_row && row < place.last_row &&
                              column >= place.first_column && column < place.last_column;
          const float x = got[static_cast<std::size_t>(i)];
          if (is_its) {
            ASSERT_FALSE(std::isfinite(x)) << name(dtype) << " " << each << " at " << i;
          } else {
            ASSERT_EQ(x, (*clean)[static_cast<std::size_t>(i)])
                << name(dtype) << " " << each << " at " << i;
          }
        }
      }
    }
  }
  EXPECT_GE(spoilt, 27);  // without 8-bit floats
}

TEST_P(NarrowValues, PromotedSumsKeepWhatTheUnitWouldDrop) {
  // 2^15 in the first 128 of K, then 31 times 128 of 2^-6: 62 in all, each 2^-21 of what is there.
  for (const DType dtype : kEighths) {
    std::vector<float> values(4096, 0x1p-6F);
    for (std::size_t i = 0; i < 128; ++i) values[i] = 256;
    const std::optional<float> got = sum(values, dtype, Precision::Exact);
    if (!got) return;
    EXPECT_EQ(*got, 32768.0F + 62.0F) << name(dtype);
    const std::optional<float> fast = sum(values, dtype, Precision::Fast);
    ASSERT_TRUE(fast);
    EXPECT_NEAR(*fast, 32830.0F, 70.0F) << name(dtype);
  }
}

TEST_P(NarrowValues, Tf32OperandsAreRoundedToNearest) {
  std::vector<float> values;
  for (const float scale : {1.0F, 0x1p-20F, 0x1p90F}) {
    for (std::uint32_t low = 0; low < 0x4000; low += 0x3FF) {
      for (const std::uint32_t fraction : {0U, 0x155U, 0x3FFU}) {
        values.push_back(scale * std::bit_cast<float>(0x3F800000U | fraction << 13 | low));
      }
    }
  }
  for (const float value : values) {
    const std::optional<float> got = sum({value}, DType::F32, Precision::Tf32);
    if (!got) return;
    const double unit = std::ldexp(1.0, std::ilogb(value) - 10);
    EXPECT_LE(std::fabs(static_cast<double>(*got) - static_cast<double>(value)), unit / 2)
        << std::hexfloat << value << " became " << *got;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(*got) & 0x1FFFU, 0U) << std::hexfloat << *got;
  }
}

GIRIH_FOR_ALL_BACKENDS(NarrowValues);

}  // namespace
}  // namespace girih::testing
