// Row softmax, one threadgroup a row: y = exp(x scale + mask - max) / sum.
#include "backends/metal/kernels/msl.h"
using namespace metal;

struct SoftmaxArguments {
  uint columns, stride;
  float scale;
};

GIRIH_FUNCTION_CONSTANT(bool, has_mask, 0);

// What is wrong with an instance; each line that breaks a rule is marked with the fault's name.
enum Fault { kNone, kNoBarrier, kWriteBeforeRead, kWrongFlag, kSimdBarrier, kReadsPastEnd, kUnwritten, kReturnsEarly };

template <typename T, Fault kFault>
[[kernel, max_total_threads_per_threadgroup(256)]] void softmax_row(
    device const T* x [[buffer(0)]], device T* y [[buffer(1)]],
    constant SoftmaxArguments& arguments [[buffer(2)]],
    device const T* mask [[buffer(3), function_constant(has_mask)]],
    uint row [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]],
    uint threads [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint group [[simdgroup_index_in_threadgroup]], uint groups [[simdgroups_per_threadgroup]]) {
  GIRIH_THREADGROUP_ARRAY(float, partial, 32);
  const uint columns = arguments.columns;
  const uint end = kFault == kReadsPastEnd ? columns + 1 : columns;
  device const T* from = x + ulong(row) * arguments.stride;
  device T* to = y + ulong(row) * arguments.stride;

  float largest = -INFINITY;
  for (uint i = thread_index; i < end; i += threads) {
    float value = float(from[i]) * arguments.scale;  // fault: kReadsPastEnd
    if (has_mask) value += float(mask[i]);
    largest = max(largest, value);
  }
  largest = simd_max(largest);
  if (lane == 0) partial[group] = largest;
  if (kFault == kWrongFlag) {
    threadgroup_barrier(mem_flags::mem_device);
  } else if (kFault == kSimdBarrier) {
    simdgroup_barrier(mem_flags::mem_threadgroup);
  } else if (kFault != kNoBarrier) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  float other = -INFINITY;
  if (lane < groups) other = partial[lane];  // fault: kNoBarrier kWrongFlag kSimdBarrier kWriteBeforeRead
  largest = simd_max(other);

  float sum = 0.0f;
  for (uint i = thread_index; i < columns; i += threads) {
    float value = float(from[i]) * arguments.scale;
    if (has_mask) value += float(mask[i]);
    sum += precise::exp(value - largest);
  }
  sum = simd_sum(sum);
  if (kFault != kWriteBeforeRead) threadgroup_barrier(mem_flags::mem_threadgroup);
  if (lane == 0) partial[group] = sum;  // fault: kWriteBeforeRead
  threadgroup_barrier(mem_flags::mem_threadgroup);
  other = 0.0f;
  if (kFault == kUnwritten || lane < groups) other = partial[lane];  // fault: kUnwritten
  sum = simd_sum(other);
  if (kFault == kReturnsEarly) {
    if (thread_index * 4 >= columns) return;
    threadgroup_barrier(mem_flags::mem_none);  // fault: kReturnsEarly
  }
  for (uint i = thread_index; i < columns; i += threads) {
    float value = float(from[i]) * arguments.scale;
    if (has_mask) value += float(mask[i]);
    to[i] = T(precise::exp(value - largest) / sum);
  }
}
GIRIH_INSTANTIATE("softmax_f32", softmax_row<float, kNone>);
GIRIH_INSTANTIATE("softmax_f16", softmax_row<half, kNone>);
GIRIH_INSTANTIATE("softmax_bf16", softmax_row<bfloat, kNone>);
GIRIH_INSTANTIATE("kNoBarrier", softmax_row<float, kNoBarrier>);
GIRIH_INSTANTIATE("kWriteBeforeRead", softmax_row<float, kWriteBeforeRead>);
GIRIH_INSTANTIATE("kWrongFlag", softmax_row<float, kWrongFlag>);
GIRIH_INSTANTIATE("kSimdBarrier", softmax_row<float, kSimdBarrier>);
GIRIH_INSTANTIATE("kReadsPastEnd", softmax_row<float, kReadsPastEnd>);
GIRIH_INSTANTIATE("kUnwritten", softmax_row<float, kUnwritten>);
GIRIH_INSTANTIATE("kReturnsEarly", softmax_row<float, kReturnsEarly>);
