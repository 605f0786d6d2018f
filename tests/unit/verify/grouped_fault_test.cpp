#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "support/expect.hpp"
#include "verify/bound_grouped.hpp"

// `run_case` must catch each of these wrong implementations of grouped products.

namespace girih {
namespace {

using testing::must;
using verify::CaseReport;
using verify::GemmCase;
using verify::grouped;
using verify::GroupedCase;
using verify::GroupedLauncher;
using verify::Lengths;
using verify::Mode;
using verify::run_case;

using Offsets = std::vector<std::int32_t>;

Offsets read(Runtime& runtime, const Tensor& offsets) {
  Offsets values(static_cast<std::size_t>(offsets.size()));
  must(runtime.download(offsets, std::span(values)));
  return values;
}
/// Runs with other offsets than the descriptor's.
Status with_offsets(Runtime& runtime, GroupedGemmDesc desc, const Offsets& values) {
  const Tensor other = must(runtime.tensor({values.size()}, DType::I32));
  must(runtime.upload(other, std::span<const std::int32_t>(values)));
  desc.offsets = other;
  return grouped_gemm(runtime, desc);
}
/// The groups' extent, the first, turned by one place: each group gets its neighbour's part.
Tensor turned(Runtime& runtime, const Tensor& all) {
  const std::int64_t groups = all.extent(0);
  const Tensor result = must(runtime.tensor(all.shape(), all.dtype()));
  for (std::int64_t g = 0; g < groups; ++g) {
    std::vector<std::byte> part(
        static_cast<std::size_t>(all.size() / groups * bit_width(all.dtype()) / 8));
    must(runtime.download(must(all.slice(0, g, g + 1)), part.data(), part.size()));
    const std::int64_t to = (g + 1) % groups;
    must(runtime.upload(must(result.slice(0, to, to + 1)), part.data(), part.size()));
  }
  return result;
}
void poke(Runtime& runtime, const Tensor& matrix, std::int64_t element, float value) {
  must(
      runtime.upload(must(matrix.view({1}, {1}, matrix.offset() + element)), &value, sizeof value));
}

struct Fault {
  const char* name;
  GroupedExtent extent;
  const char* finding;  ///< part of what the report must say
  std::function<Status(Runtime&, GroupedGemmDesc)> launch;
};

const Fault kFaults[] = {
    {"ARowMoreAtAGroupsEnd", GroupedExtent::Rows, "worst at",
     [](Runtime& runtime, const GroupedGemmDesc& desc) {
       Offsets offsets = read(runtime, desc.offsets.tensor());
       ++offsets[1];
       return with_offsets(runtime, desc, offsets);
     }},
    {"ARowLessAtTheEnd", GroupedExtent::Rows, "worst at",
     [](Runtime& runtime, const GroupedGemmDesc& desc) {
       Offsets offsets = read(runtime, desc.offsets.tensor());
       --offsets.back();
       return with_offsets(runtime, desc, offsets);
     }},
    {"ARowOfNoGroupWritten", GroupedExtent::Rows, "is in no group and was written",
     [](Runtime& runtime, const GroupedGemmDesc& desc) {
       Offsets offsets = read(runtime, desc.offsets.tensor());
       ++offsets.back();
       return with_offsets(runtime, desc, offsets);
     }},
    {"RowsOfNoGroupCleared", GroupedExtent::Rows, "is in no group and was written",
     [](Runtime& runtime, const GroupedGemmDesc& desc) {
       Status status = grouped_gemm(runtime, desc);
       poke(runtime, desc.c.tensor(), 0, 0);
       return status;
     }},
    {"AnothersB", GroupedExtent::Rows, "worst at",
     [](Runtime& runtime, GroupedGemmDesc desc) {
       desc.b = turned(runtime, desc.b.tensor());
       return grouped_gemm(runtime, desc);
     }},
    {"AnothersBias", GroupedExtent::Rows, "worst at",
     [](Runtime& runtime, GroupedGemmDesc desc) {
       desc.epilogue.bias = turned(runtime, *desc.epilogue.bias);
       return grouped_gemm(runtime, desc);
     }},
    {"AnothersScale", GroupedExtent::Rows, "worst at",
     [](Runtime& runtime, GroupedGemmDesc desc) {
       desc.b_scale->tensor = turned(runtime, desc.b_scale->tensor);
       return grouped_gemm(runtime, desc);
     }},
    {"OffsetsWrittenTo", GroupedExtent::Rows, "offsets: element",
     [](Runtime& runtime, const GroupedGemmDesc& desc) {
       Status status = grouped_gemm(runtime, desc);
       const Tensor& offsets = desc.offsets.tensor();
       const std::int32_t value = read(runtime, offsets).front() - 1;
       must(runtime.upload(must(offsets.slice(0, 0, 1)), &value, sizeof value));
       return status;
     }},
    {"AStepOfDepthMore", GroupedExtent::Depth, "worst at",
     [](Runtime& runtime, const GroupedGemmDesc& desc) {
       Offsets offsets = read(runtime, desc.offsets.tensor());
       ++offsets.back();
       return with_offsets(runtime, desc, offsets);
     }},
    {"AStepOfDepthInTheNextGroup", GroupedExtent::Depth, "worst at",
     [](Runtime& runtime, const GroupedGemmDesc& desc) {
       Offsets offsets = read(runtime, desc.offsets.tensor());
       --offsets[1];
       return with_offsets(runtime, desc, offsets);
     }},
    {"AnEmptyGroupNotWritten", GroupedExtent::Depth, "worst at",
     [](Runtime& runtime, const GroupedGemmDesc& desc) {
       // The case's third group is empty.
       Status status = grouped_gemm(runtime, desc);
       const Tensor& c = desc.c.tensor();
       for (std::int64_t i = 0; i < c.extent(1) * c.extent(2); ++i) {
         poke(runtime, c, 2 * c.strides()[0] + i, std::nanf(""));
       }
       return status;
     }},
};

/// Four groups with rows of none at both ends.
GroupedCase case_of(GroupedExtent extent) {
  GemmCase product{.m = 24, .n = 6, .k = 20, .batch = 4};
  product.bias = DType::F32;
  product.bias_per_batch = true;
  product.b_scale = Granularity::PerColumn;
  product.scales_per_batch = true;
  GroupedCase result = grouped(product, extent);
  const std::int64_t rows = extent == GroupedExtent::Rows ? product.m : product.k;
  // The first index whose offsets leave rows over at both ends, and a row to every group that a
  // fault is about.
  for (result.product.index = 0;; ++result.product.index) {
    const std::vector<std::int64_t> x = result.offsets(0);
    const bool has_rows = x[1] > x[0] + 1 && x[2] > x[1] + 1;
    const bool third = extent == GroupedExtent::Depth ? x[3] == x[2] : x[3] > x[2];
    if (x[0] > 0 && x[4] < rows && x[4] > x[3] + 1 && has_rows && third) return result;
  }
}

class GroupedFaultTest : public ::testing::TestWithParam<Fault> {};

TEST_P(GroupedFaultTest, IsCaught) {
  Runtime runtime = must(Runtime::open({.backend = Backend::Cpu}));
  const GroupedCase x = case_of(GetParam().extent);
  const CaseReport right = run_case(runtime, x, Mode::Eager);
  EXPECT_EQ(right.outcome, CaseReport::Outcome::Passed) << right.detail;
  const CaseReport report = run_case(runtime, x, Mode::Eager, GetParam().launch);
  EXPECT_TRUE(report.failed());
  EXPECT_NE(report.detail.find(GetParam().finding), std::string::npos) << report.detail;
}

INSTANTIATE_TEST_SUITE_P(Faults, GroupedFaultTest, ::testing::ValuesIn(kFaults),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(GroupedFaultInReplayTest, OffsetsReadAtCaptureAreCaught) {
  Runtime runtime = must(Runtime::open({.backend = Backend::Cpu}));
  for (const GroupedExtent extent : {GroupedExtent::Rows, GroupedExtent::Depth}) {
    const GroupedCase x = case_of(extent);
    ASSERT_NE(x.offsets(0), x.offsets(1));
    Offsets first;
    for (const std::int64_t offset : x.offsets(0)) {
      first.push_back(static_cast<std::int32_t>(offset));
    }
    const Tensor frozen = must(runtime.tensor({first.size()}, DType::I32));
    must(runtime.upload(frozen, std::span<const std::int32_t>(first)));
    const GroupedLauncher stale = [&](Runtime& on, GroupedGemmDesc desc) {
      desc.offsets = frozen;
      return grouped_gemm(on, desc);
    };
    EXPECT_FALSE(run_case(runtime, x, Mode::Captured, stale).failed());
    EXPECT_TRUE(run_case(runtime, x, Mode::Replayed, stale).failed());
  }
}

}  // namespace
}  // namespace girih
