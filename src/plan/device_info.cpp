#include "plan/device_info.hpp"

#include <algorithm>
#include <vector>

namespace girih::inline v0 {
namespace {

constexpr std::string_view kFeatureNames[] = {
#define GIRIH_FEATURE(name, text) text,
#include "plan/features.inc"
#undef GIRIH_FEATURE
};

std::vector<DeviceInfo> make_fixtures() {
  constexpr std::int64_t kKiB = 1024;
  constexpr std::int64_t kGiB = kKiB * kKiB * kKiB;
#define GIRIH_UNWRAP(...) __VA_ARGS__
#define GIRIH_FIXTURE(label, back, set, count, ghz, l1, l2, l3, gb_per_s, gib) \
  DeviceInfo{.backend = Backend::back,                                         \
             .name = label,                                                    \
             .features = Features{GIRIH_UNWRAP set},                           \
             .cores = count,                                                   \
             .clock_ghz = ghz,                                                 \
             .l1_bytes = (l1)*kKiB,                                            \
             .l2_bytes = (l2)*kKiB,                                            \
             .l3_bytes = (l3)*kKiB,                                            \
             .memory_gb_per_s = gb_per_s,                                      \
             .memory_bytes = (gib)*kGiB},
#define GIRIH_CUDA_FIXTURE(label, set, capability, count, ghz, l2, gb_per_s, gib) \
  DeviceInfo{.backend = Backend::Cuda,                                            \
             .name = label,                                                       \
             .features = Features{GIRIH_UNWRAP set},                              \
             .clock_ghz = ghz,                                                    \
             .l2_bytes = (l2)*kKiB * kKiB,                                        \
             .memory_gb_per_s = gb_per_s,                                         \
             .memory_bytes = (gib)*kGiB,                                          \
             .multiprocessors = count,                                            \
             .compute_capability = capability},
#define GIRIH_METAL_FIXTURE(label, set, count, ghz, gb_per_s, gib) \
  DeviceInfo{.backend = Backend::Metal,                            \
             .name = label,                                        \
             .features = Features{GIRIH_UNWRAP set},               \
             .clock_ghz = ghz,                                     \
             .memory_gb_per_s = gb_per_s,                          \
             .memory_bytes = (gib)*kGiB,                           \
             .multiprocessors = count},
  return {
#include "plan/fixtures.inc"
  };
#undef GIRIH_METAL_FIXTURE
#undef GIRIH_CUDA_FIXTURE
#undef GIRIH_FIXTURE
#undef GIRIH_UNWRAP
}

}  // namespace

std::string_view name(Feature feature) noexcept {
  const auto index = static_cast<std::size_t>(feature);
  return index < std::size(kFeatureNames) ? kFeatureNames[index] : "unknown_feature";
}

std::string describe(Features features) {
  std::string text;
  for (std::size_t i = 0; i < std::size(kFeatureNames); ++i) {
    if (!features.has(static_cast<Feature>(i))) continue;
    if (!text.empty()) text += ", ";
    text += kFeatureNames[i];
  }
  return text.empty() ? "none" : text;
}

std::span<const DeviceInfo> device_fixtures() {
  static const std::vector<DeviceInfo> fixtures = make_fixtures();
  return fixtures;
}

const DeviceInfo* find_fixture(std::string_view name) {
  const std::span<const DeviceInfo> fixtures = device_fixtures();
  const auto found = std::find_if(fixtures.begin(), fixtures.end(),
                                  [&](const DeviceInfo& info) { return info.name == name; });
  return found == fixtures.end() ? nullptr : &*found;
}

}  // namespace girih::inline v0
