#include "backends/metal/trial.hpp"

#include <algorithm>
#include <cstring>

#include "backends/metal/queue.hpp"
#include "core/error.hpp"
#include "core/small_float.hpp"
#include "plan/metal_gemm.hpp"

namespace girih::inline v0::metal {
namespace {

/// Ragged, and a multiple of 16 bytes in every type, so that nothing is packed but f32.
constexpr std::int64_t kRows = 80, kColumns = 96, kDepth = 48;
constexpr std::int64_t kBAt = 16384, kCAt = 49152, kPortableAt = 81920,
                       kScratchAt = 114688;  // bytes

/// What is multiplied: whole numbers of a type that use `bits` bits.
struct Numbers {
  DType dtype;
  int bits;
};
constexpr int kSingleBits = 24;

Numbers numbers_of(const KernelInfo& kernel, DType dtype) noexcept {
  if (dtype == DType::F32 && !kernel.multiplies_tf32) return {dtype, kSingleBits};
  return {dtype, dtype == DType::BF16 ? 8 : dtype == DType::I8 ? 7 : 11};
}

/// Element `i` of a row or column at `k`, one of two sides. Where one side uses every bit, to the
/// lowest, the other is small: sums stay below 2^24, exact in f32 in every order. With 24 bits a
/// sum has two terms, of two signs.
int operand(bool is_left, std::int64_t i, std::int64_t k, int bits) noexcept {
  const std::int64_t mixed = (i * 37 + k * 101 + (is_left ? 5 : 11)) * 2654435761;
  const bool is_sparse = bits == kSingleBits;
  if ((k % 2 == 0) != is_left) {
    if (is_sparse) return k / 2 == i % (kDepth / 2) ? 1 : 0;
    return static_cast<int>((mixed >> 8) % 7) - 3;
  }
  const auto odd = static_cast<int>((mixed >> 8) % (std::int64_t{1} << bits) | 1);
  const bool is_negative = is_sparse ? !is_left : (mixed >> 24 & 1) != 0;
  return is_negative ? -odd : odd;
}
int left(std::int64_t m, std::int64_t k, Numbers numbers) noexcept {
  return operand(true, m, k, numbers.bits);
}
int right(std::int64_t k, std::int64_t n, Numbers numbers) noexcept {
  return operand(false, n, k, numbers.bits);
}

void store(std::byte* data, DType dtype, std::int64_t i, int value) noexcept {
  const auto number = static_cast<float>(value);
  if (dtype == DType::I8) {
    data[i] = static_cast<std::byte>(value);
  } else if (dtype == DType::F32) {
    std::memcpy(data + i * 4, &number, sizeof(number));
  } else {
    const std::uint32_t bits = dtype == DType::BF16 ? narrow<kBf16>(number) : narrow<kF16>(number);
    const auto pattern = static_cast<std::uint16_t>(bits);
    std::memcpy(data + i * 2, &pattern, sizeof(pattern));
  }
}

std::int64_t sum_at(std::int64_t m, std::int64_t n, Numbers numbers) noexcept {
  std::int64_t sum = 0;
  for (std::int64_t k = 0; k < kDepth; ++k) {
    sum += std::int64_t{left(m, k, numbers)} * right(k, n, numbers);
  }
  return sum;
}

/// C, row-major; with a gate each element is the product of two sums, rounded once.
bool is_right(const std::byte* data, Numbers numbers, bool is_gated) noexcept {
  const std::int64_t columns = is_gated ? kColumns / 2 : kColumns;
  for (std::int64_t m = 0; m < kRows; ++m) {
    for (std::int64_t n = 0; n < columns; ++n) {
      const std::int64_t want =
          sum_at(m, n, numbers) * (is_gated ? sum_at(m, columns + n, numbers) : 1);
      float got = 0;
      std::memcpy(&got, data + (m * columns + n) * 4, sizeof(got));
      if (got != static_cast<float>(want)) return false;
    }
  }
  return true;
}

void fill(std::byte* data, Numbers numbers, TrialLayout layout) noexcept {
  for (std::int64_t m = 0; m < kRows; ++m) {
    for (std::int64_t k = 0; k < kDepth; ++k) {
      const std::int64_t at = layout.a_transposed ? k * kRows + m : m * kDepth + k;
      store(data, numbers.dtype, at, left(m, k, numbers));
    }
  }
  for (std::int64_t k = 0; k < kDepth; ++k) {
    for (std::int64_t n = 0; n < kColumns; ++n) {
      const std::int64_t at = layout.b_transposed ? n * kDepth + k : k * kColumns + n;
      store(data + kBAt, numbers.dtype, at, right(k, n, numbers));
    }
  }
}

/// Where a trial runs. Its memory goes with it, after its queue.
struct Bench {
  Memory memory;
  Queue queue;
};

Result<GemmProblem> trial_problem(const KernelInfo& kernel, DType dtype, TrialLayout layout,
                                  bool is_gated) noexcept {
  const auto matrix = [](DType type, std::int64_t rows, std::int64_t columns, bool is_transposed) {
    const Strides strides = is_transposed ? Strides{1, rows} : Strides{columns, 1};
    return Geometry{type, Shape{rows, columns}, strides, 0};
  };
  GemmSpec spec{.a = matrix(dtype, kRows, kDepth, layout.a_transposed),
                .b = matrix(dtype, kDepth, kColumns, layout.b_transposed),
                .c = matrix(DType::F32, kRows, is_gated ? kColumns / 2 : kColumns, false),
                .precision = kernel.multiplies_tf32 ? Precision::Tf32 : Precision::Exact};
  if (is_gated) spec.gate = Gate{.activation = Activation::None};
  return check(spec);
}

/// Has `kernel` multiply what `fill` wrote.
Status multiply(const GemmProblem& problem, const KernelInfo& kernel, std::byte* data,
                std::int64_t c_at, Queue& queue) noexcept {
  GemmCall call{problem, {}, {}, data + kScratchAt};
  call.operands.a = data;
  call.operands.b = data + kBAt;
  call.operands.c = data + c_at;
  call.selection.kernel = &kernel;
  QueueSink sink(queue);
  GIRIH_TRY(lower(call, sink));
  return queue.drain();
}

}  // namespace

TrialLayout trial_layout(const KernelInfo& kernel, const GemmProblem& problem) noexcept {
  if (kernel.path != Path::Matrix) return {};
  return {metal_operand(problem.a, metal_parts(problem, kernel)).column_major,
          metal_columns(problem, kernel).operand.column_major};
}

Result<Trial> try_product(const KernelInfo& kernel, const KernelInfo* portable, DType dtype,
                          TrialLayout layout, Pipelines& pipelines) noexcept try {
  Bench bench;
  GIRIH_TRY(bench.memory.start(pipelines.device()));
  GIRIH_TRY(bench.queue.start(pipelines.device(), nullptr, bench.memory, pipelines));
  Trial trial{.is_right = true};
  const Numbers numbers = numbers_of(kernel, dtype);
  for (const bool is_gated : {false, true}) {
    const Result<GemmProblem> problem = trial_problem(kernel, dtype, layout, is_gated);
    if (!problem) return problem.error();
    const Result<std::byte*> data =
        bench.memory.allocate(kScratchAt + metal_workspace(*problem, kernel, 1).bytes());
    if (!data) return data.error();
    fill(*data, numbers, layout);
    GIRIH_TRY(multiply(*problem, kernel, *data, kCAt, bench.queue));
    const bool is_exact = is_right(*data + kCAt, numbers, is_gated);
    trial.is_right = trial.is_right && is_exact;
    if (portable == nullptr) continue;
    const Status ran = multiply(*problem, *portable, *data, kPortableAt, bench.queue);
    if (!ran && ran.error().code == Code::BackendUnavailable) continue;  // it has no pipeline
    if (!ran) return ran.error();
    constexpr std::size_t kBytes = kRows * kColumns * sizeof(float);
    const std::size_t bytes = is_gated ? kBytes / 2 : kBytes;
    const bool are_equal = std::memcmp(*data + kCAt, *data + kPortableAt, bytes) == 0;
    const bool is_portable_exact =
        are_equal ? is_exact : is_right(*data + kPortableAt, numbers, is_gated);
    trial.is_portable_right = trial.is_portable_right && is_portable_exact;
  }
  return trial;
} catch (...) {
  return error(Code::OutOfMemory, "no host memory for a trial product");
}

}  // namespace girih::inline v0::metal
