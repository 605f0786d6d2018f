#include <array>
#include <gtest/gtest.h>
#include <vector>

#include "backends/cuda/kernels/f32_params.hpp"
#include "backends/cuda/kernels/fast_f32_params.hpp"
#include "backends/cuda/tensor_maps.hpp"
#include "cuda/unit/encoded_map.hpp"
#include "cuda/unit/lowering.hpp"
#include "plan/cuda_fast_f32.hpp"

// What a Fast f32 product hands to its kernels: which parts they read, and which flags tell of
// them.

namespace girih::testing {
namespace {

using cuda::FastParams;
using cuda::StoreMode;

/// Launches of all pieces in order. Follows what the two flags are of: an operand's parts must be
/// written under a flag that was cleared before, and the flag must stay as long as they do.
class Record final : public cuda::LaunchSink {
 public:
  Status add(const cuda::Launch& launch) noexcept override {
    if (launch.function == cuda::fill_rows_kernel(4)) {
      const auto& p = *static_cast<const cuda::RowParams*>(launch.params);
      EXPECT_EQ(p.pattern, 0U);
      for (std::uint32_t i = 0; i < p.elements; ++i) {
        cleared[flag_at(static_cast<std::byte*>(p.destination) + 4 * i)] = true;
      }
    } else if (launch.function == cuda::split_f32_kernel()) {
      split(*static_cast<const cuda::SplitParams*>(launch.params));
    } else if (launch.function == cuda::gemm_fast_f32_kernel(64) ||
               launch.function == cuda::gemm_fast_f32_kernel(128)) {
      products.push_back(*static_cast<const FastParams*>(launch.params));
      EXPECT_EQ(static_cast<const void*>(products.back().flags), address(4));
    } else {
      const auto& p = *static_cast<const cuda::F32Params*>(launch.params);
      EXPECT_EQ(static_cast<const void*>(p.only_if), address(4));
      exact.push_back(p);
    }
    return {};
  }

  std::vector<FastParams> products;
  std::vector<cuda::F32Params> exact;
  std::array<int, 2> splits{};
  std::array<std::int64_t, 2> extents{};  ///< of the parts as they are now

