#include "backends/cuda/gemm_pieces.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "backends/cuda/kernels/finish_params.hpp"
#include "backends/cuda/kernels/gemm_kernels.hpp"
#include "cuda/unit/lowering.hpp"
#include "plan/cuda_gemm_layout.hpp"

// A product whose operands must be packed, or whose C must be staged, and that are larger than the
// workspace may be: what is launched covers C once and stays inside the workspace.

namespace girih::testing {
namespace {

using cuda::GemmParams;

struct Product {
  std::int64_t rows, cols, batch;
  std::byte* out;
};

class Recorder final : public cuda::LaunchSink {
 public:
  Status add(const cuda::Launch& launch) noexcept override {
    if (is_copy(launch.function)) {
      ++copies;
      note(copied_to(launch));
    } else if (launch.function == cuda::gemm_finish_kernel()) {
      gates.push_back(*static_cast<const cuda::FinishParams*>(launch.params));
    } else if (launch.function == cuda::gemm_split_reduce_kernel()) {
      ++reductions;
    } else {
      const auto& p = *static_cast<const GemmParams*>(launch.params);
      const bool swapped = p.transposed;
      products.push_back({swapped ? p.cols : p.rows, swapped ? p.rows : p.cols, p.batch,
                          static_cast<std::byte*>(p.epilogue.out.data)});
      note(p.epilogue.out.data);
    }
    return {};
  }
  void note(const void* written) noexcept {
    const std::ptrdiff_t at = static_cast<const std::byte*>(written) - address(4);
    if (at >= 0 && at < std::int64_t{1} << 40) highest = std::max(highest, std::int64_t{at});
  }

