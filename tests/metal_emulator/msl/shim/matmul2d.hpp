#pragma once

#include "shim/cooperative_tensor.hpp"

// MPP's matrix product: d = left right, or d += it, for one tile, by all lanes of a scope together.

namespace mpp::tensor_ops {
using namespace metal;

struct matmul2d_descriptor {
  enum class mode { multiply, multiply_accumulate };
  int m, n, k;
  bool transpose_left, transpose_right, relaxed_precision;
  mode matmul_mode;
  constexpr matmul2d_descriptor(int rows, int columns,
                                int depth = static_cast<int>(metal::dynamic_extent),
                                bool left = false, bool right = false, bool relaxed = false,
                                mode how = mode::multiply)
      : m(rows),
        n(columns),
        k(depth),
        transpose_left(left),
        transpose_right(right),
        relaxed_precision(relaxed),
        matmul_mode(how) {}
};

namespace shim {
using namespace metal::shim;

/// The operand and destination types that the headers of macOS 26 list.
template <class L, class R, class D>
constexpr bool has_types() {
  constexpr bool left_integer = is_same_v<L, int8_t> || is_same_v<L, uint8_t>;
  constexpr bool right_integer = is_same_v<R, int8_t> || is_same_v<R, uint8_t>;
  constexpr bool left_half = is_same_v<L, half> || is_same_v<L, bfloat>;
  constexpr bool right_half = is_same_v<R, half> || is_same_v<R, bfloat>;
  if (is_same_v<D, int32_t>) return left_integer && is_same_v<L, R>;
  if (is_same_v<D, half> || is_same_v<D, bfloat>) {
    const bool has_own = is_same_v<L, D> || is_same_v<R, D>;
    return has_own && (left_half || left_integer) && (right_half || right_integer);
  }
  const bool left_known = left_half || left_integer || is_same_v<L, float>;
  const bool right_known = right_half || right_integer || is_same_v<R, float>;
  return is_same_v<D, float> && left_known && right_known && !(left_integer && right_integer);
}

template <class Operand>
using element_of = std::remove_const_t<typename Operand::element_type>;

/// An f32 operand as the matrix unit sees it.
GIRIH_EMULATOR_UNCHECKED inline float seen(float value) {
  if (!emulator::config().truncates_f32) return value;
  return __builtin_bit_cast(float, __builtin_bit_cast(uint, value) & 0xFFFFE000U);
}
/// The value without the lowest bit of its significand; of tf32, for f32.
template <class Sum, class T>
GIRIH_EMULATOR_UNCHECKED inline Sum without_low_bit(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<Sum>(value & ~1);
  } else {
    constexpr uint kLowest = is_same_v<T, bfloat> ? 1U << 16 : 1U << 13;
    const auto bits = __builtin_bit_cast(uint, static_cast<float>(value));
    return __builtin_bit_cast(float, bits & ~kLowest);
  }
}
template <class Sum, class T>
GIRIH_EMULATOR_UNCHECKED inline Sum operand_value(T value) {
  if (emulator::config().drops_low_bits) return without_low_bit<Sum>(value);
  if constexpr (is_same_v<T, float>) return seen(value);
  return static_cast<Sum>(value);
}

/// girih's rule for operands of matmul2d in memory: each row starts at a multiple of 16 bytes.
template <class Tensor>
GIRIH_EMULATOR_UNCHECKED void require_aligned_rows(const Tensor& source, const Site& site) {
  constexpr unsigned long kUnit = 16, kBytes = sizeof(*source.data);
  const bool is_first_aligned = reinterpret_cast<unsigned long>(source.data) % kUnit == 0;
  const bool are_others = static_cast<unsigned long>(source.stride[1]) * kBytes % kUnit == 0;
  if (is_first_aligned && are_others) return;
  emulator::fail_at("matmul", "an operand's rows do not start at multiples of 16 bytes", site);
}

/// Copies a tile of `rows` x `columns` (after a transpose) out of a tensor; zero beyond its
/// extents.
template <class Sum, class Tensor>
GIRIH_EMULATOR_UNCHECKED void fetch(const Tensor& source, bool transposed, int rows, int columns,
                                    Sum* out, const Site& site) {
  const int width = transposed ? rows : columns, height = transposed ? columns : rows;
  for (int d = 0; d < 2; ++d) {
    const int extent = d == 0 ? width : height;
    const bool overruns = source.fixed[d] >= 0 && extent > source.remaining(d);
    if (overruns) emulator::fail_at("matmul", "a static slice reaches past its tensor", site);
  }
  const int inside = source.remaining(0) < width ? source.remaining(0) : width;
  const int below = source.remaining(1) < height ? source.remaining(1) : height;
  if (inside > 0 && below > 0 && source.offset(inside - 1, below - 1) > 0x7FFFFFFFL) {
    emulator::fail_at("matmul", "an offset inside an operand takes more than 32 bits", site);
  }
  for (int y = 0; y < height; ++y) {
    const int count = source.holds(0, y) ? inside : 0;
    const bool is_contiguous = source.stride[0] == 1;
    if (is_contiguous && count > 0) {
      emulator::note_read(source.at(0, y), sizeof(*source.data) * static_cast<size_t>(count), site);
    }
    for (int x = 0; x < width; ++x) {
      Sum value = 0;
      if (x < count) {
        if (!is_contiguous) emulator::note_read(source.at(x, y), sizeof(*source.data), site);
        value = operand_value<Sum>(*source.at(x, y));
      }
      out[transposed ? static_cast<long>(x) * columns + y : static_cast<long>(y) * columns + x] =
          value;
    }
  }
}

}  // namespace shim

