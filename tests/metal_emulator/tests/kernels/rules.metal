// Small kernels that each break one rule of memory or of control flow.
#include "backends/metal/kernels/msl.h"
using namespace metal;

[[kernel]] void copies(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                       uint i [[thread_position_in_grid]]) {
  y[i] = x[i];  // line: copies
}

[[kernel]] void neighbours_write(device float* y [[buffer(0)]], uint group [[threadgroup_position_in_grid]],
                                 uint i [[thread_index_in_threadgroup]]) {
  y[group + i] = 1.0f;  // fault: neighbours_write
}

[[kernel]] void lanes_write(device float* y [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
  y[i / 2] = 1.0f;  // fault: lanes_write
}

[[kernel]] void bytes_write(device uchar* y [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
  y[i] = uchar(i);
}

[[kernel]] void array_overrun(device float* y [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
  GIRIH_THREADGROUP_ARRAY(float, part, 32);
  part[i + 1] = 1.0f;  // fault: array_overrun
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[i] = part[i + 1];
}

[[kernel]] void wild_pointer(device float* y [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
  y[ulong(i) + 1000000000ul] = 1.0f;  // fault: wild_pointer
}

[[kernel]] void different_barriers(device float* y [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
  if (i < 16) {
    threadgroup_barrier(mem_flags::mem_device);
  } else {
    threadgroup_barrier(mem_flags::mem_device);  // fault: different_barriers
  }
  y[i] = 1.0f;
}

[[kernel]] void waits_for_nobody(device float* y [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
  if (i < 32) threadgroup_barrier(mem_flags::mem_device);  // fault: waits_for_nobody
  y[i] = 1.0f;
}

[[kernel]] void absent_lane(device float* y [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
  if (i == 5) return;
  y[i] = simd_shuffle(float(i), ushort(5));  // fault: absent_lane
}

[[kernel]] void too_much_memory(device float* y [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
  GIRIH_THREADGROUP_ARRAY(float, large, 9000);  // fault: too_much_memory
  large[i] = 1.0f;
  y[i] = large[i];
}

[[kernel]] void counts(device atomic_uint* y [[buffer(0)]]) {
  atomic_fetch_add_explicit(y, 1u, memory_order_relaxed);
}

[[kernel]] void reads_a_count(device atomic_uint* y [[buffer(0)]], device uint* z [[buffer(1)]],
                              uint i [[thread_index_in_threadgroup]]) {
  atomic_fetch_add_explicit(y, 1u, memory_order_relaxed);  // fault: reads_a_count
  z[i] = *reinterpret_cast<device uint*>(y);  // fault: reads_a_count
}

[[kernel]] void argument_memory(threadgroup float* part [[threadgroup(0)]], device float* y [[buffer(0)]],
                                uint i [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
  part[i] = float(i);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[i] = part[n - 1 - i];
}

[[kernel, max_total_threads_per_threadgroup(64)]] void small_groups(device float* y [[buffer(0)]],
                                                                    uint i [[thread_position_in_grid]]) {
  y[i] = 1.0f;
}
