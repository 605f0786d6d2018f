#include <algorithm>
#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <tuple>

#include "support/allocations.hpp"
#include "support/backends.hpp"
#include "support/gemm.hpp"
#include "verify/bound_grouped.hpp"

// What grouped products promise beside their values: offsets that break their rule, bits, memory,
// refusals.

namespace girih::testing {
namespace {

using Bytes = std::vector<std::byte>;
using Offsets = std::vector<std::int32_t>;

/// Runtimes of a backend that has kernels for it; elsewhere the call is refused.
class GroupedCalls : public BackendTest {
 protected:
  void SetUp() override {
    if (GetParam() != Backend::Metal) return;
    EXPECT_TRUE(refused(grouped_gemm(runtime_, by_rows(4, 3, 5, {0, 2, 4})), Code::GemmNoKernel,
                        "grouped_gemm"));
    GTEST_SKIP() << name(GetParam()) << " has no kernels for it";
  }

  /// The status of a call or a replay once it has run: where it was queued, of the wait for it.
  Status outcome(Status status) {
    if (!status || GetParam() == Backend::Cpu) return status;
    return runtime_.synchronize();
  }

  Tensor offsets_of(const Offsets& values) {
    return tensor_of(runtime_, {static_cast<std::int64_t>(values.size())}, DType::I32, values);
  }
  GroupedGemmDesc by_rows(std::int64_t rows, std::int64_t n, std::int64_t k, const Offsets& offsets,
                          DType type = DType::F32) {
    const auto groups = static_cast<std::int64_t>(offsets.size()) - 1;
    return {.a = random_tensor(runtime_, {rows, k}, type, 1),
            .b = random_tensor(runtime_, {groups, k, n}, type, 2),
            .c = random_tensor(runtime_, {rows, n}, DType::F32, 3),
            .offsets = offsets_of(offsets)};
  }
  GroupedGemmDesc by_depth(std::int64_t m, std::int64_t n, std::int64_t rows,
                           const Offsets& offsets, DType type = DType::F32) {
    const auto groups = static_cast<std::int64_t>(offsets.size()) - 1;
    return {.a = random_tensor(runtime_, {m, rows}, type, 1),
            .b = random_tensor(runtime_, {rows, n}, type, 2),
            .c = random_tensor(runtime_, {groups, m, n}, DType::F32, 3),
            .offsets = offsets_of(offsets)};
  }
  Bytes c_of(const GroupedGemmDesc& desc) { return bytes_of(runtime_, desc.c.tensor()); }
};

TEST_P(GroupedCalls, OffsetsThatBreakTheirRuleWriteNothing) {
  const Offsets bad[] = {{-1, 2, 4},
                         {0, 3, 2},
                         {0, 2, 11},
                         {12, 12, 12},
                         {0, -5, 3},
                         {0, 2, 2147483647},
                         {-2147483647 - 1, 0, 1}};
  for (const Offsets& offsets : bad) {
    for (const GroupedGemmDesc& desc :
         {by_rows(10, 6, 5, offsets), by_depth(4, 6, 10, offsets),
          by_rows(10, 64, 64, offsets, DType::BF16), by_depth(64, 64, 10, offsets, DType::BF16)}) {
      const Bytes before = c_of(desc);
      const std::uint64_t count = runtime_.dispatch_count();
      EXPECT_TRUE(refused(outcome(grouped_gemm(runtime_, desc)), Code::GroupedOffsets, "offset "));
      if (GetParam() == Backend::Cpu) {
        EXPECT_EQ(runtime_.dispatch_count(), count);
      }
      EXPECT_EQ(c_of(desc), before);
      EXPECT_TRUE(succeeded(runtime_.health()));
      EXPECT_TRUE(succeeded(runtime_.synchronize()));  // reported once
    }
  }
}

TEST_P(GroupedCalls, AReplayReadsTheOffsetsOfNow) {
  for (const GroupedGemmDesc& desc :
       {by_rows(10, 6, 5, {0, 2, 9}), by_rows(10, 64, 64, {0, 2, 9}, DType::BF16),
        by_depth(64, 64, 10, {0, 2, 9}, DType::BF16)}) {
    Graph graph = must(capture(runtime_, [&] { return grouped_gemm(runtime_, desc); }));
    must(runtime_.upload(desc.offsets.tensor(), std::span<const std::int32_t>(Offsets{0, 8, 7})));
    const Bytes before = c_of(desc);
    EXPECT_TRUE(refused(outcome(graph.replay()), Code::GroupedOffsets, "offset 2 is 7"));
    EXPECT_EQ(c_of(desc), before);
    for (const Offsets& offsets : {Offsets{0, 8, 10}, Offsets{3, 3, 4}}) {
      must(runtime_.upload(desc.offsets.tensor(), std::span<const std::int32_t>(offsets)));
      must(runtime_.upload(desc.c.tensor(), before.data(), before.size()));
      EXPECT_TRUE(succeeded(graph.replay()));
      const Bytes replayed = c_of(desc);
      must(runtime_.upload(desc.c.tensor(), before.data(), before.size()));
      must(grouped_gemm(runtime_, desc));
      EXPECT_EQ(replayed, c_of(desc));
      EXPECT_NE(replayed, before);
    }
  }
}

// The addresses of groups come from `slice` here, not from the operation.
TEST_P(GroupedCalls, HaveTheBitsOfEachGroupAlone) {
  if (GetParam() != Backend::Cpu) GTEST_SKIP() << "promised of the cpu";
  const Offsets offsets = {0, 1, 1, 40, 180, 181, 190, 200};
  for (const DType type : {DType::F32, DType::BF16, DType::I8}) {
    const GroupedGemmDesc rows = by_rows(200, 35, 70, offsets, type);
    const GroupedGemmDesc depth = by_depth(30, 35, 200, offsets, type);
    must(grouped_gemm(runtime_, rows));
    must(grouped_gemm(runtime_, depth));
    for (std::int64_t g = 0; g + 1 < std::ssize(offsets); ++g) {
      const std::int64_t begin = offsets[std::size_t(g)], end = offsets[std::size_t(g) + 1];
      const Tensor b = must(must(rows.b.tensor().slice(0, g, g + 1)).reshape({70, 35}));
      if (end > begin) {
        EXPECT_EQ(bytes_of(runtime_, must(rows.c.tensor().slice(0, begin, end))),
                  product(runtime_, must(rows.a.tensor().slice(0, begin, end)), b, DType::F32))
            << "rows of group " << g;
      }
      EXPECT_EQ(bytes_of(runtime_, must(depth.c.tensor().slice(0, g, g + 1))),
                product(runtime_, must(depth.a.tensor().slice(1, begin, end)),
                        must(depth.b.tensor().slice(0, begin, end)), DType::F32))
          << "depth of group " << g;
    }
  }
}

TEST_P(GroupedCalls, ARowsBitsDependOnNoOtherRowOrGroup) {
  constexpr std::int64_t kRows = 160;
  for (const auto& [type, n, k] :
       {std::tuple{DType::F32, 21, 83}, std::tuple{DType::BF16, 21, 83},
        std::tuple{DType::F16, 21, 83}, std::tuple{DType::I8, 21, 83},
        std::tuple{DType::BF16, 72, 136}, std::tuple{DType::F16, 72, 136}}) {
    GroupedGemmDesc desc = by_rows(kRows, n, k, {0, kRows, kRows, kRows}, type);
    desc.b = must(random_tensor(runtime_, {k, n}, type, 5).repeated(3));
    desc.reproducibility = Reproducibility::RowInvariant;
    must(grouped_gemm(runtime_, desc));
    const Bytes together = c_of(desc);
    const auto set = [&](const Offsets& offsets) {
      must(runtime_.upload(desc.offsets.tensor(), std::span<const std::int32_t>(offsets)));
    };
    for (std::int32_t cut = 0; cut <= kRows; cut += 7) {
      must(fill(runtime_, {.destination = desc.c, .value = 0}));
      set({0, cut, std::min<std::int32_t>(cut + 1, kRows), kRows});
      must(grouped_gemm(runtime_, desc));
      ASSERT_EQ(c_of(desc), together) << "cut at " << cut;
    }
  }
}

// The sum of no products is 0, whatever it is multiplied by.
TEST_P(GroupedCalls, AnEmptyDepthIsTheEpilogueOfZero) {
  const Tensor infinity =
      tensor_of(runtime_, {1}, DType::F32, std::vector{std::numeric_limits<float>::infinity()});
  for (const DType out : {DType::F32, DType::BF16}) {
    for (const bool scales : {false, true}) {
      GroupedGemmDesc desc = by_depth(128, 256, 64, {0, 64, 64}, DType::BF16);
      desc.c = must(runtime_.tensor({2, 128, 256}, out));
      must(fill(runtime_, {.destination = desc.c, .value = 1}));
      if (scales) {
        desc.a_scale = Scale{must(must(infinity.reshape({})).repeated(128)), Granularity::PerRow};
        desc.b_scale =
            Scale{must(must(infinity.reshape({})).repeated(256)), Granularity::PerColumn};
      } else {
        desc.alpha = must(infinity.reshape({}));
      }
      must(grouped_gemm(runtime_, desc));
      const Bytes empty = bytes_of(runtime_, must(desc.c.tensor().slice(0, 1, 2)));
      EXPECT_EQ(empty, Bytes(empty.size())) << name(out) << (scales ? ", scales" : ", alpha");
    }
  }
}

TEST_P(GroupedCalls, DoNotDependOnTheNumberOfThreads) {
  if (GetParam() != Backend::Cpu) GTEST_SKIP() << "of the cpu";
  Offsets offsets(41);
  for (std::size_t g = 0; g < offsets.size(); ++g) {
    offsets[g] = static_cast<std::int32_t>(g < 20 ? 7 * g : 140 + 22 * (g - 20));
  }
  offsets.back() = 900;
  Bytes first;
  for (const int threads : {1, 2, 3, 8}) {
    Runtime runtime = open(GetParam(), {.threads = threads});
    const Tensor c = must(runtime.tensor({900, 130}, DType::F32));
    must(grouped_gemm(runtime, {.a = random_tensor(runtime, {900, 600}, DType::BF16, 1),
                                .b = random_tensor(runtime, {40, 600, 130}, DType::BF16, 2),
                                .c = c,
                                .offsets = tensor_of(runtime, {41}, DType::I32, offsets)}));
    const Bytes bytes = bytes_of(runtime, c);
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first) << threads << " threads";
  }
}

TEST_P(GroupedCalls, AllocateNothingInSteadyState) {
  const GroupedGemmDesc desc = by_rows(300, 64, 300, {0, 5, 10, 30, 200, 290});
  const std::vector<OpDesc> calls = {desc};
  must(prepare(runtime_, calls));
  must(grouped_gemm(runtime_, desc));
  const std::uint64_t before = runtime_.memory().system_allocations;
  const std::uint64_t heap = heap_allocations();
  for (int i = 0; i < 10; ++i) must(grouped_gemm(runtime_, desc));
  EXPECT_EQ(runtime_.memory().system_allocations, before);
  if (GetParam() == Backend::Cpu) {
    EXPECT_EQ(heap_allocations(), heap);  // a driver has its own
  }
}

TEST_P(GroupedCalls, WorkInTheCallersWorkspace) {
  GroupedGemmDesc desc = by_rows(300, 64, 300, {0, 5, 10, 30, 200, 290});
  const std::uint64_t bytes = must(plan(runtime_, desc)).workspace_bytes;
  ASSERT_GT(bytes, 0U);
  must(grouped_gemm(runtime_, desc));
  const Bytes own = c_of(desc);
  desc.workspace = must(runtime_.tensor({bytes}, DType::U8));
  must(fill(runtime_, {.destination = desc.c, .value = 0}));
  Bytes outside = c_of(desc);
  must(grouped_gemm(runtime_, desc));
  Bytes given = c_of(desc);
  // The rows of no group, which the fill set to 0.
  EXPECT_TRUE(std::equal(given.begin(), given.begin() + 290 * 64 * 4, own.begin()));
  EXPECT_TRUE(
      std::equal(given.begin() + 290 * 64 * 4, given.end(), outside.begin() + 290 * 64 * 4));
  desc.workspace = must(runtime_.tensor({bytes - 1}, DType::U8));
  EXPECT_TRUE(refused(grouped_gemm(runtime_, desc), Code::WorkspaceTooSmall, "workspace"));
}

TEST_P(GroupedCalls, RefuseWhatBreaksARule) {
  const GroupedGemmDesc good = by_rows(10, 6, 5, {0, 4, 10});
  const auto expect = [&](const std::function<void(GroupedGemmDesc&)>& change, Code code,
                          const char* word) {
    GroupedGemmDesc desc = good;
    change(desc);
    const std::uint64_t before = runtime_.dispatch_count();
    EXPECT_TRUE(refused(grouped_gemm(runtime_, desc), code, word));
    EXPECT_TRUE(refused(plan(runtime_, desc), code, word));
    EXPECT_EQ(runtime_.dispatch_count(), before);
  };
  const auto tensor = [&](const Shape& shape, DType type = DType::F32) {
    return must(runtime_.tensor(shape, type));
  };
  Runtime other = open(GetParam());
  expect([&](auto& x) { x.offsets = Tensor(); }, Code::InvalidTensor, "offsets");
  expect([&](auto& x) { x.offsets = must(other.tensor({3}, DType::I32)); }, Code::ForeignTensor,
         "offsets");
  expect([&](auto& x) { x.offsets = tensor({3}, DType::F32); }, Code::GemmTypeMismatch, "offsets");
  expect([&](auto& x) { x.offsets = tensor({4}, DType::I32); }, Code::GemmShapeMismatch, "offsets");
  expect([&](auto& x) { x.b = tensor({5, 6}); }, Code::GemmShapeMismatch, "ranks 2, 2 and 2");
  expect([&](auto& x) { x.c = tensor({2, 10, 6}); }, Code::GemmShapeMismatch, "ranks 2, 3 and 3");
  expect([&](auto& x) { x.b = tensor({2, 4, 6}); }, Code::GemmShapeMismatch, "K must agree");
  expect([&](auto& x) { x.c = tensor({9, 6}); }, Code::GemmShapeMismatch, "C is 9 by 6");
  expect([&](auto& x) { x.epilogue.bias = tensor({3, 6}); }, Code::GemmShapeMismatch, "bias");
  expect(
      [&](auto& x) {
        x.b_scale = Scale{tensor({3}), Granularity::PerTensor};
      },
      Code::GemmShapeMismatch, "b_scale");
  expect(
      [&](auto& x) {
        x.b_scale = Scale{tensor({3, 6}), Granularity::PerColumn};
      },
      Code::GemmShapeMismatch, "b_scale");
  expect(
      [&](auto& x) {
        x.a_scale = Scale{tensor({2, 10}), Granularity::PerRow};
      },
      Code::GemmShapeMismatch, "a_scale");
  expect([&](auto& x) { x.precision = Precision::Tf32; }, Code::GemmNoKernel, "tf32");
  expect([&](auto& x) { x.a = must(x.c.tensor().slice(1, 0, 5)); }, Code::GemmAliasing, "A");
  if (GetParam() != Backend::Cpu) return;  // what follows wraps memory of the host
  alignas(64) static std::array<float, 80> memory;
  const auto wrapped = [&](std::uint64_t offset, const Shape& shape, DType type) {
    return must(runtime_.wrap(
        {.handle = memory.data(), .bytes = sizeof memory, .byte_offset = offset}, shape, type));
  };
  const auto overlapping = [&](auto& x) { x.offsets = wrapped(236, {3}, DType::I32); };
  expect(
      [&](auto& x) {
        x.c = wrapped(0, {10, 6}, DType::F32);
        overlapping(x);
      },
      Code::GemmAliasing, "offsets");
  expect(
      [&](auto& x) {
        x.workspace = wrapped(0, {60}, DType::F32);
        overlapping(x);
      },
      Code::GemmAliasing, "offsets");
}

GIRIH_FOR_ALL_BACKENDS(GroupedCalls);

}  // namespace
}  // namespace girih::testing
