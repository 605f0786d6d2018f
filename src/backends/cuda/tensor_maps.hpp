#pragma once

#include <array>
#include <cstdint>
#include <cudaTypedefs.h>
#include <memory>

#include <girih/status.hpp>

#include "plan/cuda_gemm_tile.hpp"

namespace girih::inline v0::cuda {

/// A matrix in memory, or a batch of them, and the box of it that one tensor copy moves. Boxes are
/// written to shared memory in swizzled rows of 32, 64 or 128 bytes.
struct MapRequest {
  const void* data = nullptr;
  std::array<std::int64_t, 3> extents{};  ///< innermost first, the last is the batch
  std::array<std::int64_t, 2> strides{};  ///< bytes between rows and between matrices
  std::array<int, 2> box{};               ///< innermost first
  Element type = Element::BF16;

  friend bool operator==(const MapRequest&, const MapRequest&) = default;
};

/// Tensor maps by what they describe, so that a call which comes again encodes nothing. Fixed size:
/// eight places for each hash, of which the one that was not used for longest is given up.
class TensorMaps {
 public:
  static constexpr std::size_t kSets = 512;
  static constexpr std::size_t kWays = 8;

  explicit TensorMaps(PFN_cuTensorMapEncodeTiled_v12000 encode_tiled)
      : encode_(encode_tiled), places_(new Place[kSets * kWays]) {}

  /// DeviceFailed if the driver refuses the map.
  Status get(const MapRequest& request, CUtensorMap& map) noexcept;
  [[nodiscard]] std::uint64_t encoded() const noexcept { return encoded_; }

 private:
  struct Place {
    MapRequest request;
    std::uint64_t used = 0;  ///< 0: never
    CUtensorMap map;
  };

  Status encode(const MapRequest& request, CUtensorMap& map) noexcept;

  const PFN_cuTensorMapEncodeTiled_v12000 encode_;
  const std::unique_ptr<Place[]> places_;
  std::uint64_t clock_ = 0;
  std::uint64_t encoded_ = 0;
};

}  // namespace girih::inline v0::cuda
