// Copies, casts and fills over strided views. A SIMD group takes a segment of the last dimension at
// a time, so that the divisions that find its place are paid once for 512 elements.
#include "backends/metal/kernels/small_float.h"

// Place of a segment: its first element in both views, and how many it has.
struct Segment {
  Index source, destination;
  int count;
};

inline Segment segment_at(Index index, constant WalkParams& p) {
  constexpr int kLast = kWalkRank - 1;
  Segment segment;
  Index row = index / p.segments_per_row;
  const Index first = (index - row * p.segments_per_row) * kWalkSegment;
  segment.source = first * p.source_strides[kLast];
  segment.destination = first * p.destination_strides[kLast];
  for (int d = kLast - 1; d >= 0; --d) {
    const Index next = row / p.extents[d], i = row - next * p.extents[d];
    segment.source += i * p.source_strides[d];
    segment.destination += i * p.destination_strides[d];
    row = next;
  }
  segment.count = int(min(p.extents[kLast] - first, Index(kWalkSegment)));
  return segment;
}

template <typename T>
inline void copy_segment(device const uchar* source, device uchar* destination, Segment segment,
                         uint lane, constant WalkParams& p) {
  const Index read_step = p.source_strides[kWalkRank - 1];
  const Index write_step = p.destination_strides[kWalkRank - 1];
  device const T* const from = reinterpret_cast<device const T*>(source) + segment.source;
  device T* const to = reinterpret_cast<device T*>(destination) + segment.destination;
  for (int i = int(lane); i < segment.count; i += 32) to[i * write_step] = from[i * read_step];
}

template <typename T>
inline void fill_segment(device uchar* destination, Segment segment, uint lane,
                         constant WalkParams& p) {
  const Index step = p.destination_strides[kWalkRank - 1];
  const T pattern = T(p.pattern);
  device T* const to = reinterpret_cast<device T*>(destination) + segment.destination;
  for (int i = int(lane); i < segment.count; i += 32) to[i * step] = pattern;
}

inline float load_float(device const uchar* data, Word type, Index i) {
  if (type == kF32) return reinterpret_cast<device const float*>(data)[i];
  if (type == kF8E4M3) return widen<4, 3, false>(data[i]);
  if (type == kF8E5M2) return widen<5, 2, true>(data[i]);
  const uint pattern = reinterpret_cast<device const ushort*>(data)[i];
  return type == kBF16 ? widen<8, 7, true>(pattern) : widen<5, 10, true>(pattern);
}

inline void store_float(device uchar* data, Word type, Index i, float value) {
  if (type == kF32) {
    reinterpret_cast<device float*>(data)[i] = value;
  } else if (type == kF8E4M3) {
    data[i] = uchar(narrow<4, 3, false>(value));
  } else if (type == kF8E5M2) {
    data[i] = uchar(narrow<5, 2, true>(value));
  } else {
    const uint pattern = type == kBF16 ? narrow<8, 7, true>(value) : narrow<5, 10, true>(value);
    reinterpret_cast<device ushort*>(data)[i] = ushort(pattern);
  }
}