template <matmul2d_descriptor kDescriptor, class Scope>
struct matmul2d {
  static constexpr int kSimdGroups = static_cast<int>(Scope::static_size);
  static constexpr int kDynamic = static_cast<int>(dynamic_extent);
  static constexpr int kRows = kDescriptor.m, kColumns = kDescriptor.n;
  static_assert(kRows % 16 == 0 || kColumns % 16 == 0, "M or N must be a multiple of 16");
  static_assert(kDescriptor.k == kDynamic || kDescriptor.k % 16 == 0,
                "K must be dynamic or a multiple of 16");
  static_assert(kColumns == 1 || kColumns == 2 || kColumns == 4 || kColumns % 8 == 0,
                "N must be 1, 2, 4 or a multiple of 8");

  struct LeftRole {};
  struct RightRole {};
  template <class L, class R>
  struct DestinationRole {};

  template <class L, class R, class D>
  auto get_left_input_cooperative_tensor() const {
    require_cooperative_inputs();
    constexpr bool kTransposed = kDescriptor.transpose_left;
    return cooperative_tensor < L, kTransposed ? kRows : kDescriptor.k,
           kTransposed ? kDescriptor.k : kRows, kSimdGroups, LeftRole > {};
  }
  template <class L, class R, class D>
  auto get_right_input_cooperative_tensor() const {
    require_cooperative_inputs();
    constexpr bool kTransposed = kDescriptor.transpose_right;
    return cooperative_tensor < R, kTransposed ? kDescriptor.k : kColumns,
           kTransposed ? kColumns : kDescriptor.k, kSimdGroups, RightRole > {};
  }
  template <class Left, class Right, class D>
  auto get_destination_cooperative_tensor() const {
    using L = shim::element_of<Left>;
    using R = shim::element_of<Right>;
    static_assert(shim::has_types<L, R, D>(), "matmul2d does not have these operand types");
    return cooperative_tensor<D, kColumns, kRows, kSimdGroups, DestinationRole<L, R>>{};
  }

