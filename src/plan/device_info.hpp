#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <girih/runtime.hpp>

namespace girih::inline v0 {

enum class Feature : std::uint8_t {
#define GIRIH_FEATURE(name, text) name,
#include "plan/features.inc"
#undef GIRIH_FEATURE
};
std::string_view name(Feature feature) noexcept;

/// A set of features.
class Features {
 public:
  constexpr Features() noexcept = default;
  constexpr Features(std::initializer_list<Feature> features) noexcept {
    for (const Feature feature : features) bits_ |= bit(feature);
  }
  constexpr void add(Feature feature) noexcept { bits_ |= bit(feature); }
  [[nodiscard]] constexpr bool has(Feature feature) const noexcept {
    return (bits_ & bit(feature)) != 0;
  }
  /// Every feature of `needed` that is not in this set.
  [[nodiscard]] constexpr Features missing(Features needed) const noexcept {
    Features result;
    result.bits_ = needed.bits_ & ~bits_;
    return result;
  }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }

 private:
  static constexpr std::uint64_t bit(Feature feature) noexcept {
    return std::uint64_t{1} << static_cast<unsigned>(feature);
  }
  std::uint64_t bits_ = 0;
};
/// "avx2, avx512"
std::string describe(Features features);

/// What selection may know of a device. Read from the machine, or from a fixture, so that a plan
/// for a device can be made and tested where the device is not.
struct DeviceInfo {
  Backend backend = Backend::Cpu;
  std::string name;
  Features features;
  int cores = 1;               ///< CPU: usable cores
  double clock_ghz = 0;        ///< CPU: sustained, or a guess of 3
  std::int64_t l1_bytes = 0;   ///< CPU: data cache of one core
  std::int64_t l2_bytes = 0;   ///< CPU: of one core
  std::int64_t l3_bytes = 0;   ///< CPU: shared, in all
  double memory_gb_per_s = 0;  ///< a guess where it was not measured
  std::int64_t memory_bytes = 0;
  int multiprocessors = 0;     ///< cuda; metal: GPU cores
  int compute_capability = 0;  ///< cuda: 90 for 9.0
};

/// Devices that plans can be made for without having them.
std::span<const DeviceInfo> device_fixtures();
/// The fixture of this name, or null.
const DeviceInfo* find_fixture(std::string_view name);

}  // namespace girih::inline v0
