#include <cuda_runtime_api.h>

#include "cuda/device/gpu_test.hpp"

// Tensors of more than 2^31 elements, and memory that runs out. Needs about 30 GB of device memory.

namespace girih::testing {
namespace {

constexpr std::int64_t kSide = 46'350;  // its square is over 2^31
static_assert(kSide * kSide > std::int64_t{1} << 31);

class CudaLarge : public BackendTest {
 protected:
  /// The same product, of rows [begin, end) of A alone.
  std::vector<std::byte> rows_alone(const Tensor& a, const Tensor& b, std::int64_t begin,
                                    std::int64_t end, DType output) {
    const Tensor part = must(runtime_.tensor({end - begin, a.extent(1)}, a.dtype()));
    must(copy(runtime_, {.source = must(a.slice(0, begin, end)), .destination = part}));
    return product(runtime_, part, b, output, Reproducibility::RowInvariant);
  }
};

TEST_P(CudaLarge, TrimGivesMemoryBackToTheDevice) {
  constexpr std::size_t kBytes = std::size_t{1}
                                 << 30;  // less than what the runtime keeps of freed memory
  const auto free_bytes = [] {
    std::size_t free = 0, total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    return free;
  };
  must(runtime_.trim());
  const std::size_t before = free_bytes();
  { const Tensor let_go = must(runtime_.tensor({std::int64_t{kBytes}}, DType::I8)); }
  must(runtime_.synchronize());
  EXPECT_LT(free_bytes(), before - kBytes / 2) << "nothing was kept";
  must(runtime_.trim(kBytes));
  EXPECT_LT(free_bytes(), before - kBytes / 2) << "what may stay went";
  must(runtime_.trim());
  EXPECT_GT(free_bytes(), before - kBytes / 2);
}

TEST_P(CudaLarge, AnOutputOfMoreThan31Bits) {
  constexpr std::int64_t kDepth = 24;
  const Tensor a = random_tensor(runtime_, {kSide, kDepth}, DType::BF16, 1);
  const Tensor b = random_tensor(runtime_, {kDepth, kSide}, DType::BF16, 2);
  const Tensor c = must(runtime_.tensor({kSide, kSide}, DType::BF16));
  must(gemm(runtime_, {.a = a, .b = b, .c = c, .reproducibility = Reproducibility::RowInvariant}));
  for (const std::int64_t begin : {std::int64_t{0}, kSide / 2, kSide - 40}) {
    EXPECT_EQ(bytes_of(runtime_, must(c.slice(0, begin, begin + 40))),
              rows_alone(a, b, begin, begin + 40, DType::BF16))
        << "rows from " << begin;
  }
  // The whole of the last rows against the oracle: their elements lie beyond 2^31.
  expect_passes(runtime_,
                {.m = 40, .n = kSide, .k = kDepth, .operands = DType::BF16, .output = DType::BF16},
                verify::Mode::Eager);
}

TEST_P(CudaLarge, OperandsOfMoreThan31BitsAlignedAndNot) {
  for (const std::int64_t depth : {kSide / 8 * 8, kSide / 8 * 8 + 1}) {
    const std::int64_t rows = (std::int64_t{1} << 31) / depth + 100;
    const Tensor a = must(runtime_.tensor({rows, depth}, DType::F16));
    must(fill(runtime_, {.destination = a, .value = 0.25}));
    const Tensor tail = must(a.slice(0, rows - 3, rows));
    must(copy(runtime_,
              {.source = random_tensor(runtime_, {3, depth}, DType::F16, 4), .destination = tail}));
    const Tensor b = random_tensor(runtime_, {depth, 16}, DType::F16, 5);
    const Tensor c = must(runtime_.tensor({rows, 16}, DType::F32));
    const GemmDesc desc{.a = a, .b = b, .c = c, .reproducibility = Reproducibility::RowInvariant};
    must(gemm(runtime_, desc));
    EXPECT_LE(must(plan(runtime_, desc)).workspace_bytes, std::uint64_t{256} << 20);
    EXPECT_EQ(bytes_of(runtime_, must(c.slice(0, rows - 3, rows))),
              rows_alone(a, b, rows - 3, rows, DType::F32))
        << "K = " << depth;
    const std::vector<std::byte> first = bytes_of(runtime_, must(c.slice(0, 0, 1)));
    for (const std::int64_t row : {std::int64_t{1}, rows / 2, rows - 4}) {
      EXPECT_EQ(bytes_of(runtime_, must(c.slice(0, row, row + 1))), first) << "row " << row;
    }
  }
}

TEST_P(CudaLarge, CopiesCastsAndFillsOfMoreThan31Bits) {
  const Tensor x = must(runtime_.tensor({kSide, kSide}, DType::BF16));
  must(fill(runtime_, {.destination = x, .value = 3}));
  const Tensor corner = must(must(x.slice(0, kSide - 2, kSide)).slice(1, kSide - 3, kSide));
  must(copy(runtime_,
            {.source = random_tensor(runtime_, {2, 3}, DType::BF16, 6), .destination = corner}));
  const Tensor turned = must(runtime_.tensor({kSide, kSide}, DType::BF16));
  must(copy(runtime_, {.source = x.transposed(), .destination = turned}));
  EXPECT_EQ(bytes_of(runtime_, must(turned.transposed().slice(0, kSide - 2, kSide))),
            bytes_of(runtime_, must(x.slice(0, kSide - 2, kSide))));
  EXPECT_EQ(bytes_of(runtime_, must(turned.slice(0, 0, 1))),
            bytes_of(runtime_, must(x.slice(0, 0, 1))));
  const Tensor wide = must(runtime_.tensor({kSide, kSide}, DType::F32));
  must(cast(runtime_, {.source = x, .destination = wide}));
  const Tensor small = must(runtime_.tensor({2, 3}, DType::F32));
  must(cast(runtime_, {.source = corner, .destination = small}));
  EXPECT_EQ(
      bytes_of(runtime_, must(must(wide.slice(0, kSide - 2, kSide)).slice(1, kSide - 3, kSide))),
      bytes_of(runtime_, small));
}

TEST_P(CudaLarge, MemoryThatRunsOutIsAnErrorAndTheRuntimeGoesOn) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 33;
  std::vector<Tensor> pieces;
  Result<Tensor> piece = runtime_.tensor({kPiece}, DType::I8);
  for (; piece && pieces.size() < 64; piece = runtime_.tensor({kPiece}, DType::I8)) {
    pieces.push_back(*piece);
  }
  EXPECT_TRUE(refused(piece, Code::OutOfMemory, ""));
  EXPECT_EQ(piece.error().kind(), ErrorKind::Unavailable);
  EXPECT_TRUE(succeeded(runtime_.health()));
  pieces.clear();
  must(runtime_.trim());
  expect_passes(runtime_, {.m = 64, .n = 64, .k = 64, .operands = DType::BF16},
                verify::Mode::Eager);
  EXPECT_TRUE(succeeded(runtime_.tensor({kPiece}, DType::I8)));
}

GIRIH_FOR_EVERY_GPU(CudaLarge);

}  // namespace
}  // namespace girih::testing
