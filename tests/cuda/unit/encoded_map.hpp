#pragma once

#include <algorithm>
#include <array>
#include <cuda.h>

namespace girih::inline v0::testing {

/// Stands in for the driver: a map that holds what it was made of.
inline CUresult encode(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* data,
                       const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
                       const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                       CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::size_t i = 0;
  map->opaque[i++] = reinterpret_cast<cuuint64_t>(data);
  for (cuuint32_t d = 0; d < rank; ++d) map->opaque[i++] = extents[d];
  for (cuuint32_t d = 0; d + 1 < rank; ++d) map->opaque[i++] = strides[d];
  for (cuuint32_t d = 0; d < rank; ++d) map->opaque[i++] = box[d];
  map->opaque[i++] = static_cast<cuuint64_t>(type);
  map->opaque[i++] = static_cast<cuuint64_t>(swizzle);
  return CUDA_SUCCESS;
}

inline std::array<cuuint64_t, 11> contents(const CUtensorMap& map) {
  std::array<cuuint64_t, 11> result;
  std::copy_n(map.opaque, result.size(), result.begin());
  return result;
}

}  // namespace girih::inline v0::testing