 private:
  static std::size_t flag_at(const void* flag) {
    const std::ptrdiff_t at = static_cast<const std::byte*>(flag) - address(4);
    EXPECT_TRUE(at == 0 || at == 4) << at;
    return at == 4 ? 1 : 0;
  }
  void split(const cuda::SplitParams& params) {
    for (std::size_t i = 0; i < 2; ++i) {
      const cuda::SplitOperand& x = params.operands[i];
      if (x.tiles == 0) {
        EXPECT_FALSE(cleared[i]) << "parts that stay lost their flag";
        continue;
      }
      EXPECT_EQ(flag_at(x.flag), i);
      EXPECT_TRUE(cleared[i]) << "the flag may be another piece's";
      cleared[i] = false;
      extents[i] = x.extent;
      ++splits[i];
    }
  }
  std::array<bool, 2> cleared{};
};

GemmSpec spec(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmSpec result{.a = {DType::F32, {m, k}, {k, 1}, 0},
                  .b = {DType::F32, {k, n}, {n, 1}, 0},
                  .c = {DType::F32, {m, n}, {n, 1}, 0}};
  result.precision = Precision::Fast;
  result.path = Path::Matrix;
  return result;
}
Record lower(const GemmSpec& asked) {
  const GemmProblem problem = must(check(asked));
  const GemmSelection selection = must(select(problem, {.device = find_fixture("h200"),
                                                        .kernels = cuda::kernel_table(),
                                                        .threads = 1,
                                                        .forced_kernel = ""}));
  GemmOperands operands{.a = address(1), .b = address(2), .c = address(3)};
  operands.c += 4 * asked.c.offset;
  if (problem.bias) operands.bias = address(5);
  if (problem.residual) operands.residual = address(6);
  if (problem.a_scale) operands.a_scale = reinterpret_cast<const float*>(address(7));
  cuda::TensorMaps maps(encode);
  Record record;
  must(cuda::lower(GemmCall{problem, operands, selection, address(4)},
                   {.multiprocessors = 132, .maps = &maps}, record));
  return record;
}

TEST(CudaFastF32Lowering, PartsAreReadWhereTheyWereWritten) {
  const GemmSpec asked = spec(2048, 1024, 1000);
  const Record record = lower(asked);
  ASSERT_EQ(record.products.size(), 1U);
  ASSERT_EQ(record.exact.size(), 1U);
  const CudaFastLayout layout = cuda_fast_layout(must(check(asked)));
  const FastParams& p = record.products[0];
  for (const auto& [map, parts, extent] : {std::tuple{p.gemm.a, layout.a, std::int64_t{2048}},
                                           {p.gemm.b, layout.b, std::int64_t{1024}}}) {
    const auto x = contents(map);
    EXPECT_EQ(x[0], reinterpret_cast<cuuint64_t>(address(4) + parts.at));
    EXPECT_EQ(x[1], static_cast<cuuint64_t>(parts.ld));
    EXPECT_EQ(x[2], static_cast<cuuint64_t>(extent));
    EXPECT_EQ(x[3], static_cast<cuuint64_t>(kFastParts));
  }
  EXPECT_EQ(p.gemm.rows, 2048);
  EXPECT_EQ(p.gemm.cols, 1024);
  EXPECT_EQ(record.exact[0].simt.a.data, address(1));
  EXPECT_EQ(record.exact[0].simt.c.data, address(3));
}

TEST(CudaFastF32Lowering, FlagsAreOfThePartsThatAPieceReads) {
  struct Extents {
    std::int64_t m, n, k;
  };
  // Cut along both extents, along one, and in no pieces.
  for (const auto& [m, n, k] :
       {Extents{20'000, 30'000, 10'000}, {3000, 600, 20'000}, {128, 40'000, 8192}, {64, 64, 64}}) {
    const Record record = lower(spec(m, n, k));
    const auto pieces = static_cast<int>(record.products.size());
    ASSERT_EQ(record.exact.size(), record.products.size());
    EXPECT_EQ(record.splits[1], pieces) << "B's parts are another band's";
    EXPECT_LE(record.splits[0], pieces);
    std::int64_t elements = 0;
    for (std::size_t i = 0; i < record.products.size(); ++i) {
      const cuda::GemmParams& p = record.products[i].gemm;
      const cuda::SimtParams& x = record.exact[i].simt;
      elements += p.rows * p.cols;
      EXPECT_EQ(x.m, p.rows);
      EXPECT_EQ(x.n, p.cols);
      EXPECT_EQ(x.c.data, p.epilogue.out.data);
    }
    EXPECT_EQ(elements, m * n);
  }
  EXPECT_GT(lower(spec(20'000, 30'000, 10'000)).splits[1],
            lower(spec(20'000, 30'000, 10'000)).splits[0]);
}

TEST(CudaFastF32Lowering, FragmentsAreOfWholePairsWithAlphaAlone) {
  const auto store = [](const GemmSpec& x) { return lower(x).products.at(0).gemm.store; };
  constexpr std::int64_t kM = 512, kN = 384;
  GemmSpec x = spec(kM, kN, 256);
  x.alpha.value = 2;
  ASSERT_EQ(store(x), StoreMode::Fragments);
  const GemmSpec good = x;
  const auto expect_general = [&](const char* what) {
    EXPECT_EQ(store(x), StoreMode::General) << what;
    x = good;
  };
  x.c.offset = 1;
  expect_general("C begins inside a pair");
  x.c.strides = {kN + 1, 1};
  expect_general("rows of C do");
  x.c.dtype = DType::BF16;
  expect_general("not f32");
  x.beta.value = 1;
  expect_general("C is read");
  x.residual = x.c;
  expect_general("a residual");
  x.bias = Geometry{DType::F32, {kN}, {1}, 0};
  expect_general("a bias");
  x.activation = Activation::Relu;
  expect_general("an activation");
  x.a_scale = Geometry{DType::F32, {1}, {1}, 0};
  expect_general("a factor");
}

}  // namespace
}  // namespace girih::testing