[[kernel, max_total_threads_per_threadgroup(128)]] void copy_walk(
    device const uchar* source [[buffer(0)]], device uchar* destination [[buffer(1)]],
    constant WalkParams& p [[buffer(2)]], uint group [[threadgroup_position_in_grid]],
    uint groups [[threadgroups_per_grid]], uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint simdgroups [[simdgroups_per_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
  const Index step = Index(groups) * simdgroups;
  for (Index i = Index(group) * simdgroups + simdgroup; i < p.segments; i += step) {
    const Segment segment = segment_at(i, p);
    if (p.bytes == 1) {
      copy_segment<uchar>(source, destination, segment, lane, p);
    } else if (p.bytes == 2) {
      copy_segment<ushort>(source, destination, segment, lane, p);
    } else if (p.bytes == 4) {
      copy_segment<uint>(source, destination, segment, lane, p);
    } else {
      copy_segment<ulong>(source, destination, segment, lane, p);
    }
  }
}

[[kernel, max_total_threads_per_threadgroup(128)]] void fill_walk(
    device uchar* destination [[buffer(1)]], constant WalkParams& p [[buffer(2)]],
    uint group [[threadgroup_position_in_grid]], uint groups [[threadgroups_per_grid]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint simdgroups [[simdgroups_per_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
  const Index step = Index(groups) * simdgroups;
  for (Index i = Index(group) * simdgroups + simdgroup; i < p.segments; i += step) {
    const Segment segment = segment_at(i, p);
    if (p.bytes == 1) {
      fill_segment<uchar>(destination, segment, lane, p);
    } else if (p.bytes == 2) {
      fill_segment<ushort>(destination, segment, lane, p);
    } else if (p.bytes == 4) {
      fill_segment<uint>(destination, segment, lane, p);
    } else {
      fill_segment<ulong>(destination, segment, lane, p);
    }
  }
}

[[kernel, max_total_threads_per_threadgroup(128)]] void cast_walk(
    device const uchar* source [[buffer(0)]], device uchar* destination [[buffer(1)]],
    constant WalkParams& p [[buffer(2)]], uint group [[threadgroup_position_in_grid]],
    uint groups [[threadgroups_per_grid]], uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint simdgroups [[simdgroups_per_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
  const Index read_step = p.source_strides[kWalkRank - 1];
  const Index write_step = p.destination_strides[kWalkRank - 1];
  const Word source_type = p.source_type, destination_type = p.destination_type;
  const Index step = Index(groups) * simdgroups;
  for (Index s = Index(group) * simdgroups + simdgroup; s < p.segments; s += step) {
    const Segment segment = segment_at(s, p);
    for (int i = int(lane); i < segment.count; i += 32) {
      const float value = load_float(source, source_type, segment.source + i * read_step);
      store_float(destination, destination_type, segment.destination + i * write_step, value);
    }
  }
}

inline uint rounded_to_tf32(uint bits) {
  constexpr uint kInfinity = 0x7F800000u, kKept = 0xFFFFE000u;
  if ((bits & kInfinity) == kInfinity) {
    return (bits & ~kInfinity) << 1 == 0 ? bits : (bits | 0x00400000u) & kKept;
  }
  const uint nearest = (bits + 0x0FFFu + (bits >> 13 & 1u)) & kKept;
  return (nearest & kInfinity) == kInfinity ? bits & kKept : nearest;  // none becomes infinite
}

[[kernel, max_total_threads_per_threadgroup(128)]] void parts_walk(
    device const uint* source [[buffer(0)]], device uint* destination [[buffer(1)]],
    constant PartsParams& p [[buffer(2)]], uint group [[threadgroup_position_in_grid]],
    uint groups [[threadgroups_per_grid]], uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint simdgroups [[simdgroups_per_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
  const Index read_step = p.walk.source_strides[kWalkRank - 1];
  const Index write_step = p.walk.destination_strides[kWalkRank - 1];
  const Index step = Index(groups) * simdgroups;
  for (Index s = Index(group) * simdgroups + simdgroup; s < p.walk.segments; s += step) {
    const Segment segment = segment_at(s, p.walk);
    for (int i = int(lane); i < segment.count; i += 32) {
      const uint bits = source[segment.source + i * read_step];
      device uint* const to = destination + segment.destination + i * write_step;
      const uint high = rounded_to_tf32(bits);
      if (p.code == kRounded) {
        to[0] = high;
        continue;
      }
      const bool is_finite = (high & 0x7F800000u) != 0x7F800000u;
      const float rest = is_finite ? as_type<float>(bits) - as_type<float>(high) : 0.0f;
      const uint low = rounded_to_tf32(as_type<uint>(rest)), finite_high = is_finite ? high : 0u;
      to[0] = p.code == kPartsOfA ? low : finite_high;
      to[p.part_stride] = p.code == kPartsOfA ? finite_high : low;
      to[2 * p.part_stride] = high;
    }
  }
}

[[kernel, max_total_threads_per_threadgroup(128)]] void nibble_walk(
    device const uchar* source [[buffer(0)]], device uchar* destination [[buffer(1)]],
    constant NibbleParams& p [[buffer(2)]], uint first [[thread_position_in_grid]],
    uint threads [[threads_per_grid]]) {
  const Index bytes = (p.count + 1) / 2;
  for (Index i = first; i < bytes; i += threads) {
    uint value = p.pattern;
    if (p.is_fill == 0) value = source[i];
    if (i == bytes - 1 && p.count % 2 != 0) value = (destination[i] & 0xF0u) | (value & 0x0Fu);
    destination[i] = uchar(value);
  }
}
