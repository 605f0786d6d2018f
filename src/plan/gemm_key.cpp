#include "plan/gemm_key.hpp"

#include <cstddef>
#include <optional>
#include <type_traits>

namespace girih::inline v0 {
namespace {

// Every structure is taken apart as a whole, so that a field more does not compile before it is
// thought of here.

class Words {
 public:
  constexpr explicit Words(GemmKey& key) noexcept : key_(key) {}

  constexpr void add(std::int64_t word) noexcept { key_[at_++] = word; }
  /// Small numbers share a word.
  constexpr void add_small(std::int64_t value, int bits) noexcept {
    if (used_ + bits > 63) flush();
    small_ |= value << used_;
    used_ += bits;
  }
  constexpr void flush() noexcept {
    add(small_);
    small_ = 0;
    used_ = 0;
  }

  template <class Enum>
  constexpr auto add(Enum value) noexcept -> std::enable_if_t<std::is_enum_v<Enum>> {
    add_small(static_cast<std::int64_t>(value), 8);
  }
  constexpr void add(bool value) noexcept { add_small(value ? 1 : 0, 1); }
  constexpr void add(const ScalarTerm& x) noexcept {
    const auto& [on_device, value] = x;
    add_small(on_device || value != 0 ? 1 : 0, 1);
  }
  constexpr void add(const Gate& x) noexcept { add(x.order); }
  constexpr void add(const MatrixLayout& x) noexcept {
    const auto& [dtype, row_stride, column_stride, batch_stride, alignment] = x;
    add(dtype);
    add_small(alignment, 7);
    add(row_stride);
    add(column_stride);
    add(batch_stride);
  }
  constexpr void add(const VectorLayout& x) noexcept {
    const auto& [dtype, stride, batch_stride, is_blocked, extent, k_stride] = x;
    add(dtype);
    add_small(is_blocked ? 1 : 0, 1);
    add(stride);
    add(batch_stride);
    add(extent);
    add(k_stride);
  }
  template <class Field>
  constexpr void add(const std::optional<Field>& x) noexcept {
    add_small(x ? 1 : 0, 1);
    if (x) add(*x);
  }

 private:
  GemmKey& key_;
  std::size_t at_ = 0;
  std::int64_t small_ = 0;
  int used_ = 0;
};

template <class... Fields>
constexpr GemmKey write_key(int threads, const Fields&... fields) noexcept {
  GemmKey key{};
  Words words(key);
  words.add_small(threads, 20);
  (words.add(fields), ...);
  words.flush();
  return key;
}

/// A field that takes as many words as any.
template <class Field>
struct Longest {
  static constexpr Field value{};
};
template <class Field>
struct Longest<std::optional<Field>> {
  static constexpr std::optional<Field> value = Field{};
};

/// Compiles only if the longest key has room: no constant is computed by writing past an array.
template <class... Fields>
GemmKey key_of_fields(int threads, const Fields&... fields) noexcept {
  constexpr GemmKey kLongest = write_key(0, Longest<Fields>::value...);
  static_assert(kLongest.size() > 0);
  return write_key(threads, fields...);
}

}  // namespace

GemmKey key_of(const GemmProblem& problem, int threads) noexcept {
  const auto& [m, n, k, batch, a, b, c, bias, residual, a_scale, b_scale, scales_c, alpha, beta,
               activation, gate, precision, path, reproducibility, workspace_bytes] = problem;
  return key_of_fields(threads, m, n, k, batch, a, b, c, bias, residual, a_scale, b_scale, scales_c,
                       alpha, beta, activation, gate, precision, path, reproducibility,
                       workspace_bytes);
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
