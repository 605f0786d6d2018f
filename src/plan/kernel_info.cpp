#include "plan/kernel_info.hpp"

namespace girih::inline v0 {

std::string describe(DTypes types) {
  std::string text;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    if (!types.has(type)) continue;
    if (!text.empty()) text += ", ";
    text += name(type);
  }
  return text.empty() ? "no" : text;
}

std::string_view name(Reduction reduction) noexcept {
  switch (reduction) {
    case Reduction::None:
      return "none";
    case Reduction::SequentialF32:
      return "sequential_f32";
    case Reduction::ExactI32:
      return "exact_i32";
    case Reduction::SimdgroupF32:
      return "simdgroup_f32";
    case Reduction::TensorOpsF32:
      return "tensorops_f32";
    case Reduction::SlicedF32:
      return "sliced_f32";
    case Reduction::WgmmaPartsF32:
      return "wgmma_parts_f32";
    case Reduction::MmaF32:
      return "mma_f32";
    case Reduction::MmaTf32:
      return "mma_tf32";
    case Reduction::WgmmaF32:
      return "wgmma_f32";
    case Reduction::WgmmaTf32:
      return "wgmma_tf32";
    case Reduction::WgmmaF8:
      return "wgmma_f8";
    case Reduction::WgmmaF8Fast:
      return "wgmma_f8_fast";
  }
  return "unknown_reduction";
}

}  // namespace girih::inline v0
