#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/device.hpp"
#include "backends/cuda/kernels/move_kernels.hpp"
#include "backends/cuda/kernels/walk_kernels.hpp"
#include "backends/cuda/launch.hpp"
#include "plan/gemm.hpp"
#include "support/expect.hpp"

namespace girih::inline v0::testing {

/// Memory by address alone: nothing is read or written.
inline std::byte* address(std::uintptr_t at) {
  return reinterpret_cast<std::byte*>(at << 44);
}

/// Whether a kernel copies, and where what it is given says that it writes.
inline bool is_copy(const void* function) {
  bool found = function == cuda::copy_kernel();
  for (const int bytes : {1, 2, 4, 8}) {
    found = found || function == cuda::copy_rows_kernel(bytes) ||
            function == cuda::transpose_kernel(bytes, false) ||
            function == cuda::transpose_kernel(bytes, true);
  }
  return found;
}
inline std::byte* copied_to(const cuda::Launch& launch) {
  static_assert(offsetof(cuda::WalkParams, destination) == sizeof(void*) &&
                offsetof(cuda::RowParams, destination) == sizeof(void*) &&
                offsetof(cuda::TransposeParams, destination) == sizeof(void*));
  return static_cast<std::byte*>(static_cast<void* const*>(launch.params)[1]);
}

/// What an H200 would run for a product of A at address(1), B at address(2) and C at address(3),
/// with its workspace at address(4), and what the sink saw of it.
template <class Sink>
struct Lowered {
  GemmSelection selection;
  Sink record;
};
template <class Sink>
Lowered<Sink> lower_for_h200(const GemmSpec& spec, cuda::TensorMaps* maps = nullptr) {
  const GemmProblem problem = must(check(spec));
  Lowered<Sink> result;
  result.selection = must(select(problem, {.device = find_fixture("h200"),
                                           .kernels = cuda::kernel_table(),
                                           .threads = 1,
                                           .forced_kernel = ""}));
  const GemmCall call{
      problem, {.a = address(1), .b = address(2), .c = address(3)}, result.selection, address(4)};
  must(cuda::lower(call, {.multiprocessors = 132, .maps = maps}, result.record));
  return result;
}

}  // namespace girih::inline v0::testing