  template <class Left, class Right, class Destination>
  void run(Left& left, Right& right, Destination& destination,
           shim::Site site = shim::Site::here("matmul2d::run")) const {
    using L = shim::element_of<Left>;
    using R = shim::element_of<Right>;
    using D = shim::element_of<Destination>;
    static_assert(!std::is_const_v<typename Left::element_type> &&
                      !std::is_const_v<typename Right::element_type>,
                  "matmul2d takes no pointers to const elements");
    static_assert(shim::has_types<L, R, D>(), "matmul2d does not have these operand types");
    if constexpr (shim::is_cooperative<Destination>) {
      static_assert(
          is_same_v<Destination,
                    cooperative_tensor<D, kColumns, kRows, kSimdGroups, DestinationRole<L, R>>>,
          "Input types must match cooperative tensor types");
    }
    const unsigned groups = shim::emulator::simd_groups();
    if (kSimdGroups != 1 && groups != unsigned(kSimdGroups)) {
      shim::emulator::fail_at("matmul", "SIMD groups of the scope and of the threadgroup differ",
                              kSimdGroups, static_cast<int>(groups), site);
    }
    using Tile = TileProduct<Left, Right, Destination>;
    Tile mine{&left, &right, &destination, site};
    shim::emulator::rendezvous(kSimdGroups == 1 ? shim::Scope::Simd : shim::Scope::Threadgroup,
                               site, &mine, &Tile::run);
  }

 private:
  static constexpr void require_cooperative_inputs() {
    static_assert(kSimdGroups == 1, "cooperative inputs need execution_simdgroup");
    static_assert(kDescriptor.k != kDynamic, "cooperative inputs need a static K");
    static_assert(kRows == 32 || kColumns == 32 || kDescriptor.k == 32,
                  "one of M, N, K must be 32 when both inputs are cooperative");
  }

  /// One lane's operands; `run` has those of all.
  template <class Left, class Right, class Destination>
  struct TileProduct {
    Left* left;
    Right* right;
    Destination* destination;
    shim::Site site;

    using D = shim::element_of<Destination>;
    using Sum = conditional_t<is_same_v<D, int32_t>, int32_t, float>;
    static constexpr bool kAccumulates =
        kDescriptor.matmul_mode == matmul2d_descriptor::mode::multiply_accumulate;

    GIRIH_EMULATOR_UNCHECKED static void run(void** payloads, unsigned count) {
      const TileProduct& first = *static_cast<TileProduct*>(payloads[0]);
      for (unsigned i = 0; i < count; ++i) {
        if (payloads[i] == nullptr) {
          shim::emulator::fail_at("matmul", "a lane of the execution scope is absent", first.site);
        }
        require_uniform(first, *static_cast<TileProduct*>(payloads[i]));
      }
      const int depth = first.depth();
      const auto size = [](int rows, int columns) {
        return sizeof(Sum) * static_cast<size_t>(rows) * static_cast<size_t>(columns);
      };
      Sum* const a = static_cast<Sum*>(shim::emulator::leader_memory(0, size(kRows, depth)));
      Sum* const b = static_cast<Sum*>(shim::emulator::leader_memory(1, size(depth, kColumns)));
      Sum* const c = static_cast<Sum*>(shim::emulator::leader_memory(2, size(kRows, kColumns)));
      gather<&TileProduct::left>(payloads, count, kDescriptor.transpose_left, kRows, depth, a);
      gather<&TileProduct::right>(payloads, count, kDescriptor.transpose_right, depth, kColumns, b);
      collect(payloads, count, c);
      shim::emulator::multiply(a, b, c, kRows, kColumns, depth);
      if (shim::emulator::config().breaks_matmul) {
        for (int i = 0; i < kRows * kColumns; ++i) c[i] += 1;
      }
      scatter(payloads, count, c);
    }

    GIRIH_EMULATOR_UNCHECKED static void require_uniform(const TileProduct& a,
                                                         const TileProduct& b) {
      bool same = true;
      if constexpr (shim::is_tensor<Left>) same = same && *a.left == *b.left;
      if constexpr (shim::is_tensor<Right>) same = same && *a.right == *b.right;
      if (same) return;
      shim::emulator::fail_at("matmul", "operands differ between lanes", a.site);
    }

