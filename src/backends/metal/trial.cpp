#include "backends/metal/trial.hpp"

#include <algorithm>
#include <cstring>

#include "core/error.hpp"
#include "core/small_float.hpp"
#include "plan/metal_gemm.hpp"

namespace girih::inline v0::metal {
namespace {

/// Ragged, and a multiple of 16 bytes in every type, so that nothing is packed but f32.
constexpr std::int64_t kRows = 80, kColumns = 96, kDepth = 48;

int left(std::int64_t m, std::int64_t k) noexcept {
  return static_cast<int>((m * 3 + k * 5) % 7) - 3;
}
int right(std::int64_t k, std::int64_t n) noexcept {
  return static_cast<int>((k * 2 + n * 11) % 9) - 4;
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

/// At most 12 kDepth in magnitude, so that the product of two of them is exact in f32.
int sum_at(std::int64_t m, std::int64_t n) noexcept {
  int sum = 0;
  for (std::int64_t k = 0; k < kDepth; ++k) sum += left(m, k) * right(k, n);
  return sum;
}

/// C, row-major; with a gate each element is the product of two sums.
bool is_right(const std::byte* data, bool is_gated) noexcept {
  const std::int64_t columns = is_gated ? kColumns / 2 : kColumns;
  for (std::int64_t m = 0; m < kRows; ++m) {
    for (std::int64_t n = 0; n < columns; ++n) {
      const int want = sum_at(m, n) * (is_gated ? sum_at(m, columns + n) : 1);
      float got = 0;
      std::memcpy(&got, data + (m * columns + n) * 4, sizeof(got));
      if (got != static_cast<float>(want)) return false;
    }
  }
  return true;
}

/// Memory for the trial, taken back at its end.
class Space {
 public:
  Space(Memory& memory, const Queue& queue) noexcept : memory_(memory), queue_(queue) {}
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;
  ~Space() {
    if (data != nullptr) memory_.retire(data, queue_.tick());
  }
  std::byte* data = nullptr;

 private:
  Memory& memory_;
  const Queue& queue_;
};

class Sink final : public LaunchSink {
 public:
  explicit Sink(Queue& queue) noexcept : queue_(queue) {}
  Status add(const Launch& launch) noexcept override { return queue_.encode(launch); }

 private:
  Queue& queue_;
};

Result<GemmProblem> trial_problem(DType dtype, bool is_gated) noexcept {
  const auto matrix = [](DType type, std::int64_t rows, std::int64_t columns) {
    return Geometry{type, Shape{rows, columns}, contiguous_strides(Shape{rows, columns}), 0};
  };
  GemmSpec spec{.a = matrix(dtype, kRows, kDepth),
                .b = matrix(dtype, kDepth, kColumns),
                .c = matrix(DType::F32, kRows, is_gated ? kColumns / 2 : kColumns),
                .precision = Precision::Tf32};
  if (is_gated) spec.gate = Gate{.activation = Activation::None};
  return check(spec);
}

}  // namespace

Result<bool> passes_trial(const KernelInfo& kernel, DType dtype, Queue& queue,
                          Memory& memory) noexcept {
  const Result<GemmProblem> plain = trial_problem(dtype, false);
  if (!plain) return plain.error();
  const Result<GemmProblem> gated = trial_problem(dtype, true);
  if (!gated) return gated.error();
  constexpr std::int64_t kBAt = 16384, kCAt = 49152, kScratchAt = 81920;  // bytes
  Space space(memory, queue);
  const Result<std::byte*> data =
      memory.allocate(kScratchAt + std::max(metal_workspace(*plain, kernel, 1).bytes(),
                                            metal_workspace(*gated, kernel, 1).bytes()));
  if (!data) return data.error();
  space.data = *data;
  for (std::int64_t m = 0; m < kRows; ++m) {
    for (std::int64_t k = 0; k < kDepth; ++k) store(*data, dtype, m * kDepth + k, left(m, k));
  }
  for (std::int64_t k = 0; k < kDepth; ++k) {
    for (std::int64_t n = 0; n < kColumns; ++n) {
      store(*data + kBAt, dtype, k * kColumns + n, right(k, n));
    }
  }
  Sink sink(queue);
  for (const GemmProblem* problem : {&*plain, &*gated}) {
    GemmCall call{*problem, {}, {}, *data + kScratchAt};
    call.operands.a = *data;
    call.operands.b = *data + kBAt;
    call.operands.c = *data + kCAt;
    call.selection.kernel = &kernel;
    GIRIH_TRY(lower(call, sink));
    GIRIH_TRY(queue.drain());
    if (!is_right(*data + kCAt, problem->gate.has_value())) return false;
  }
  return true;
}

}  // namespace girih::inline v0::metal
