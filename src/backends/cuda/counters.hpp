#pragma once

#include <cstdint>

namespace girih::inline v0::cuda {

/// What a device has done that may not happen in steady state, counted for tests.
struct Counters {
  std::uint64_t maps_encoded = 0;
  std::uint64_t functions_loaded = 0;
  std::uint64_t allocations = 0;       ///< that reached the memory pool
  std::uint64_t synchronisations = 0;  ///< of the host with the device
};

}  // namespace girih::inline v0::cuda
