#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

// The vocabulary of the emulator. No header of this folder needs more than standard C++20, since
// the kernels' side of it is compiled by another compiler than the host's.

namespace girih::inline v0::emulator {

constexpr unsigned kSimdWidth = 32;
constexpr unsigned kMaxBuffers = 31;
constexpr unsigned kMaxThreads = 1024;  ///< of one threadgroup

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
  [[nodiscard]] std::uint64_t count() const noexcept { return std::uint64_t{x} * y * z; }
};

/// Every built-in value that a compute kernel may ask for.
struct LaneIds {
  Dim3 thread, threadgroup, thread_in_grid;
  Dim3 threads_per_threadgroup, threadgroups_per_grid, threads_per_grid;
  unsigned linear = 0;  ///< thread_index_in_threadgroup
  unsigned simd_lane = 0, simd_group = 0, simd_groups = 0;
};

/// A place in a kernel's source: a file and line, or an instruction of the compiled kernel.
struct Site {
  const char* what = "";
  const char* file = "";
  unsigned line = 0;
  std::uintptr_t instruction = 0;  ///< 0 if file and line are known

  static constexpr Site here(const char* what, const char* file = __builtin_FILE(),
                             unsigned line = __builtin_LINE()) noexcept {
    return {what, file, line, 0};
  }
};
/// "read at gemm_simdgroup.metal:70"
std::string describe(const Site& site);

/// What the emulator throws, from wherever the host waits: the first rule that was broken.
struct Finding {
  /// bounds, race, hazard, uninitialised, divergence, residency, binding, limits, matmul, api,
  /// fault
  std::string kind;
  std::string text;
};

/// Order in which lanes get to run. A right kernel computes the same under each.
enum class Order : std::uint8_t {
  Forward,
  Reverse,
  Random,
  Greedy,         ///< one SIMD group as far as it can get, then the next
  GreedyReverse,  ///< the last one first
};

struct Config {
  Order order = Order::Forward;
  std::uint64_t seed = 1;
  bool checks_accesses = true;
  /// Lays the elements of cooperative tensors out at random (by `seed`), with invalid slots among
  /// them: Metal leaves the layout open, and it does differ between generations and types.
  bool scrambles_layouts = true;
  /// Drops the low 13 bits of f32 operands of `matmul2d`, as the M5's matrix unit does.
  bool truncates_f32 = true;
  /// A matrix unit that is wrong: sums of matmul2d are one too large.
  bool breaks_matmul = false;
  /// One that drops the lowest bit of each operand.
  bool drops_low_bits = false;
  /// Sums of simdgroup_matrix are one too large.
  bool breaks_simdgroup_matrix = false;
  /// It drops the low 13 bits of f32 operands, as matmul2d does.
  bool truncates_simdgroup_matrix = false;
  std::size_t threadgroup_memory = 32768;
};
extern Config the_config;
inline Config& config() noexcept {
  return the_config;
}

/// What the last dispatches did.
struct Statistics {
  std::uint64_t dispatches = 0, threadgroups = 0, switches = 0, rendezvous = 0, accesses = 0;
};
extern Statistics the_statistics;
inline Statistics& statistics() noexcept {
  return the_statistics;
}

}  // namespace girih::inline v0::emulator
