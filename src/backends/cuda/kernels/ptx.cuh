#pragma once
// Single instructions of sm_90 under readable names. No policy lives here.

#include <cstdint>
#include <cuda.h>

namespace girih::inline v0::cuda::ptx {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// Read anew at each use: cheaper than a register held across the main loop.
__device__ __forceinline__ int lane() {
  int id;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(id));
  return id;
}

// Mbarrier

__device__ __forceinline__ void barrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}
// Makes initialised barriers visible to the copy engine and to the other blocks of the cluster.
__device__ __forceinline__ void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void barrier_expect_bytes(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void barrier_arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Arrives at the barrier that lies at the same offset in block `rank` of the cluster. Block scope
// is enough, because no ordinary memory access depends on it; with .release.cluster here and
// .acquire.cluster on the waiting side every stage took 0.85 us, more than twice its products.
__device__ __forceinline__ void barrier_arrive_at(std::uint32_t barrier, std::uint32_t rank) {
  asm volatile(
      "{\n .reg .b32 remote;\n mapa.shared::cluster.u32 remote, %0, %1;\n"
      " mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}
__device__ __forceinline__ bool barrier_try_wait(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t done;
  asm volatile(
      "{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      " selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}
__device__ __forceinline__ void barrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  while (!barrier_try_wait(barrier, parity)) {
  }
}
// Named barriers, clusters, dependent launches

__device__ __forceinline__ void named_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void named_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ std::uint32_t cluster_rank() {
  std::uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// Orders barriers made visible by fence_barrier_init(), not ordinary memory: a release here costs
// most of a microsecond.
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\n barrier.cluster.wait.aligned;" ::
                   : "memory");
}
// Blocks until the kernels this one depends on have finished; free when there are none.
// Not in PTX for 8.0, whose launches begin when what came before has ended.
__device__ __forceinline__ void wait_for_dependencies() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ __forceinline__ void launch_dependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

template <int kRegisters>
__device__ __forceinline__ void registers_raise() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void registers_lower() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Tensor copies

__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
__device__ __forceinline__ void prefetch_l2(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address) : "memory");
}
__device__ __forceinline__ void load_box(std::uint32_t to, const CUtensorMap* map,
                                         std::uint32_t barrier, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, "
      "%4, %5}], [%2];" ::"r"(to),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z)
      : "memory");
}
// The same box into the same offset of every block in `mask`, completing on each one's own barrier.
__device__ __forceinline__ void load_box_multicast(std::uint32_t to, const CUtensorMap* map,
                                                   std::uint32_t barrier, std::uint16_t mask, int x,
                                                   int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
      "cluster"
      " [%0], [%1, {%4, %5, %6}], [%2], %3;" ::"r"(to),
      "l"(map), "r"(barrier), "h"(mask), "r"(x), "r"(y), "r"(z)
      : "memory");
}
__device__ __forceinline__ void store_box(const CUtensorMap* map, std::uint32_t from, int x, int y,
                                          int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
      "r"(from), "r"(x), "r"(y), "r"(z)
      : "memory");
}
__device__ __forceinline__ void store_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Until at most kPending committed stores still read shared memory.
template <int kPending>
__device__ __forceinline__ void store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
// Orders ordinary shared-memory writes of this thread before later reads by the copy engine.
__device__ __forceinline__ void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Shared-memory accesses

__device__ __forceinline__ void store_matrix_x4(std::uint32_t to, std::uint32_t a, std::uint32_t b,
                                                std::uint32_t c, std::uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}
// The same, each 8 x 8 matrix transposed.
__device__ __forceinline__ void store_matrix_x4_transposed(std::uint32_t to, std::uint32_t a,
                                                           std::uint32_t b, std::uint32_t c,
                                                           std::uint32_t d) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
      "r"(a), "r"(b), "r"(c), "r"(d)
      : "memory");
}
__device__ __forceinline__ void store_shared(std::uint32_t to, float x) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(x) : "memory");
}
__device__ __forceinline__ void store_shared(std::uint32_t to, float x, float y) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(x), "f"(y) : "memory");
}
__device__ __forceinline__ void store_shared(std::uint32_t to, float x, float y, float z, float w) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(x), "f"(y), "f"(z), "f"(w)
               : "memory");
}
__device__ __forceinline__ float2 load_shared_pair(std::uint32_t from) {
  float2 v;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(from) : "memory");
  return v;
}
__device__ __forceinline__ float4 load_shared(std::uint32_t from) {
  float4 v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(from)
               : "memory");
  return v;
}

// The address in block `rank` of the cluster that corresponds to a local one.
__device__ __forceinline__ std::uint32_t address_at(std::uint32_t local, int rank) {
  std::uint32_t remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(local), "r"(rank));
  return remote;
}
__device__ __forceinline__ float4 load_remote(std::uint32_t from) {
  float4 v;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(from)
               : "memory");
  return v;
}
// Every thread of the cluster: what one wrote before is read by all behind it.
__device__ __forceinline__ void cluster_exchange() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n barrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}
// A block of shared memory into another block's, completing at that block's barrier: the reader
// needs no fence.
__device__ __forceinline__ void copy_remote(std::uint32_t to, std::uint32_t from, int bytes,
                                            std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, "
      "[%3];" ::"r"(to),
      "r"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

// Wgmma bookkeeping (the products are in wgmma.cuh)

__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

}  // namespace girih::inline v0::cuda::ptx
