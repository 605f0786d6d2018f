// Copies and fills of rows, and transposes: what memory moves, many bytes in flight.

#include "backends/cuda/kernels/move_kernels.hpp"

namespace girih::inline v0::cuda {
namespace {

template <int kBytes>
struct Unit;
template <>
struct Unit<1> {
  using Type = std::uint8_t;
};
template <>
struct Unit<2> {
  using Type = std::uint16_t;
};
template <>
struct Unit<4> {
  using Type = std::uint32_t;
};
template <>
struct Unit<8> {
  using Type = uint2;
};
template <>
struct Unit<16> {
  using Type = uint4;
};

/// Calls move(offset) for each element that no unit has.
template <class Move>
__device__ __forceinline__ void walk_tails(const MoveParams& p, Move move) {
  const std::uint32_t step = gridDim.x * kMoveThreads;
  for (std::uint32_t i = blockIdx.x * kMoveThreads + threadIdx.x; i < p.tails; i += step) {
    const std::uint32_t row = quotient(i, p.row_tails), element = i - row * p.row_tails.value;
    MoveOffsets at = offsets_of(p.outer, row);
    at.source += tail_offset(p, element, p.source_tail, p.bytes);
    at.destination += tail_offset(p, element, p.destination_tail, p.bytes);
    move(at);
  }
}

// A warp takes neighbouring units of one row, and finds its place once for all of them.
template <int kBytes>
__device__ __forceinline__ void copy_chunks(const MoveParams& p, const char* source,
                                            char* destination) {
  using T = typename Unit<kBytes>::Type;
  constexpr int kInFlight = move_in_flight(kBytes);
  const std::uint32_t warps = gridDim.x * (kMoveThreads / 32);
  for (std::uint32_t chunk = (blockIdx.x * kMoveThreads + threadIdx.x) / 32; chunk < p.chunks;
       chunk += warps) {
    const std::uint32_t row = quotient(chunk, p.row_chunks);
    const MoveOffsets at = offsets_of(p.outer, row);
    const std::uint32_t first =
        (chunk - row * p.row_chunks.value) * move_chunk(kBytes) + threadIdx.x % 32;
    const std::int64_t offset = static_cast<std::int64_t>(first) * kBytes;
    const T* const from = reinterpret_cast<const T*>(source + at.source + offset);
    T* const to = reinterpret_cast<T*>(destination + at.destination + offset);
    const int left = static_cast<int>(p.row_units.value - first);
    T value[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      if (32 * i < left) value[i] = from[32 * i];
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      if (32 * i < left) to[32 * i] = value[i];
    }
  }
}

template <int kBytes>
__device__ __forceinline__ void copy_units(const MoveParams& p, const char* source,
                                           char* destination) {
  using T = typename Unit<kBytes>::Type;
  constexpr int kInFlight = 4;
  const std::uint32_t threads = gridDim.x * kMoveThreads;
  for (std::uint32_t first = blockIdx.x * kMoveThreads + threadIdx.x; first < p.units;
       first += kInFlight * threads) {
    T value[kInFlight];
    char* to[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::uint32_t unit = first + i * threads;
      if (unit >= p.units) continue;
      const std::uint32_t row = quotient(unit, p.row_units);
      const MoveOffsets at = offsets_of(p.outer, row);
      const std::int64_t inside = std::int64_t{unit - row * p.row_units.value} * kBytes;
      value[i] = *reinterpret_cast<const T*>(source + at.source + inside);
      to[i] = destination + at.destination + inside;
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      if (first + i * threads < p.units) *reinterpret_cast<T*>(to[i]) = value[i];
    }
  }
}

template <int kBytes>
__global__ void __launch_bounds__(kMoveThreads) copy_rows(const __grid_constant__ MoveParams p) {
  const char* const source = static_cast<const char*>(p.source);
  char* const destination = static_cast<char*>(p.destination);
  if (p.chunks != 0) {
    copy_chunks<kBytes>(p, source + p.head_bytes, destination + p.head_bytes);
  } else {
    copy_units<kBytes>(p, source + p.head_bytes, destination + p.head_bytes);
  }
  walk_tails(p, [&](const MoveOffsets& at) {
    for (int i = 0; i < p.bytes; ++i) destination[at.destination + i] = source[at.source + i];
  });
}

template <int kBytes>
__device__ __forceinline__ typename Unit<kBytes>::Type filled(std::uint64_t pattern) {
  const auto low = static_cast<std::uint32_t>(pattern),
             high = static_cast<std::uint32_t>(pattern >> 32);
  if constexpr (kBytes == 16) {
    return {low, high, low, high};
  } else if constexpr (kBytes == 8) {
    return {low, high};
  } else {
    return static_cast<typename Unit<kBytes>::Type>(low);
  }
}

template <int kBytes>
__global__ void __launch_bounds__(kMoveThreads) fill_rows(const __grid_constant__ MoveParams p) {
  using T = typename Unit<kBytes>::Type;
  char* const destination = static_cast<char*>(p.destination);
  const T value = filled<kBytes>(p.pattern);
  const std::uint32_t threads = gridDim.x * kMoveThreads;
  for (std::uint32_t unit = blockIdx.x * kMoveThreads + threadIdx.x; unit < p.units;
       unit += threads) {
    std::int64_t at = 0, inside = unit;
    if (p.outer.count != 0) {
      const std::uint32_t row = quotient(unit, p.row_units);
      at = offsets_of(p.outer, row).destination;
      inside = unit - row * p.row_units.value;
    }
    *reinterpret_cast<T*>(destination + p.head_bytes + at + inside * kBytes) = value;
  }
  walk_tails(p, [&](const MoveOffsets& at) {
    for (int i = 0; i < p.bytes; ++i) {
      destination[at.destination + i] = static_cast<char>(p.pattern >> (8 * i));
    }
  });
}

// The first `count` of kWidth neighbours.
template <class T, class Wide, int kWidth>
__device__ __forceinline__ Wide load_some(const char* from, int count) {
  if (kWidth == 1 || count == kWidth) return *reinterpret_cast<const Wide*>(from);
  if constexpr (kWidth > 1) {
    Wide value = 0;
#pragma unroll 1
    for (int e = 0; e < count; ++e) {
      value |= Wide{reinterpret_cast<const T*>(from)[e]} << (8 * sizeof(T) * e);
    }
    return value;
  }
}

// kWidth elements of the source's rows go through shared memory in one access, and as many of the
// destination's are gathered out of a column there.
template <int kBytes, int kWidth>
__global__ void __launch_bounds__(kMoveThreads, 6)
    transpose(const __grid_constant__ TransposeParams p) {
  using T = typename Unit<kBytes>::Type;
  using Wide = typename Unit<kBytes * kWidth>::Type;
  constexpr int kSide = transpose_side(kBytes), kPitch = transpose_pitch(kBytes);
  constexpr int kOfRow = kSide / kWidth, kRows = kMoveThreads / kOfRow, kLoads = kSide / kRows;
  constexpr int kBatch = kLoads < 8 ? kLoads : 8;  // under way at once
  extern __shared__ __align__(16) unsigned char tile[];
  const int first_x = threadIdx.x % kOfRow * kWidth, first_y = threadIdx.x / kOfRow;
  const std::int64_t pass = kRows * p.source_row;
  for (std::uint32_t unit = blockIdx.x; unit < p.tiles; unit += gridDim.x) {
    const std::uint32_t beside = quotient(unit, p.tiles_x), row = quotient(beside, p.tiles_y);
    const std::int64_t x0 = std::int64_t{unit - beside * p.tiles_x.value} * kSide,
                       y0 = std::int64_t{beside - row * p.tiles_y.value} * kSide;
    const MoveOffsets at = offsets_of(p.outer, row);
    const char* const source = static_cast<const char*>(p.source) + at.source;
    char* const destination = static_cast<char*>(p.destination) + at.destination;
    const std::int64_t x = x0 + first_x;
    const char* from = source + (y0 + first_y) * p.source_row + x * kBytes;
    unsigned char* into = tile + first_y * kPitch + first_x * kBytes;
    int y_left = static_cast<int>(p.y - y0 < kSide ? p.y - y0 : kSide) - first_y;
    const int x_left = static_cast<int>(p.x - x < kWidth ? p.x - x : kWidth);
#pragma unroll 1
    for (int i = 0; i < kLoads; i += kBatch) {
      Wide loaded[kBatch];
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        if (j * kRows < y_left && x_left > 0) {
          loaded[j] = load_some<T, Wide, kWidth>(from + j * pass, x_left);
        }
      }
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        *reinterpret_cast<Wide*>(into + j * kRows * kPitch) = loaded[j];
      }
      from += kBatch * pass;
      into += kBatch * kRows * kPitch;
      y_left -= kBatch * kRows;
    }
    __syncthreads();
    for (int step = threadIdx.x / 32; step < transpose_steps(kSide, kWidth);
         step += kMoveThreads / 32) {
      const TransposePlace place = transpose_place(kSide, kWidth, step, threadIdx.x % 32);
      const std::int64_t to_x = x0 + place.x, y = y0 + place.y;
      if (to_x >= p.x || y >= p.y) continue;
      T value[kWidth];
#pragma unroll
      for (int e = 0; e < kWidth; ++e) {
        value[e] = *reinterpret_cast<const T*>(tile + (place.y + e) * kPitch + place.x * kBytes);
      }
      T* const to = reinterpret_cast<T*>(destination + to_x * p.destination_row) + y;
      if (kWidth == 1 || y + kWidth > p.y) {
#pragma unroll
        for (int e = 0; e < kWidth; ++e) {
          if (y + e < p.y) to[e] = value[e];
        }
      } else if constexpr (kWidth > 1) {
        Wide wide = 0;
#pragma unroll
        for (int e = 0; e < kWidth; ++e) wide |= Wide{value[e]} << (8 * kBytes * e);
        *reinterpret_cast<Wide*>(to) = wide;
      }
    }
    __syncthreads();
  }
}

}  // namespace

