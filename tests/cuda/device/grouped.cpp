#include <algorithm>

#include "cuda/device/gpu_test.hpp"

// What grouped products and routing promise on a GPU beside their values: no host in between, one
// report for many bad values, products that are too large to be held against the oracle whole.

namespace girih::testing {
namespace {

using Offsets = std::vector<std::int32_t>;

class CudaGroups : public BackendTest {
 protected:
  Tensor offsets_of(const Offsets& values) {
    return tensor_of(runtime_, {static_cast<std::int64_t>(values.size())}, DType::I32, values);
  }
  GroupedGemmDesc by_rows(std::int64_t rows, std::int64_t n, std::int64_t k,
                          const Offsets& offsets) {
    const auto groups = static_cast<std::int64_t>(offsets.size()) - 1;
    return {.a = random_tensor(runtime_, {rows, k}, DType::BF16, 1),
            .b = random_tensor(runtime_, {groups, k, n}, DType::BF16, 2),
            .c = must(runtime_.tensor({rows, n}, DType::BF16)),
            .offsets = offsets_of(offsets)};
  }
};

TEST_P(CudaGroups, NothingIsEncodedLoadedAllocatedOrWaitedForWhateverTheOffsets) {
  const GroupedGemmDesc rows = by_rows(1000, 256, 128, {0, 10, 500, 1000});
  const Tensor x = random_tensor(runtime_, {1000, 64}, DType::BF16, 3);
  const GroupedGemmDesc depth{.a = x.transposed(),
                              .b = random_tensor(runtime_, {1000, 72}, DType::BF16, 4),
                              .c = must(runtime_.tensor({3, 64, 72}, DType::F32)),
                              .offsets = rows.offsets};
  const Tensor sources = offsets_of({5, 999, 0});
  const Tensor moved = must(runtime_.tensor({3, 64}, DType::BF16));
  const auto round = [&] {
    must(grouped_gemm(runtime_, rows));
    must(grouped_gemm(runtime_, depth));
    must(permute(runtime_, {.x = x, .sources = sources, .y = moved}));
  };
  round();
  round();
  const cuda::Counters before = counters_of(runtime_);
  for (int i = 0; i < 20; ++i) round();
  const cuda::Counters after = counters_of(runtime_);
  EXPECT_EQ(after.maps_encoded, before.maps_encoded);
  EXPECT_EQ(after.functions_loaded, before.functions_loaded);
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.synchronisations, before.synchronisations);
  must(runtime_.synchronize());
}

TEST_P(CudaGroups, OneWaitTellsOfTheFirstBadValueAndTheRestRuns) {
  const GroupedGemmDesc good = by_rows(100, 64, 64, {0, 40, 100});
  GroupedGemmDesc bad = by_rows(100, 64, 64, {0, 40, 101}), worse = by_rows(100, 64, 64, {9, 8, 7});
  must(grouped_gemm(runtime_, bad));
  must(grouped_gemm(runtime_, worse));
  must(grouped_gemm(runtime_, good));
  EXPECT_TRUE(
      refused(runtime_.synchronize(), Code::GroupedOffsets, "offset 2 is 101, there are 100 rows"));
  must(runtime_.synchronize());
  const std::vector<std::byte> c = bytes_of(runtime_, good.c.tensor());
  EXPECT_TRUE(std::any_of(c.begin(), c.end(), [](std::byte x) { return x != std::byte{0}; }));
  // A download waits too.
  must(grouped_gemm(runtime_, worse));
  std::vector<std::byte> all(c.size());
  EXPECT_TRUE(refused(runtime_.download(worse.c.tensor(), all.data(), all.size()),
                      Code::GroupedOffsets, "offset 1 is 8, the one before it 9"));
  EXPECT_TRUE(succeeded(runtime_.health()));
}

// Groups of many tiles: bands, and tiles that two blocks of a cluster share.
TEST_P(CudaGroups, LongGroupsHaveTheValuesOfTheirProductsAlone) {
  const Offsets offsets = {3, 2600, 2600, 2601, 7800, 8000};
  const GroupedGemmDesc all = by_rows(8192, 1032, 2048, offsets);
  must(grouped_gemm(runtime_, all));
  for (std::int64_t g = 0; g + 1 < std::ssize(offsets); ++g) {
    const std::int64_t begin = offsets[std::size_t(g)], end = offsets[std::size_t(g) + 1];
    if (begin == end) continue;
    const Tensor a = must(all.a.tensor().slice(0, begin, end));
    const Tensor b = must(must(all.b.tensor().slice(0, g, g + 1)).reshape({2048, 1032}));
    const Tensor c = must(runtime_.tensor({end - begin, 1032}, DType::BF16));
    must(
        gemm(runtime_, {.a = a, .b = b, .c = c, .reproducibility = Reproducibility::RowInvariant}));
    // Both sum over K in order, in the same instruction.
    EXPECT_EQ(bytes_of(runtime_, c), bytes_of(runtime_, must(all.c.tensor().slice(0, begin, end))))
        << "group " << g;
  }
  const std::vector<std::byte> before = bytes_of(runtime_, must(all.c.tensor().slice(0, 0, 3)));
  EXPECT_EQ(before, std::vector<std::byte>(before.size()));
}

GIRIH_FOR_EVERY_GPU(CudaGroups);

}  // namespace
}  // namespace girih::testing
