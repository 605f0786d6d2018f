#include <gtest/gtest.h>
#include <string>

#include "support/expect.hpp"
#include "verify/bound_permute.hpp"
#include "verify/bound_route.hpp"

// `run_case` must catch each of these wrong implementations of routing.

namespace girih {
namespace {

using testing::must;
using verify::CaseReport;
using verify::Mode;
using verify::PermuteCase;
using verify::PermuteLaunchers;
using verify::RouteCase;
using verify::RouteLauncher;
using verify::run_case;

template <class T>
std::vector<T> read(Runtime& runtime, const Tensor& tensor) {
  std::vector<T> values(static_cast<std::size_t>(tensor.size()));
  must(runtime.download(tensor, std::span(values)));
  return values;
}
template <class T>
void write(Runtime& runtime, const Tensor& tensor, const std::vector<T>& values) {
  must(runtime.upload(tensor, std::span<const T>(values)));
}
/// Swaps two elements of an output.
template <class T>
void swap_elements(Runtime& runtime, const Tensor& tensor, std::size_t i, std::size_t j) {
  std::vector<T> values = read<T>(runtime, tensor);
  std::swap(values[i], values[j]);
  write(runtime, tensor, values);
}
/// An output of the shape of `like` that nobody looks at.
Tensor another(Runtime& runtime, const Output& like) {
  return must(runtime.tensor(like.tensor().shape(), like.tensor().dtype()));
}

struct RouteFault {
  const char* name;
  const char* finding;  ///< part of what the report must say
  RouteLauncher launch;
};

const RouteFault kRouteFaults[] = {
    {"SlotsInAnotherOrder", "chosen: worst at",
     [](Runtime& runtime, const RouteDesc& desc) {
       Status status = route(runtime, desc);
       swap_elements<std::int32_t>(runtime, desc.chosen.tensor(), 0, 1);
       return status;
     }},
    {"WeightsOfAnotherKind", "weights: worst at",
     [](Runtime& runtime, RouteDesc desc) {
       desc.kind = RouterWeights::SoftmaxOfAll;
       return route(runtime, desc);
     }},
    {"WithoutTheScale", "weights: worst at",
     [](Runtime& runtime, RouteDesc desc) {
       desc.scale = 1;
       return route(runtime, desc);
     }},
    {"TokensOfAnExpertInAnotherOrder", "worst at",
     [](Runtime& runtime, const RouteDesc& desc) {
       Status status = route(runtime, desc);
       const auto offsets = read<std::int32_t>(runtime, desc.offsets.tensor());
       const auto first = static_cast<std::size_t>(offsets[0]);
       swap_elements<std::int32_t>(runtime, desc.sources.tensor(), first, first + 1);
       return status;
     }},
    {"RowsOfEachOther", "rows: worst at",
     [](Runtime& runtime, const RouteDesc& desc) {
       Status status = route(runtime, desc);
       swap_elements<std::int32_t>(runtime, desc.rows.tensor(), 2, 3);
       return status;
     }},
    {"AnOffsetMore", "offsets: worst at",
     [](Runtime& runtime, const RouteDesc& desc) {
       Status status = route(runtime, desc);
       auto offsets = read<std::int32_t>(runtime, desc.offsets.tensor());
       ++offsets[2];
       write(runtime, desc.offsets.tensor(), offsets);
       return status;
     }},
    {"SourcesNotWritten", "sources",
     [](Runtime& runtime, RouteDesc desc) {
       desc.sources = another(runtime, desc.sources);
       return route(runtime, desc);
     }},
    {"LogitsWrittenTo", "logits: element",
     [](Runtime& runtime, const RouteDesc& desc) {
       Status status = route(runtime, desc);
       swap_elements<float>(runtime, desc.logits.tensor(), 0, 1);
       return status;
     }},
};

const RouteCase kRouteCase{.tokens = 12, .experts = 5, .k = 2, .scale = 1.5F};

class RouteFaultTest : public ::testing::TestWithParam<RouteFault> {};

TEST_P(RouteFaultTest, IsCaught) {
  Runtime runtime = must(Runtime::open({.backend = Backend::Cpu}));
  const CaseReport right = run_case(runtime, kRouteCase, Mode::Eager);
  EXPECT_EQ(right.outcome, CaseReport::Outcome::Passed) << right.detail;
  const CaseReport report = run_case(runtime, kRouteCase, Mode::Eager, GetParam().launch);
  EXPECT_TRUE(report.failed());
  EXPECT_NE(report.detail.find(GetParam().finding), std::string::npos) << report.detail;
}

INSTANTIATE_TEST_SUITE_P(Faults, RouteFaultTest, ::testing::ValuesIn(kRouteFaults),
                         [](const auto& test) { return std::string(test.param.name); });

struct PermuteFault {
  const char* name;
  Op op;
  const char* finding;
  PermuteLaunchers launchers;
};

PermuteLaunchers permuting(std::function<Status(Runtime&, PermuteDesc)> launch) {
  return {.permute = std::move(launch)};
}
PermuteLaunchers unpermuting(std::function<Status(Runtime&, UnpermuteDesc)> launch) {
  return {.unpermute = std::move(launch)};
}

const PermuteFault kPermuteFaults[] = {
    {"ARowOfAnother", Op::Permute, "worst at", permuting([](Runtime& runtime, PermuteDesc desc) {
       auto sources = read<std::int32_t>(runtime, desc.sources.tensor());
       sources[3] = (sources[3] + 1) % 6;
       const Tensor other = must(runtime.tensor({sources.size()}, DType::I32));
       write(runtime, other, sources);
       desc.sources = other;
       return permute(runtime, desc);
     })},
    {"ARowLess", Op::Permute, "worst at", permuting([](Runtime& runtime, PermuteDesc desc) {
       const std::int64_t rows = desc.y.tensor().extent(0) - 1;
       desc.y = must(desc.y.tensor().slice(0, 0, rows));
       desc.sources = must(desc.sources.tensor().slice(0, 0, rows));
       return permute(runtime, desc);
     })},
    {"AColumnLess", Op::Unpermute, "worst at",
     unpermuting([](Runtime& runtime, UnpermuteDesc desc) {
       const std::int64_t columns = desc.y.tensor().extent(1) - 1;
       desc.y = must(desc.y.tensor().slice(1, 0, columns));
       desc.x = must(desc.x.tensor().slice(1, 0, columns));
       return unpermute(runtime, desc);
     })},
    {"ASlotLess", Op::Unpermute, "worst at", unpermuting([](Runtime& runtime, UnpermuteDesc desc) {
       const std::int64_t slots = desc.rows.tensor().extent(1) - 1;
       desc.rows = must(desc.rows.tensor().slice(1, 0, slots));
       desc.weights = must(desc.weights->slice(1, 0, slots));
       return unpermute(runtime, desc);
     })},
    {"WithoutWeights", Op::Unpermute, "worst at",
     unpermuting([](Runtime& runtime, UnpermuteDesc desc) {
       desc.weights.reset();
       return unpermute(runtime, desc);
     })},
    {"IndicesWrittenTo", Op::Unpermute, "indices: element",
     unpermuting([](Runtime& runtime, const UnpermuteDesc& desc) {
       Status status = unpermute(runtime, desc);
       auto rows = read<std::int32_t>(runtime, desc.rows.tensor());
       rows[0] = (rows[0] + 1) % 6;
       write(runtime, desc.rows.tensor(), rows);
       return status;
     })},
};

PermuteCase case_of(Op op) {
  return {.op = op, .x_rows = 6, .y_rows = 9, .k = 3, .columns = 5};
}

class PermuteFaultTest : public ::testing::TestWithParam<PermuteFault> {};

TEST_P(PermuteFaultTest, IsCaught) {
  Runtime runtime = must(Runtime::open({.backend = Backend::Cpu}));
  const PermuteCase x = case_of(GetParam().op);
  const CaseReport right = run_case(runtime, x, Mode::Eager);
  EXPECT_EQ(right.outcome, CaseReport::Outcome::Passed) << right.detail;
  const CaseReport report = run_case(runtime, x, Mode::Eager, GetParam().launchers);
  EXPECT_TRUE(report.failed());
  EXPECT_NE(report.detail.find(GetParam().finding), std::string::npos) << report.detail;
}

INSTANTIATE_TEST_SUITE_P(Faults, PermuteFaultTest, ::testing::ValuesIn(kPermuteFaults),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(RoutingFaultInReplayTest, IndicesReadAtCaptureAreCaught) {
  Runtime runtime = must(Runtime::open({.backend = Backend::Cpu}));
  std::optional<Tensor> frozen;
  const PermuteLaunchers stale = permuting([&](Runtime& on, PermuteDesc desc) {
    if (!frozen) {
      const auto sources = read<std::int32_t>(runtime, desc.sources.tensor());
      frozen = must(runtime.tensor({sources.size()}, DType::I32));
      write(runtime, *frozen, sources);
    }
    desc.sources = *frozen;
    return permute(on, desc);
  });
  EXPECT_FALSE(run_case(runtime, case_of(Op::Permute), Mode::Eager, stale).failed());
  EXPECT_TRUE(run_case(runtime, case_of(Op::Permute), Mode::Replayed, stale).failed());
}

}  // namespace
}  // namespace girih
