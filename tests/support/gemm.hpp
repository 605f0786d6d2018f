#pragma once

#include <gtest/gtest.h>
#include <span>
#include <vector>

#include <girih/girih.hpp>

#include "reference/element.hpp"
#include "support/expect.hpp"
#include "verify/bound_gemm.hpp"
#include "verify/gemm_case.hpp"
#include "verify/random.hpp"

namespace girih::inline v0::testing {

/// Runs a case, which must pass.
inline void expect_passes(Runtime& runtime, const verify::GemmCase& gemm_case, verify::Mode mode) {
  const verify::CaseReport report = verify::run_case(runtime, gemm_case, mode);
  EXPECT_EQ(report.outcome, verify::CaseReport::Outcome::Passed)
      << gemm_case.to_string() << "\n  on " << report.kernel << ": " << report.detail;
}

/// A tensor with these row-major elements.
template <class T>
Tensor tensor_of(Runtime& runtime, const Shape& shape, DType dtype, const std::vector<T>& values) {
  Tensor tensor = must(runtime.tensor(shape, dtype));
  must(runtime.upload(tensor, std::span<const T>(values)));
  return tensor;
}

/// Its bytes, row-major.
inline std::vector<std::byte> bytes_of(Runtime& runtime, const Tensor& tensor) {
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(tensor.size() * bit_width(tensor.dtype()) / 8));
  must(runtime.download(tensor, bytes.data(), bytes.size()));
  return bytes;
}
inline std::vector<float> floats_of(Runtime& runtime, const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.size()));
  must(runtime.download(tensor, std::span(values)));
  return values;
}

/// Uniform in [-1, 1), or whole numbers of -128..127 for i8; equal for equal seeds.
inline Tensor random_tensor(Runtime& runtime, const Shape& shape, DType dtype, std::uint64_t seed) {
  Tensor tensor = must(runtime.tensor(shape, dtype));
  verify::Random random(seed);
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.size() * bit_width(dtype) / 8));
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const double value =
        dtype == DType::I8 ? static_cast<double>(random.integer(-128, 127)) : random.real();
    store_element(bytes.data(), dtype, i, value);
  }
  must(runtime.upload(tensor, bytes.data(), bytes.size()));
  return tensor;
}

/// The bytes of A.B in a fresh C.
inline std::vector<std::byte> product(Runtime& runtime, const Tensor& a, const Tensor& b,
                                      DType output,
                                      Reproducibility reproducibility = Reproducibility::PerShape,
                                      Precision precision = Precision::Exact) {
  const int rank = std::max(a.rank(), b.rank());
  const std::int64_t m = a.extent(a.rank() - 2), n = b.extent(b.rank() - 1);
  const Shape shape =
      rank == 3 ? Shape{a.rank() == 3 ? a.extent(0) : b.extent(0), m, n} : Shape{m, n};
  const Tensor c = must(runtime.tensor(shape, output));
  must(gemm(runtime,
            {.a = a, .b = b, .c = c, .precision = precision, .reproducibility = reproducibility}));
  return bytes_of(runtime, c);
}

}  // namespace girih::inline v0::testing