  int copies = 0, reductions = 0;
  std::vector<cuda::FinishParams> gates;
  std::vector<Product> products;
  std::int64_t highest = -1;  ///< offset into the workspace of what was written furthest up
};

Lowered<Recorder> lower(const GemmSpec& spec) {
  return lower_for_h200<Recorder>(spec);
}

GemmSpec spec(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
              std::int64_t a_gap = 0, std::int64_t b_gap = 0) {
  const std::int64_t lda = k + a_gap, ldb = n + b_gap;
  return {.a = {DType::BF16, {batch, m, k}, {m * lda, lda, 1}, 0},
          .b = {DType::BF16, {batch, k, n}, {k * ldb, ldb, 1}, 0},
          .c = {DType::BF16, {batch, m, n}, {m * n, n, 1}, 0}};
}

/// Every element of C is computed by one product.
void expect_covers(const Lowered<Recorder>& lowered, std::int64_t batch, std::int64_t m,
                   std::int64_t n) {
  std::int64_t elements = 0;
  for (const Product& product : lowered.record.products) {
    elements += product.rows * product.cols * product.batch;
  }
  EXPECT_EQ(elements, batch * m * n);
}

TEST(CudaGemmPieces, AProductThatFitsIsOnePiece) {
  const Lowered<Recorder> aligned = lower(spec(1, 4096, 4096, 4096));
  EXPECT_EQ(aligned.record.products.size(), 1U);
  EXPECT_EQ(aligned.record.copies, 0);
  EXPECT_EQ(aligned.selection.workspace_bytes, 0);
  const Lowered<Recorder> packed = lower(spec(1, 4096, 4096, 4096, 1, 1));
  EXPECT_EQ(packed.record.products.size(), 1U);
  EXPECT_EQ(packed.record.copies, 2);
}

TEST(CudaGemmPieces, AlignedOperandsOfAnySizeAreOnePiece) {
  EXPECT_EQ(lower(spec(1, 65536, 65536, 16384)).record.products.size(), 1U);
}

TEST(CudaGemmPieces, PackingStaysWithinTheLimit) {
  constexpr std::int64_t kM = 20000, kN = 17000, kK = 16001;
  struct Gaps {
    std::int64_t a, b;
    int copies_at_least;
  };
  for (const auto& [a, b, copies_at_least] : {Gaps{0, 0, 2}, {7, 1, 2}, {0, 1, 4}}) {
    const Lowered<Recorder> lowered = lower(spec(1, kM, kN, kK, a, b));
    EXPECT_GT(lowered.record.products.size(), 1U);
    EXPECT_LE(lowered.selection.workspace_bytes, kCudaWorkspaceLimit);
    EXPECT_GE(lowered.record.copies, copies_at_least);
    EXPECT_LT(lowered.record.highest, lowered.selection.workspace_bytes);
    expect_covers(lowered, 1, kM, kN);
  }
}

TEST(CudaGemmPieces, EachBandOfAIsPackedOnce) {
  // Both are packed: bands of A times bands of B products, one copy a band of A and one a product.
  const Lowered<Recorder> lowered = lower(spec(1, 16384, 16384, 16385, 0, 1));
  const auto products = static_cast<int>(lowered.record.products.size());
  EXPECT_GT(products, 1);
  EXPECT_LT(lowered.record.copies, 2 * products);
  EXPECT_GT(lowered.record.copies, products);
}

TEST(CudaGemmPieces, ABatchIsCutFirst) {
  const Lowered<Recorder> lowered = lower(spec(200, 1024, 1024, 1023));
  EXPECT_LE(lowered.selection.workspace_bytes, kCudaWorkspaceLimit);
  EXPECT_GT(lowered.record.products.size(), 1U);
  for (const Product& product : lowered.record.products) {
    EXPECT_EQ(product.rows, 1024);
    EXPECT_EQ(product.cols, 1024);
  }
  expect_covers(lowered, 200, 1024, 1024);
}

TEST(CudaGemmPieces, AColumnMajorOutputIsStagedInPieces) {
  constexpr std::int64_t kM = 30000, kN = 20000;
  GemmSpec x = spec(1, kM, kN, 256);
  x.c.strides = {0, 1, kM};
  const Lowered<Recorder> lowered = lower(x);
  EXPECT_LE(lowered.selection.workspace_bytes, kCudaWorkspaceLimit);
  expect_covers(lowered, 1, kM, kN);
  EXPECT_LT(lowered.record.highest, lowered.selection.workspace_bytes);
}

TEST(CudaGemmPieces, ABroadcastOperandLargerThanAnyMemoryDoesNotOverflow) {
  GemmSpec x = spec(1, 1'000'000'000, 8, 1'000'000'000);
  x.a.strides = {0, 0, 0};
  x.b.strides = {0, 0, 0};
  const GemmProblem problem = must(check(x));
  const CudaGemmPieces pieces = cuda_gemm_pieces(problem, 1);
  EXPECT_GT(pieces.bytes, 0);
  EXPECT_LE(pieces.m, 64);
}

TEST(CudaGemmPieces, APieceBeginsWhereItSays) {
  GemmSpec x = spec(3, 100, 200, 50, 6, 8);
  x.bias = Geometry{DType::F16, {3, 200}, {400, 2}, 0};
  x.residual = Geometry{DType::F32, {3, 100, 200}, {20000, 200, 1}, 0};
  x.a_scale = Geometry{DType::F32, {100}, {3}, 0};
  x.a_granularity = Granularity::PerRow;
  x.b_scale = Geometry{DType::F32, {1}, {1}, 0};
  const auto* scales = reinterpret_cast<const float*>(address(7));
  const GemmCall call{must(check(x)),
                      {.a = address(1),
                       .b = address(2),
                       .c = address(3),
                       .bias = address(5),
                       .residual = address(6),
                       .a_scale = scales,
                       .b_scale = scales},
                      {},
                      nullptr};
  const GemmCall part =
      cuda::cut(call, {.batch = 2, .m = 64, .n = 128, .batches = 1, .rows = 36, .columns = 72});
  EXPECT_EQ(part.operands.a - call.operands.a, 2 * (2 * 100 * 56 + 64 * 56));
  EXPECT_EQ(part.operands.b - call.operands.b, 2 * (2 * 50 * 208 + 128));
  EXPECT_EQ(part.operands.c - call.operands.c, 2 * (2 * 20000 + 64 * 200 + 128));
  EXPECT_EQ(part.operands.bias - call.operands.bias, 2 * (2 * 400 + 128 * 2));
  EXPECT_EQ(part.operands.residual - call.operands.residual, 4 * (2 * 20000 + 64 * 200 + 128));
  EXPECT_EQ(part.operands.a_scale - scales, 64 * 3);
  EXPECT_EQ(part.operands.b_scale - scales, 0);
  EXPECT_EQ(part.problem.m, 36);
  EXPECT_EQ(part.problem.n, 72);
  EXPECT_EQ(part.problem.batch, 1);
  EXPECT_EQ(part.problem.k, 50);
  const GemmCall odd =
      cuda::cut(call, {.batch = 0, .m = 1, .n = 1, .batches = 1, .rows = 1, .columns = 1});
  EXPECT_EQ(odd.problem.a.alignment, 16);  // 56 elements
  EXPECT_EQ(odd.problem.b.alignment, 2);
}

TEST(CudaGemmPieces, FactorsOfBlocksAreCutAsBlocks) {
  GemmSpec x = spec(1, 1000, 1024, 384);
  x.a.dtype = x.b.dtype = DType::F8E4M3;
  x.a_scale = Geometry{DType::F32, {1000, 3}, {1, 1000}, 0};
  x.a_granularity = Granularity::PerRowBlock;
  x.b_scale = Geometry{DType::F32, {3, 8}, {24, 3}, 0};
  x.b_granularity = Granularity::PerBlock;
  const auto* scales = reinterpret_cast<const float*>(address(7));
  const GemmCall call{
      must(check(x)),
      {.a = address(1), .b = address(2), .c = address(3), .a_scale = scales, .b_scale = scales},
      {},
      nullptr};
  const GemmCall part = cuda::cut(call, {.m = 512, .n = 256, .rows = 488, .columns = 768});
  EXPECT_EQ(part.operands.a_scale - scales, 512) << "one a row";
  EXPECT_EQ(part.operands.b_scale - scales, 2 * 3) << "one for 128 columns";
}

GemmSpec gated(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
               GateOrder order) {
  GemmSpec result = spec(batch, m, 2 * n, k);
  result.c = {DType::BF16, {batch, m, n}, {m * n, n, 1}, 0};
  result.bias = Geometry{DType::F32, {2 * n}, {1}, 0};
  result.residual = result.c;  // no epilogue has it beside a gate
  result.gate = Gate{.order = order};
  return result;
}

// Products of a batch that lie an odd number of elements apart: each but the first must be packed.
TEST(CudaGemmPieces, ABatchCutIntoProductsHasRoomForEachOnesCopies) {
  GemmSpec a_apart = spec(2, 70000, 256, 1024);
  a_apart.a.strides[0] += 1;
  GemmSpec b_apart = spec(2, 256, 70000, 1024);
  b_apart.b.strides[0] += 4;
  GemmSpec gate = spec(2, 16384, 8192, 512);
  gate.a.strides[0] += 1;
  gate.c = {DType::F32, {2, 16384, 4096}, {16384 * 4096, 4096, 1}, 0};
  gate.gate = Gate{};
  for (const GemmSpec& each : {a_apart, b_apart, gate}) {
    const Lowered<Recorder> lowered = lower(each);
    EXPECT_GT(lowered.record.copies, 0);
    EXPECT_LT(lowered.record.highest, lowered.selection.workspace_bytes);
    EXPECT_LE(lowered.selection.workspace_bytes, kCudaWorkspaceLimit);
  }
}

TEST(CudaGemmPieces, ASingleRowOfCMayLieAnyDistanceFromTheNext) {
  GemmSpec row = spec(1, 1, 64, 64);
  row.c.strides[1] = std::int64_t{1} << 62;
  const GemmProblem problem = must(check(row));
  EXPECT_EQ(cuda_gemm_layout(problem, 1).c_ld, 64);
}

TEST(CudaGatePieces, OfFewRowsStayWithinTheLimit) {
  GemmSpec wide = spec(1, 65, 8'000'000, 64);
  wide.c = {DType::F32, {1, 65, 4'000'000}, {65 * 4'000'000LL, 4'000'000, 1}, 0};
  wide.gate = Gate{};
  const Lowered<Recorder> lowered = lower(wide);
  EXPECT_LE(lowered.selection.workspace_bytes, kCudaWorkspaceLimit);
  EXPECT_GT(lowered.record.gates.size(), 1U);
}

TEST(CudaGatePieces, JoinWhatTheirProductsLeave) {
  struct Extents {
    std::int64_t batch, m, n, k;
  };
  for (const auto& [batch, m, n, k] : {Extents{1, 512, 704, 640},
                                       {1, 16384, 14336, 4096},
                                       {1, 1000, 33, 16000},
                                       {300, 512, 1024, 64},
                                       {1, 70000, 8, 64}}) {
    for (const GateOrder order : {GateOrder::Concatenated, GateOrder::Interleaved}) {
      const Lowered<Recorder> lowered = lower(gated(batch, m, n, k, order));
      const Recorder& record = lowered.record;
      EXPECT_LE(lowered.selection.workspace_bytes, kCudaWorkspaceLimit);
      EXPECT_LT(record.highest, lowered.selection.workspace_bytes);
      std::int64_t elements = 0;
      for (const cuda::FinishParams& p : record.gates) {
        elements += p.batch * p.m * p.n;
        // The sums lie at the start of the workspace, and are of two columns for each of C.
        EXPECT_EQ(reinterpret_cast<const std::byte*>(p.sums), address(4));
        EXPECT_GE(p.sums_ld, 2 * n);
        EXPECT_LE(p.batch * p.m * p.sums_ld * 4, lowered.selection.workspace_bytes);
        EXPECT_EQ((p.n - 1) * p.step + p.partner, 2 * n - 1);
        EXPECT_EQ(p.c.row, n);
      }
      EXPECT_EQ(elements, batch * m * n);
      // Each piece begins in C where the one before ended.
      const std::byte* next = address(3);
      for (const cuda::FinishParams& p : record.gates) {
        EXPECT_EQ(p.c.data, next);
        next += p.batch * p.m * n * 2;
      }
    }
  }
}

TEST(CudaFinishPieces, ScaleAndRoundWhatTheirProductsLeave) {
  for (const auto& [batch, m, n] :
       {std::array<std::int64_t, 3>{1, 512, 704}, {3, 1000, 33}, {1, 65536, 14336}}) {
    GemmSpec x = spec(batch, m, n, 640);
    x.c.dtype = DType::F8E4M3;
    x.activation = Activation::GeluTanh;
    x.residual = Geometry{DType::BF16, x.c.shape, x.c.strides, 0};
    x.a_scale = Geometry{DType::F32, {m}, {2}, 0};
    x.a_granularity = Granularity::PerRow;
    x.c_scale = Geometry{DType::F32, {1}, {1}, 0};
    const Lowered<Recorder> lowered = lower(x);
    EXPECT_LE(lowered.selection.workspace_bytes, kCudaWorkspaceLimit);
    std::int64_t elements = 0;
    const std::byte* next = address(3);
    for (const cuda::FinishParams& p : lowered.record.gates) {
      EXPECT_EQ(p.c.data, next);
      next += p.batch * p.m * n;
      elements += p.batch * p.m * p.n;
      EXPECT_FALSE(p.gates);
      EXPECT_EQ(p.gate.activation, static_cast<std::uint8_t>(Activation::GeluTanh));
      EXPECT_EQ(p.step, 1);
      EXPECT_EQ(p.c.type, cuda::Element::F8E4M3);
      EXPECT_EQ(p.a_scale.row, 2);
      EXPECT_EQ(p.c_scale.value, 1);
      EXPECT_EQ(reinterpret_cast<const std::byte*>(p.sums), address(4));
    }
    EXPECT_EQ(elements, batch * m * n);
  }
}

}  // namespace
}  // namespace girih::testing
