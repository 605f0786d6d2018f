#include "plan/gemm_key.hpp"

#include <cstddef>
#include <optional>

namespace girih::inline v0 {
namespace {

// Every structure is taken apart as a whole, so that a field more does not compile before it is
// thought of here.

class Words {
 public:
  explicit Words(GemmKey& key) noexcept : key_(key) {}

  void add(std::int64_t word) noexcept { key_[at_++] = word; }
  /// Small numbers share a word.
  void add_small(std::int64_t value, int bits) noexcept {
    if (used_ + bits > 63) flush();
    small_ |= value << used_;
    used_ += bits;
  }
  template <class Enum>
  void add_enum(Enum value) noexcept {
    add_small(static_cast<std::int64_t>(value), 8);
  }
  void flush() noexcept {
    add(small_);
    small_ = 0;
    used_ = 0;
  }

  void add(const MatrixLayout& x) noexcept {
    const auto& [dtype, row_stride, column_stride, batch_stride, alignment] = x;
    add_enum(dtype);
    add_small(alignment, 7);
    add(row_stride);
    add(column_stride);
    add(batch_stride);
  }
  void add(const VectorLayout& x) noexcept {
    const auto& [dtype, stride, batch_stride, is_blocked, extent, k_stride] = x;
    add_enum(dtype);
    add_small(is_blocked ? 1 : 0, 1);
    add(stride);
    add(batch_stride);
    add(extent);
    add(k_stride);
  }
  template <class Layout>
  void add(const std::optional<Layout>& x) noexcept {
    add_small(x ? 1 : 0, 1);
    if (x) add(*x);
  }

 private:
  GemmKey& key_;
  std::size_t at_ = 0;
  std::int64_t small_ = 0;
  int used_ = 0;
};

}  // namespace

GemmKey key_of(const GemmProblem& problem, int threads) noexcept {
  const auto& [m, n, k, batch, a, b, c, bias, residual, a_scale, b_scale, alpha, beta, activation,
               gate, precision, path, reproducibility, workspace_bytes] = problem;
  GemmKey key{};
  Words words(key);
  for (const std::int64_t extent : {m, n, k, batch}) words.add(extent);
  words.add_small(alpha.on_device || alpha.value != 0 ? 1 : 0, 1);
  words.add_small(beta.on_device || beta.value != 0 ? 1 : 0, 1);
  words.add_enum(activation);
  words.add_small(gate ? 1 : 0, 1);
  if (gate) words.add_enum(gate->order);
  words.add_enum(precision);
  words.add_enum(path);
  words.add_enum(reproducibility);
  words.add_small(threads, 20);
  words.add_small(workspace_bytes ? 1 : 0, 1);
  words.add(workspace_bytes.value_or(0));
  for (const MatrixLayout* x : {&a, &b, &c}) words.add(*x);
  words.add(bias);
  words.add(residual);
  words.add(a_scale);
  words.add(b_scale);
  words.flush();
  return key;
}

std::uint64_t hash_of(const GemmKey& key) noexcept {
  std::uint64_t hash = 0;
  for (const std::int64_t word : key) {
    hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace girih::inline v0
