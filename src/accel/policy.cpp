#include <algorithm>
#include <array>
#include <cmath>

#include <girih/accel.hpp>

#include "core/error.hpp"

namespace girih::inline v0::accel {
namespace {

constexpr std::int64_t kMinCells = 65536;
constexpr double kMaxLaunchShare = 0.10;

constexpr std::int32_t refusal(Code code) noexcept {
  return -static_cast<std::int32_t>(code);
}

/// "forced_backend_unavailable" from "AccelForcedBackendUnavailable", so that a code's two
/// spellings cannot drift apart.
struct SnakeName {
  std::array<char, 64> text{};
  std::size_t length = 0;

  constexpr explicit SnakeName(std::string_view camel) noexcept {
    camel.remove_prefix(std::string_view("Accel").size());
    for (const char c : camel) {
      const bool is_upper = c >= 'A' && c <= 'Z';
      if (is_upper && length > 0) text[length++] = '_';
      text[length++] = is_upper ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  [[nodiscard]] constexpr std::string_view view() const noexcept { return {text.data(), length}; }
};

struct StatusRow {
  std::int32_t value;
  SnakeName name;
};

constexpr bool is_accel(std::int32_t value) noexcept {
  return value > 340 && value < 360;
}

constexpr StatusRow kStatuses[] = {
#define GIRIH_CODE(name, value, kind, meaning) \
  {value, SnakeName(is_accel(value) ? #name : "Accel")},
#include <girih/codes.inc>
#undef GIRIH_CODE
};

}  // namespace

std::string_view status_name(std::int32_t status) noexcept {
  if (status == kOk) return "ok";
  for (const StatusRow& row : kStatuses) {
    if (is_accel(status) && row.value == status) return row.name.view();
  }
  return "unknown_status";
}

std::string_view backend_name(std::int32_t backend) noexcept {
  return name(static_cast<Backend>(backend));
}

std::int32_t resolve(std::int32_t policy, std::int32_t backend, bool usable) noexcept {
  constexpr auto kCpu = static_cast<std::int32_t>(Backend::Cpu);
  const bool is_accelerator = backend >= static_cast<std::int32_t>(Backend::Metal) &&
                              backend <= static_cast<std::int32_t>(Backend::Rocm);
  switch (static_cast<Policy>(policy)) {
    case Policy::Cpu:
      return kCpu;
    case Policy::Auto:
      if (!is_accelerator) return refusal(Code::AccelUnknownBackend);
      return usable ? backend : kCpu;
    case Policy::Accel:
      if (!is_accelerator) return refusal(Code::AccelUnknownBackend);
      return usable ? backend : refusal(Code::AccelForcedBackendUnavailable);
  }
  return refusal(Code::AccelUnknownPolicy);
}

Result<OffloadModel> offload_model(std::int64_t cells, double intensity, double peak_tflops,
                                   double bandwidth_tb_per_s, double launch_us) noexcept {
  if (cells <= 0) return error(Code::AccelEmptyDim, "cells is {}, must be positive", cells);
  for (const auto& [value, what] : {std::pair{intensity, "intensity"},
                                    {peak_tflops, "peak"},
                                    {bandwidth_tb_per_s, "bandwidth"},
                                    {launch_us, "launch overhead"}}) {
    if (std::isfinite(value) && value > 0) continue;
    return error(Code::AccelEmptyDim, "{} is {}, must be finite and positive", what, value);
  }
  OffloadModel model;
  model.achievable_tflops = std::min(peak_tflops, intensity * bandwidth_tb_per_s);
  model.kernel_us = static_cast<double>(cells) * intensity / (model.achievable_tflops * 1e12) * 1e6;
  if (!(model.achievable_tflops > 0) || !std::isfinite(model.kernel_us)) {
    return error(Code::AccelEmptyDim, "intensity {} over {} cells leaves the range of a double",
                 intensity, cells);
  }
  model.launch_share = launch_us / (launch_us + model.kernel_us);
  return model;
}

bool worth_offloading(std::int64_t cells, double intensity, double peak_tflops,
                      double bandwidth_tb_per_s, double launch_us) noexcept {
  const Result<OffloadModel> model =
      offload_model(cells, intensity, peak_tflops, bandwidth_tb_per_s, launch_us);
  return model && cells >= kMinCells && model->launch_share < kMaxLaunchShare;
}

}  // namespace girih::inline v0::accel
