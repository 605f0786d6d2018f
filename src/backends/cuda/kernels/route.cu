#include "backends/cuda/kernels/epilogue.cuh"
#include "backends/cuda/kernels/ptx.cuh"
#include "backends/cuda/kernels/routing_kernels.hpp"

// A counting sort of the pairs of a token and a slot by expert. The tokens are cut into parts: a
// block chooses for the tokens of one and counts their experts, one block turns the counts into
// places, and a warp puts the pairs of a part there in order. Only counts are added atomically, so
// that nothing depends on who comes first.

namespace girih::inline v0::cuda {
namespace {

constexpr std::uint32_t kAll = 0xFFFFFFFF;
constexpr std::uint32_t kNoRank = 0xFFFFFFFF;
constexpr int kHeld = 8;  // logits of a row that a lane keeps

// As RouterWeights.
constexpr int kSoftmaxOfAll = 1, kSigmoid = 2, kSigmoidOfChosen = 3;

struct Part {
  std::int64_t first, end;
};
__device__ __forceinline__ Part part_of(const RouteParams& p, std::int64_t part) {
  const std::int64_t first = p.least_tokens * part + min(part, p.longer_parts);
  return {first, first + p.least_tokens + (part < p.longer_parts ? 1 : 0)};
}

__device__ __forceinline__ std::int64_t at(const RowsRef& x, std::int64_t row,
                                           std::int64_t column) {
  return row * x.row + column * x.column;
}
__device__ __forceinline__ std::int32_t& integer(const RowsRef& x, std::int64_t row,
                                                 std::int64_t column) {
  return static_cast<std::int32_t*>(x.data)[at(x, row, column)];
}
__device__ __forceinline__ float logit(const RouteParams& p, std::int64_t token,
                                       std::int64_t expert) {
  const std::int64_t i = at(p.logits, token, expert);
  if (p.logits.type == Element::F32) return static_cast<const float*>(p.logits.data)[i];
  return unpack(p.logits.type, static_cast<const std::uint16_t*>(p.logits.data)[i]).x;
}

/// The less, the earlier: 0 for NaN, then larger numbers before smaller ones; -0 as 0. At most
/// 0xFF800000.
__device__ __forceinline__ std::uint32_t rank_of(float x) {
  if (x != x) return 0;
  const std::uint32_t bits = __float_as_uint(x + 0.0f);
  return ~(bits ^ ((bits >> 31) != 0 ? 0xFFFFFFFFu : 0x80000000u));
}

/// A place in the order of a row's experts.
struct Choice {
  std::uint32_t rank = 0;
  std::int32_t expert = -1;

  __device__ __forceinline__ bool precedes(std::uint32_t other, std::int32_t index) const {
    return rank < other || (rank == other && expert < index);
  }
  /// Takes the expert if it is the first after `last` so far. Indices rise from call to call.
  __device__ __forceinline__ void offer(const Choice& last, std::uint32_t other,
                                        std::int32_t index) {
    if (last.precedes(other, index) && other < rank) rank = other, expert = index;
  }
};

/// Calls take(s, expert) with the experts of slots s = 0, 1, ... of a token, in every lane.
template <class Take>
__device__ __forceinline__ void choose(const RouteParams& p, std::int64_t token, const Take& take) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto experts = static_cast<std::int32_t>(p.experts);
  std::uint32_t held[kHeld];
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    const int e = i * 32 + lane;
    held[i] = e < experts ? rank_of(logit(p, token, e)) : kNoRank;
  }
  Choice last;
  for (std::int64_t s = 0; s < p.k; ++s) {
    Choice best{kNoRank, 0};
#pragma unroll
    for (int i = 0; i < kHeld; ++i) best.offer(last, held[i], i * 32 + lane);
#pragma unroll 1
    for (std::int32_t e = kHeld * 32 + lane; e < experts; e += 32) {
      best.offer(last, rank_of(logit(p, token, e)), e);
    }
    last.rank = __reduce_min_sync(kAll, best.rank);
    last.expert = static_cast<std::int32_t>(__reduce_min_sync(
        kAll, best.rank == last.rank ? static_cast<std::uint32_t>(best.expert) : kNoRank));
    take(s, last.expert);
  }
}

