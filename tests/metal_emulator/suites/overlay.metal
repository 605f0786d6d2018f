// Kernels of a caller's.
#include "backends/metal/kernels/msl.h"

using namespace metal;

struct Line {
  float slope, offset;
};

[[kernel]] void along_line(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                           constant Line& line [[buffer(2)]], constant uint& count [[buffer(3)]],
                           uint i [[thread_position_in_grid]]) {
  if (i < count) y[i] = line.slope * x[i] + line.offset;
}

[[kernel, max_total_threads_per_threadgroup(64)]] void write_places(
    device uint* out [[buffer(0)]], uint3 group [[threadgroup_position_in_grid]],
    uint3 thread_place [[thread_position_in_threadgroup]]) {
  out[group.y * 64 + thread_place.y * 16 + thread_place.x] = group.y * 100 + thread_place.y;
}

[[kernel]] void reverse_part(threadgroup uint* part [[threadgroup(0)]],
                             device uint* out [[buffer(0)]],
                             uint i [[thread_index_in_threadgroup]],
                             uint n [[threads_per_threadgroup]],
                             uint group [[threadgroup_position_in_grid]]) {
  part[i] = i;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[group * n + i] = part[n - 1 - i];
}
