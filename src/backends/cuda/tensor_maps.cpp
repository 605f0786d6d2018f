#include "backends/cuda/tensor_maps.hpp"

#include <algorithm>
#include <bit>

#include "core/error.hpp"

namespace girih::inline v0::cuda {
namespace {

std::size_t hash(const MapRequest& r) noexcept {
  auto h = std::bit_cast<std::uintptr_t>(r.data);
  for (const std::int64_t part :
       {r.extents[0], r.extents[1], r.extents[2], r.strides[0], r.strides[1],
        std::int64_t{r.box[0]} << 32 | r.box[1], static_cast<std::int64_t>(r.type)}) {
    // Multiplication carries upwards only: the rotation brings high bits back down.
    h = (std::rotl(h, 29) ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15U;
  }
  return static_cast<std::size_t>(h >> 32);
}

CUtensorMapDataType data_type(Element type) noexcept {
  switch (type) {
    case Element::F32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case Element::TF32:  // rounds what it copies
      return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
    case Element::BF16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case Element::F16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case Element::I32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    default:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
}

}  // namespace

Status TensorMaps::get(const MapRequest& request, CUtensorMap& map) noexcept {
  Place* const set = &places_[hash(request) % kSets * kWays];
  Place* oldest = set;
  for (Place* place = set; place != set + kWays; ++place) {
    if (place->used != 0 && place->request == request) {
      place->used = ++clock_;
      map = place->map;
      return {};
    }
    if (place->used < oldest->used) oldest = place;
  }
  GIRIH_TRY(encode(request, map));
  oldest->request = request;
  oldest->used = ++clock_;
  oldest->map = map;
  return {};
}

Status TensorMaps::encode(const MapRequest& r, CUtensorMap& map) noexcept {
  const auto u64 = [](std::int64_t x) { return static_cast<cuuint64_t>(x); };
  const std::array extents = {u64(r.extents[0]), u64(r.extents[1]), u64(r.extents[2])};
  const std::array strides = {u64(r.strides[0]), u64(r.strides[1])};
  const std::array<cuuint32_t, 3> box = {static_cast<cuuint32_t>(r.box[0]),
                                         static_cast<cuuint32_t>(r.box[1]), 1};
  const std::array<cuuint32_t, 3> steps = {1, 1, 1};
  const int row_bytes = r.box[0] * element_bytes(r.type);
  const CUtensorMapSwizzle swizzle = row_bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                     : row_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                       : CU_TENSOR_MAP_SWIZZLE_32B;
  const CUresult status =
      encode_(&map, data_type(r.type), 3, const_cast<void*>(r.data), extents.data(), strides.data(),
              box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
              CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) {
    return error(Code::DeviceFailed,
                 "the driver refuses a tensor map of {} x {}, strides {} and {} bytes: code {}",
                 r.extents[0], r.extents[1], r.strides[0], r.strides[1], static_cast<int>(status));
  }
  ++encoded_;
  return {};
}

}  // namespace girih::inline v0::cuda
