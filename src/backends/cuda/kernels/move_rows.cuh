#pragma once
// Moves of rows at any alignment of either side.

#include "backends/cuda/kernels/move_params.hpp"

namespace girih::inline v0::cuda {

template <int kBytes>
struct Bytes;
template <>
struct Bytes<1> {
  using Type = std::uint8_t;
};
template <>
struct Bytes<2> {
  using Type = std::uint16_t;
};
template <>
struct Bytes<4> {
  using Type = std::uint32_t;
};
template <>
struct Bytes<8> {
  using Type = uint2;
};
template <>
struct Bytes<16> {
  using Type = uint4;
};

template <int kWords>
__device__ __forceinline__ void load_words(const char* from, std::uint32_t* words) {
  static_assert(kWords == 1 || kWords == 2 || kWords == 4);
  const auto x = *reinterpret_cast<const typename Bytes<4 * kWords>::Type*>(from);
  if constexpr (kWords == 4) {
    words[0] = x.x, words[1] = x.y, words[2] = x.z, words[3] = x.w;
  } else if constexpr (kWords == 2) {
    words[0] = x.x, words[1] = x.y;
  } else {
    words[0] = x;
  }
}
template <int kWords>
__device__ __forceinline__ void store_words(char* to, const std::uint32_t (&words)[kWords]) {
  static_assert(kWords == 1 || kWords == 2 || kWords == 4);
  if constexpr (kWords == 1) {
    *reinterpret_cast<std::uint32_t*>(to) = words[0];
  } else if constexpr (kWords == 4) {
    *reinterpret_cast<uint4*>(to) = {words[0], words[1], words[2], words[3]};
  } else {
    *reinterpret_cast<uint2*>(to) = {words[0], words[1]};
  }
}

/// The words that begin `shift` bytes behind those loaded, of which the last kExtra are one access.
/// kElement bytes divide `shift`.
template <int kElement, int kWords, int kExtra>
__device__ __forceinline__ void shift_words(std::uint32_t (&x)[kWords + kExtra], int shift) {
#pragma unroll
  for (int by = kExtra / 2; by > 0; by /= 2) {
#pragma unroll
    for (int i = 0; i < kWords + by; ++i) {
      if (i + by < kWords + kExtra && (shift & 4 * by) != 0) x[i] = x[i + by];
    }
  }
  if constexpr (kElement < 4) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      x[i] = __funnelshift_r(x[i], x[i + 1], static_cast<unsigned>(shift % 4 * 8));
    }
  }
}

/// Units of Value::kUnit. Value::unit makes the words that one writes of those that it reads,
/// Value::element moves one element.
template <class Value>
__global__ void __launch_bounds__(kMoveThreads) move_rows(const __grid_constant__ RowParams p) {
  constexpr RowUnit kUnit = Value::kUnit;
  constexpr int kReads = kUnit.read() / 4, kWrites = kUnit.written() / 4, kExtra = kUnit.word() / 4,
                kInFlight = kUnit.in_flight;
  const std::uint32_t thread = blockIdx.x * kMoveThreads + threadIdx.x;
  const std::uint32_t piece = thread >> p.lanes_log2;
  if (piece >= p.pieces) return;
  const std::uint32_t row = quotient(piece, p.row_pieces),
                      of_row = piece - row * p.row_pieces.value;
  const MoveOffsets at = offsets_of(p.outer, row);
  const char* source = static_cast<const char*>(p.source) + at.source;
  char* destination = static_cast<char*>(p.destination) + at.destination;
  const int elements = static_cast<int>(p.elements), lanes = static_cast<int>(p.lanes),
            lane = static_cast<int>(thread % p.lanes);
  const RowPlace place = row_place(kUnit, reinterpret_cast<std::uintptr_t>(source),
                                   reinterpret_cast<std::uintptr_t>(destination), elements, p.line);
  const int first = static_cast<int>(of_row) * lanes * kInFlight + lane - place.skip;

  const std::int64_t unit = std::int64_t{first} * kUnit.elements + place.head;
  const char* const from = source + unit * kUnit.source_bytes - place.shift;
  std::uint32_t words[kInFlight][kReads > 0 ? kReads + kExtra : 1];
  if constexpr (kReads > 0) {
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      if (first + i * lanes < 0 || first + i * lanes >= place.units) continue;
      const char* const word = from + i * lanes * kUnit.read();
#pragma unroll
      for (int w = 0; w < kReads; w += kExtra) load_words<kExtra>(word + 4 * w, words[i] + w);
      if (place.shift != 0) load_words<kExtra>(word + 4 * kReads, words[i] + kReads);
    }
  }
  // Meanwhile what lies around the units: the first piece has what is before them, the last what is
  // behind them.
  const Value value(p);
  const int heads = of_row == 0 ? place.head : 0,
            others = heads + (of_row + 1 == p.row_pieces.value ? place.tail : 0);
#pragma unroll 1
  for (int i = lane; i < others; i += lanes) {
    const std::int64_t e = i < heads ? i : elements - others + i;
    value.element(source + e * kUnit.source_bytes, destination + e * kUnit.destination_bytes);
  }
  char* const to = destination + unit * kUnit.destination_bytes;
#pragma unroll
  for (int i = 0; i < kInFlight; ++i) {
    if (first + i * lanes < 0 || first + i * lanes >= place.units) continue;
    if constexpr (kReads > 0) {
      if (place.shift != 0) shift_words<kUnit.source_bytes, kReads, kExtra>(words[i], place.shift);
    }
    std::uint32_t written[kWrites];
    value.unit(words[i], written);
    store_words(to + i * lanes * kUnit.written(), written);
  }
}

}  // namespace girih::inline v0::cuda
