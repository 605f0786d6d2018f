#include "capi/flat_gemm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <girih/gemm.hpp>

#include "core/error.hpp"
#include "runtime/registry.hpp"

namespace girih::inline v0::accel {
namespace {

constexpr std::int32_t value_of(Code code) noexcept {
  return static_cast<std::int32_t>(code);
}

bool fits(std::span<const double> array, std::int64_t rows, std::int64_t columns) noexcept {
  return array.size() >= static_cast<std::size_t>(rows * columns);
}

/// The order is part of the contract: shape, then build, then device.
std::int32_t check(std::span<const double> a, std::span<const double> b, std::int64_t m,
                   std::int64_t n, std::int64_t k, const AcceleratorState& accelerator) noexcept {
  for (const std::int64_t extent : {m, n, k}) {
    if (extent < 1 || extent > kMaxFlatExtent) return value_of(Code::AccelEmptyDim);
  }
  if (!fits(a, m, k) || !fits(b, k, n)) return value_of(Code::AccelEmptyDim);
  if (!accelerator.is_built) return value_of(Code::AccelShaderToolchainAbsent);
  if (!accelerator.is_usable) return value_of(Code::AccelNoAcceleratorPresent);
  return kOk;
}

/// An f32 tensor with the first rows * columns of `values`, rounded to nearest.
Result<Tensor> upload_rounded(Runtime& runtime, std::span<const double> values, std::int64_t rows,
                              std::int64_t columns) {
  std::vector<float> rounded(static_cast<std::size_t>(rows * columns));
  std::transform(values.begin(), values.begin() + rows * columns, rounded.begin(),
                 [](double value) { return static_cast<float>(value); });
  Result<Tensor> tensor = runtime.tensor({rows, columns}, DType::F32);
  if (!tensor) return tensor;
  GIRIH_TRY(runtime.upload(*tensor, std::span<const float>(rounded)));
  return tensor;
}

}  // namespace

Status flat_gemm_on(Runtime& runtime, std::span<const double> a, std::span<const double> b,
                    std::int64_t m, std::int64_t n, std::int64_t k, std::vector<double>& c) {
  const Result<Tensor> left = upload_rounded(runtime, a, m, k);
  if (!left) return left.error();
  const Result<Tensor> right = upload_rounded(runtime, b, k, n);
  if (!right) return right.error();
  const Result<Tensor> product = runtime.tensor({m, n}, DType::F32);
  if (!product) return product.error();
  GIRIH_TRY(gemm(runtime, {.a = *left, .b = *right, .c = *product}));
  std::vector<float> result(static_cast<std::size_t>(m * n));
  GIRIH_TRY(runtime.download(*product, std::span(result)));
  c.assign(result.begin(), result.end());
  return {};
}

Agreement compare_flat(std::span<const double> a, std::span<const double> b,
                       std::span<const double> c, std::int64_t m, std::int64_t n, std::int64_t k) {
  Agreement agreement{.status = kOk};
  double largest = 0;
  std::vector<double> row(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < m; ++i) {
    std::fill(row.begin(), row.end(), 0.0);
    for (std::int64_t p = 0; p < k; ++p) {
      const double factor = a[static_cast<std::size_t>(i * k + p)];
      for (std::size_t j = 0; j < row.size(); ++j) {
        row[j] += factor * b[static_cast<std::size_t>(p * n) + j];
      }
    }
    for (std::size_t j = 0; j < row.size(); ++j) {
      const double delta = std::abs(c[static_cast<std::size_t>(i * n) + j] - row[j]);
      // Written so that a NaN becomes the maximum and stays it.
      if (!(delta <= agreement.max_abs_delta)) agreement.max_abs_delta = delta;
      largest = std::max(largest, std::abs(row[j]));
    }
  }
  agreement.compared = m * n;
  constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
  agreement.float32_bound = kEpsilon * static_cast<double>(k) * (1 + largest);
  agreement.within_float32_precision = agreement.max_abs_delta <= agreement.float32_bound;
  return agreement;
}

bool is_built() noexcept {
  return probe_accelerator().is_built;
}

DeviceProbe probe() noexcept {
  const AcceleratorState accelerator = probe_accelerator();
  DeviceProbe probe{.device_present = accelerator.is_present};
  if (accelerator.is_present) {
    probe.backend = static_cast<std::int32_t>(accelerator.backend);
    probe.name_length = static_cast<std::int64_t>(accelerator.name.size());
  }
  if (accelerator.is_usable) probe.status = kOk;
  return probe;
}

FlatProduct flat_gemm(std::span<const double> a, std::span<const double> b, std::int64_t m,
                      std::int64_t n, std::int64_t k) noexcept try {
  const AcceleratorState accelerator = probe_accelerator();
  FlatProduct product;
  product.status = check(a, b, m, n, k, accelerator);
  if (product.status != kOk) return product;
  Result<Runtime> runtime = Runtime::open({.backend = accelerator.backend});
  if (!runtime || !flat_gemm_on(*runtime, a, b, m, n, k, product.c)) {
    product.c.clear();
    product.status = value_of(Code::AccelLaunchFailed);
    return product;
  }
  product.rows = m;
  product.columns = n;
  product.backend = static_cast<std::int32_t>(accelerator.backend);
  return product;
} catch (...) {
  return {.status = value_of(Code::AccelLaunchFailed)};
}

Agreement flat_gemm_agreement(std::span<const double> a, std::span<const double> b, std::int64_t m,
                              std::int64_t n, std::int64_t k) noexcept try {
  const FlatProduct product = flat_gemm(a, b, m, n, k);
  if (product.status != kOk) return {.status = product.status};
  return compare_flat(a, b, product.c, m, n, k);
} catch (...) {
  return {.status = value_of(Code::AccelLaunchFailed)};
}

}  // namespace girih::inline v0::accel
