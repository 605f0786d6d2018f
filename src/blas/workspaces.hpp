#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace girih::inline v0::blas {

/// Scratch memory of the calls under way. Blocks that calls give back are kept for the next ones,
/// so that in steady state nothing is allocated. Lock-free: a fork at any moment leaves the child a
/// whole cache, short of the blocks that other threads had taken.
class Workspaces {
 public:
  /// At least `bytes`, aligned to 64 bytes, contents undefined. Null if there is no memory.
  std::byte* take(std::int64_t bytes) noexcept;
  /// Takes back what `take` gave. Keeps as many blocks as 32 calls at once use, frees more.
  void give_back(std::byte* workspace) noexcept;

 private:
  std::array<std::atomic<std::byte*>, 32> kept_{};
};

}  // namespace girih::inline v0::blas
