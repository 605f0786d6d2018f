#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <girih/export.hpp>
#include <girih/runtime.hpp>

/// The accel contract: whether work should go to an accelerator, whether one is there, and a flat
/// product on it that is never done by the CPU instead. Functions that return a backend identifier
/// or a status return refusals negated, so that no refusal reads as backend 0, the CPU.
namespace girih::inline v0::accel {

/// Success in the accel vocabulary; refusals are `Code` values 341..359.
inline constexpr std::int32_t kOk = 340;

/// "forced_backend_unavailable" for 342; "ok" for 340; "unknown_status" for anything unlisted.
GIRIH_API std::string_view status_name(std::int32_t status) noexcept;
/// "cpu", "metal", "cuda", "rocm", "none"; "unknown_backend" for anything else.
GIRIH_API std::string_view backend_name(std::int32_t backend) noexcept;

/// The backend that a policy comes to, given an accelerator backend and whether it is usable:
/// cpu gives 0 always; auto the accelerator if usable, else 0; accel the accelerator if usable,
/// else -342. Unknown policy: -341. A backend that is no accelerator (not 1..3): -343, unless the
/// policy is cpu.
GIRIH_API std::int32_t resolve(std::int32_t policy, std::int32_t backend, bool usable) noexcept;

/// A roofline of one kernel and its launch. `cells` are bytes moved, `intensity` operations a cell.
struct OffloadModel {
  double achievable_tflops = 0;  ///< min(peak, intensity * bandwidth)
  double kernel_us = 0;          ///< cells * intensity / achievable
  double launch_share = 0;       ///< launch / (launch + kernel)
};
/// AccelEmptyDim names the argument that is not finite or not positive (intensity 0 as well: its
/// time is undefined).
GIRIH_API Result<OffloadModel> offload_model(std::int64_t cells, double intensity,
                                             double peak_tflops, double bandwidth_tb_per_s,
                                             double launch_us) noexcept;
/// True if there are at least 65,536 cells and the launch takes under a tenth of the whole time.
/// False for arguments that `offload_model` refuses.
GIRIH_API bool worth_offloading(std::int64_t cells, double intensity, double peak_tflops,
                                double bandwidth_tb_per_s, double launch_us) noexcept;

/// What is known of an accelerator without compiling or launching anything. Three states:
/// none (`!device_present`), present but unusable (`device_present`, `status` is a refusal),
/// usable.
struct DeviceProbe {
  bool device_present = false;
  /// Only a caller that launched something may set this.
  bool launch_verified = false;
  std::int32_t backend = static_cast<std::int32_t>(Backend::None);
  std::int64_t name_length = 0;
  std::int32_t status = static_cast<std::int32_t>(Code::AccelNoAcceleratorPresent);
};
GIRIH_API DeviceProbe probe() noexcept;
/// True if the build has an accelerator backend; says nothing of the machine.
GIRIH_API bool is_built() noexcept;

/// The largest extent that `flat_gemm` takes: 16384^2 f32 are 1 GiB.
inline constexpr std::int64_t kMaxFlatExtent = 16384;

struct FlatProduct {
  std::vector<double> c{};  ///< [m, n] row-major; empty unless `status` is `kOk`
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int32_t backend = static_cast<std::int32_t>(Backend::None);
  std::int32_t status = 0;
};
/// C[m,n] = A[m,k] B[k,n] on the accelerator, in f32 (Exact), from and to row-major f64 arrays.
/// Status: kOk, or the first that applies of AccelEmptyDim (an extent outside 1..16384, an array
/// too short), AccelShaderToolchainAbsent, AccelNoAcceleratorPresent, AccelLaunchFailed.
GIRIH_API FlatProduct flat_gemm(std::span<const double> a, std::span<const double> b,
                                std::int64_t m, std::int64_t n, std::int64_t k) noexcept;

/// A product held against the oracle in f64.
struct Agreement {
  double max_abs_delta = 0;
  /// 2^-23 * k * (1 + largest |oracle value|)
  double float32_bound = 0;
  bool within_float32_precision = false;
  std::int64_t compared = 0;
  std::int32_t status = 0;
};
/// Runs `flat_gemm` and compares all of its result; a refusal compares nothing.
GIRIH_API Agreement flat_gemm_agreement(std::span<const double> a, std::span<const double> b,
                                        std::int64_t m, std::int64_t n, std::int64_t k) noexcept;

}  // namespace girih::inline v0::accel