#define GIRIH_BY_UNIT(kernel, unit)                          \
  (unit) == 16  ? reinterpret_cast<const void*>(&kernel<16>) \
  : (unit) == 8 ? reinterpret_cast<const void*>(&kernel<8>)  \
  : (unit) == 4 ? reinterpret_cast<const void*>(&kernel<4>)  \
  : (unit) == 2 ? reinterpret_cast<const void*>(&kernel<2>)  \
                : reinterpret_cast<const void*>(&kernel<1>)

const void* copy_rows_kernel(int unit) {
  return GIRIH_BY_UNIT(copy_rows, unit);
}
const void* fill_rows_kernel(int unit) {
  return GIRIH_BY_UNIT(fill_rows, unit);
}
#undef GIRIH_BY_UNIT

const void* transpose_kernel(int bytes, bool is_wide) {
  switch (bytes) {
    case 1:
      return is_wide ? reinterpret_cast<const void*>(&transpose<1, 4>)
                     : reinterpret_cast<const void*>(&transpose<1, 1>);
    case 2:
      return is_wide ? reinterpret_cast<const void*>(&transpose<2, 2>)
                     : reinterpret_cast<const void*>(&transpose<2, 1>);
    case 4:
      return reinterpret_cast<const void*>(&transpose<4, 1>);
    default:
      return reinterpret_cast<const void*>(&transpose<8, 1>);
  }
}

}  // namespace girih::inline v0::cuda