__device__ __forceinline__ float sum_of_warp(float x) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) x += __shfl_xor_sync(kAll, x, lanes);
  return x;
}

/// log(1 / (1 + exp(-x))), which does not underflow where that does.
__device__ __forceinline__ float log_sigmoid(float x) {
  const float least = x < 0.0f ? x : 0.0f;
  return (x != x ? x : least) - log1pf(expf(-fabsf(x)));
}

/// Weighs a token's slots, of which lane i has written the experts i, i + 32, ...; `largest` is the
/// first one's logit.
__device__ __forceinline__ void weigh(const RouteParams& p, std::int64_t token, float largest) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto of_slot = [&](std::int64_t s) -> float& {
    return static_cast<float*>(p.weights.data)[at(p.weights, token, s)];
  };
  const auto chosen_logit = [&](std::int64_t s) {
    return logit(p, token, integer(p.chosen, token, s));
  };
  if (p.kind == kSigmoid) {
#pragma unroll 1
    for (std::int64_t s = lane; s < p.k; s += 32) {
      of_slot(s) = p.scale / (1.0f + expf(-chosen_logit(s)));
    }
    return;
  }
  const bool is_sigmoid = p.kind == kSigmoidOfChosen;
  const float top = is_sigmoid ? log_sigmoid(largest) : largest;
  float sum = 0.0f;
#pragma unroll 1
  for (std::int64_t s = lane; s < p.k; s += 32) {
    const float l = chosen_logit(s);
    const float weight = expf((is_sigmoid ? log_sigmoid(l) : l) - top);
    of_slot(s) = weight;
    sum += weight;
  }
  if (p.kind == kSoftmaxOfAll) {
    sum = 0.0f;
    for (std::int64_t e = lane; e < p.experts; e += 32) sum += expf(logit(p, token, e) - top);
  }
  sum = sum_of_warp(sum);
#pragma unroll 1
  for (std::int64_t s = lane; s < p.k; s += 32) of_slot(s) = of_slot(s) / sum * p.scale;
}

__global__ void __launch_bounds__(kRouteThreads)
    route_choose(const __grid_constant__ RouteParams p) {
  ptx::wait_for_dependencies();
  ptx::launch_dependents();
  std::int32_t* const counts = p.counts + blockIdx.x * p.experts;
  for (std::int64_t e = threadIdx.x; e < p.experts; e += kRouteThreads) counts[e] = 0;
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const Part part = part_of(p, blockIdx.x);
  for (std::int64_t token = part.first + threadIdx.x / 32; token < part.end;
       token += kRouteThreads / 32) {
    std::int32_t first = 0;
    choose(p, token, [&](std::int64_t s, std::int32_t expert) {
      if (s == 0) first = expert;
      if (s % 32 != lane) return;
      integer(p.chosen, token, s) = expert;
      atomicAdd(counts + expert, 1);
    });
    weigh(p, token, logit(p, token, first));
  }
}

