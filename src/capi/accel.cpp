#include <algorithm>
#include <cstring>

#include <girih/accel.hpp>
#include <girih/girih.h>

namespace {

namespace accel = girih::accel;

constexpr auto kEmptyDim = static_cast<std::int32_t>(girih::Code::AccelEmptyDim);

/// An array that a C caller offers; empty where the pointer is null.
template <class T>
std::span<T> offered(T* data, std::size_t length) noexcept {
  return data != nullptr ? std::span<T>(data, length) : std::span<T>();
}

/// Copies as much of `filled` as the caller's structure has room for, and leaves its size alone.
template <class Struct>
void store(Struct* target, Struct filled) noexcept {
  const std::uint32_t size = target->size;
  filled.size = size;
  std::memcpy(target, &filled, std::min<std::size_t>(size, sizeof(Struct)));
}

template <class Struct>
bool is_sized(const Struct* target) noexcept {
  return target != nullptr && target->size >= sizeof(target->size);
}

}  // namespace

extern "C" {

const char* girih_accel_status_name(std::int32_t status) {
  return accel::status_name(status).data();
}

const char* girih_accel_backend_name(std::int32_t backend) {
  return accel::backend_name(backend).data();
}

std::int32_t girih_accel_resolve(std::int32_t policy, std::int32_t backend, std::int32_t usable) {
  return accel::resolve(policy, backend, usable != 0);
}

std::int32_t girih_accel_worth_offloading(std::int64_t cells, double intensity, double peak_tflops,
                                          double bandwidth_tb_per_s, double launch_us) {
  return accel::worth_offloading(cells, intensity, peak_tflops, bandwidth_tb_per_s, launch_us) ? 1
                                                                                               : 0;
}

std::int32_t girih_accel_probe(girih_accel_device_probe* probe) {
  if (!is_sized(probe)) return kEmptyDim;
  const accel::DeviceProbe found = accel::probe();
  store(probe, {.size = 0,
                .device_present = found.device_present ? 1 : 0,
                .launch_verified = found.launch_verified ? 1 : 0,
                .backend = found.backend,
                .name_length = found.name_length,
                .status = found.status});
  return accel::kOk;
}

std::int32_t girih_accel_gemm_available() {
  return accel::is_built() ? 1 : 0;
}

std::int32_t girih_accel_gemm_flat(const double* a, std::size_t a_length, const double* b,
                                   std::size_t b_length, std::int64_t m, std::int64_t n,
                                   std::int64_t k, double* c, std::size_t c_length,
                                   std::int32_t* backend_used) {
  if (backend_used != nullptr) *backend_used = GIRIH_BACKEND_NONE;
  const std::span<double> target = offered(c, c_length);
  const bool has_extents =
      m > 0 && n > 0 && m <= accel::kMaxFlatExtent && n <= accel::kMaxFlatExtent;
  if (!has_extents || target.size() < static_cast<std::size_t>(m * n)) return kEmptyDim;
  const accel::FlatProduct product =
      accel::flat_gemm(offered(a, a_length), offered(b, b_length), m, n, k);
  if (product.status != accel::kOk) return product.status;
  std::copy(product.c.begin(), product.c.end(), target.begin());
  if (backend_used != nullptr) *backend_used = product.backend;
  return accel::kOk;
}

std::int32_t girih_accel_gemm_agreement(const double* a, std::size_t a_length, const double* b,
                                        std::size_t b_length, std::int64_t m, std::int64_t n,
                                        std::int64_t k, girih_accel_agreement* agreement) {
  if (!is_sized(agreement)) return kEmptyDim;
  const accel::Agreement found =
      accel::flat_gemm_agreement(offered(a, a_length), offered(b, b_length), m, n, k);
  store(agreement, {.size = 0,
                    .within_float32_precision = found.within_float32_precision ? 1 : 0,
                    .max_abs_delta = found.max_abs_delta,
                    .float32_bound = found.float32_bound,
                    .compared = found.compared,
                    .status = found.status});
  return found.status;
}

}  // extern "C"