    GIRIH_EMULATOR_UNCHECKED int depth() const {
      int left_depth = -1, right_depth = -1;
      if constexpr (shim::is_tensor<Left>) {
        left_depth = depth_of(*left, kDescriptor.transpose_left ? 1 : 0);
      }
      if constexpr (shim::is_tensor<Right>) {
        right_depth = depth_of(*right, kDescriptor.transpose_right ? 0 : 1);
      }
      if (kDescriptor.k != kDynamic) {
        const bool overruns = (left_depth >= 0 && left_depth < kDescriptor.k) ||
                              (right_depth >= 0 && right_depth < kDescriptor.k);
        if (overruns) {
          shim::emulator::fail_at("matmul", "a static K reaches past an operand's extent", site);
        }
        return kDescriptor.k;
      }
      if (left_depth != right_depth) {
        shim::emulator::fail_at("matmul", "operands disagree about K", left_depth, right_depth,
                                site);
      }
      return left_depth;
    }
    template <class Tensor>
    GIRIH_EMULATOR_UNCHECKED static int depth_of(const Tensor& operand, int dimension) {
      return operand.fixed[dimension] >= 0 ? operand.fixed[dimension]
                                           : operand.remaining(dimension);
    }

    /// An operand as rows x columns, from memory or from the lanes.
    template <auto kOperand>
    GIRIH_EMULATOR_UNCHECKED static void gather(void** payloads, unsigned count, bool transposed,
                                                int rows, int columns, Sum* out) {
      using Operand = std::remove_pointer_t<
          std::remove_cvref_t<decltype(static_cast<TileProduct*>(nullptr)->*kOperand)>>;
      const auto& first = *static_cast<const TileProduct*>(payloads[0]);
      if constexpr (shim::is_tensor<Operand>) {
        shim::require_aligned_rows(*(first.*kOperand), first.site);
        shim::fetch(*(first.*kOperand), transposed, rows, columns, out, first.site);
      } else {
        const int width = transposed ? rows : columns;
        for (unsigned lane = 0; lane < count; ++lane) {
          Operand& operand = *(static_cast<const TileProduct*>(payloads[lane])->*kOperand);
          for (unsigned slot = 0; slot < Operand::kCapacity; ++slot) {
            const int element = Operand::element_of(lane, slot);
            if (element < 0) continue;
            const int x = element % width, y = element / width;
            out[transposed ? x * columns + y : y * columns + x] =
                shim::operand_value<Sum>(operand.values[slot]);
          }
        }
      }
    }

    /// What is added to.
    GIRIH_EMULATOR_UNCHECKED static void collect(void** payloads, unsigned count, Sum* out) {
      for (int i = 0; i < kRows * kColumns; ++i) out[i] = 0;
      if constexpr (!kAccumulates) return;
      const auto& first = *static_cast<const TileProduct*>(payloads[0]);
      if constexpr (shim::is_cooperative<Destination>) {
        for (unsigned lane = 0; lane < count; ++lane) {
          const auto& mine = *static_cast<const TileProduct*>(payloads[lane]);
          for (unsigned slot = 0; slot < Destination::kCapacity; ++slot) {
            const int element = Destination::element_of(lane, slot);
            if (element >= 0) out[element] = static_cast<Sum>(mine.destination->values[slot]);
          }
        }
      } else {
        shim::fetch(*first.destination, false, kRows, kColumns, out, first.site);
      }
    }

    GIRIH_EMULATOR_UNCHECKED static void scatter(void** payloads, unsigned count, const Sum* sums) {
      const auto& first = *static_cast<const TileProduct*>(payloads[0]);
      if constexpr (shim::is_cooperative<Destination>) {
        for (unsigned lane = 0; lane < count; ++lane) {
          const auto& mine = *static_cast<const TileProduct*>(payloads[lane]);
          for (unsigned slot = 0; slot < Destination::kCapacity; ++slot) {
            const int element = Destination::element_of(lane, slot);
            if (element >= 0) mine.destination->values[slot] = static_cast<D>(sums[element]);
          }
        }
      } else {
        for (int y = 0; y < kRows; ++y) {
          for (int x = 0; x < kColumns; ++x) {
            if (!first.destination->holds(x, y)) continue;
            D* const to = first.destination->at(x, y);
            shim::emulator::note_write(to, sizeof(D), first.site);
            *to = static_cast<D>(sums[y * kColumns + x]);
          }
        }
      }
    }
  };
};

}  // namespace mpp::tensor_ops