/// Sums over threads: experts lie along them, as many as make a power of two, and beside each other
/// runs of parts.
__global__ void __launch_bounds__(kRouteScanThreads)
    route_scan(const __grid_constant__ RouteParams p) {
  constexpr int kThreads = kRouteScanThreads;
  __shared__ std::int32_t of_runs[kThreads], starts[kThreads], of_warps[32];
  ptx::wait_for_dependencies();
  ptx::launch_dependents();
  int width = 32;
  while (width < kThreads && width < p.experts) width *= 2;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int expert_lane = thread & (width - 1), run = thread / width, runs = kThreads / width;
  const std::int64_t parts_of_run = (p.parts + runs - 1) / runs;
  const std::int64_t first = min(run * parts_of_run, p.parts);
  const std::int64_t end = min(first + parts_of_run, p.parts);
  std::int32_t carry = 0;
  for (std::int64_t base = 0; base < p.experts; base += width) {
    const std::int64_t e = base + expert_lane;
    std::int32_t own = 0;
    if (e < p.experts) {
#pragma unroll 8
      for (std::int64_t part = first; part < end; ++part) own += p.counts[part * p.experts + e];
    }
    of_runs[thread] = own;
    __syncthreads();
    std::int32_t before = 0, total = 0;
    for (int r = 0; r < runs; ++r) {
      const std::int32_t of_run = of_runs[r * width + expert_lane];
      before += r < run ? of_run : 0;
      total += of_run;
    }
    // The first run's threads scan the experts.
    std::int32_t inclusive = run == 0 ? total : 0;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const std::int32_t other = __shfl_up_sync(kAll, inclusive, step);
      if (lane >= step) inclusive += other;
    }
    if (lane == 31) of_warps[warp] = inclusive;
    __syncthreads();
    std::int32_t sum = 0, before_warp = 0;
    for (int w = 0; w < 32; ++w) {
      before_warp += w < warp ? of_warps[w] : 0;
      sum += of_warps[w];
    }
    if (run == 0) {
      starts[expert_lane] = carry + before_warp + inclusive - total;
      if (e < p.experts) integer(p.offsets, e, 0) = starts[expert_lane];
    }
    __syncthreads();
    if (e < p.experts) {
      std::int32_t place = starts[expert_lane] + before;
#pragma unroll 8
      for (std::int64_t part = first; part < end; ++part) {
        std::int32_t& count = p.counts[part * p.experts + e];
        const std::int32_t length = count;
        count = place;
        place += length;
      }
    }
    carry += sum;
    __syncthreads();
  }
  if (thread == 0) integer(p.offsets, p.experts, 0) = carry;
}

/// 32 pairs at a time: those of one expert find their order among themselves. The next place of
/// each expert is kept near by where there is room.
__global__ void __launch_bounds__(kRoutePlaceThreads)
    route_place(const __grid_constant__ RouteParams p) {
  constexpr int kNear = 2048;
  __shared__ std::int32_t near_by[kNear];
  ptx::wait_for_dependencies();
  ptx::launch_dependents();
  std::int32_t* const counted = p.counts + blockIdx.x * p.experts;
  const bool is_near = p.experts <= kNear;
  std::int32_t* const next = is_near ? near_by : counted;
  const std::uint32_t lane = threadIdx.x, below = (1u << lane) - 1;
  if (is_near) {
#pragma unroll 4
    for (std::int64_t e = lane; e < p.experts; e += 32) near_by[e] = counted[e];
    __syncwarp();
  }
  const Part part = part_of(p, blockIdx.x);
  const std::int64_t end = part.end * p.k;
  // Pairs are fewer than 2^31.
  const auto token_of = [&](std::int64_t pair) {
    return static_cast<std::uint32_t>(pair) / static_cast<std::uint32_t>(p.k);
  };
  const auto expert_of = [&](std::int64_t pair) -> std::int32_t {
    if (pair >= end) return -1;
    const std::int64_t token = token_of(pair);
    return integer(p.chosen, token, pair - token * p.k);
  };
  std::int32_t following = expert_of(part.first * p.k + lane);
  for (std::int64_t base = part.first * p.k; base < end; base += 32) {
    const std::int64_t pair = base + lane;
    const std::int32_t expert = following;
    following = expert_of(pair + 32);
    const std::uint32_t same = __match_any_sync(kAll, expert);
    const std::int32_t row = expert < 0 ? 0 : next[expert] + __popc(same & below);
    __syncwarp();
    if (expert >= 0) {
      if ((same >> lane) == 1u) next[expert] = row + 1;  // the last of them
      const std::int64_t token = token_of(pair);
      integer(p.rows, token, pair - token * p.k) = row;
      integer(p.sources, row, 0) = static_cast<std::int32_t>(token);
    }
    __syncwarp();
  }
}

}  // namespace

const void* route_choose_kernel() {
  return reinterpret_cast<const void*>(&route_choose);
}
const void* route_scan_kernel() {
  return reinterpret_cast<const void*>(&route_scan);
}
const void* route_place_kernel() {
  return reinterpret_cast<const void*>(&route_place);
}

}  // namespace girih::inline v0::cuda
