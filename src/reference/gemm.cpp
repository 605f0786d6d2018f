#include "reference/gemm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/approximation.hpp"
#include "reference/element.hpp"

namespace girih::inline v0 {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFloatMax = std::numeric_limits<float>::max();
/// Roundings beside the K of the sum: conversion of the sum and three factors, each twice.
constexpr double kScaling = 8;
/// Of 8-bit floats on cuda, unless Fast is asked.
constexpr std::int64_t kPromotedDepth = 128;

bool splits_operands(const GemmProblem& problem) noexcept {
  return problem.a.dtype == DType::F32 && problem.precision == Precision::Fast;
}

/// Half the relative error of a product of two operands: what the precision allows. Fast: on metal
/// each in two tf32 parts, high = x (1 + 2^-11) at most, low short of 2^-23 x; low * low, 2^-22, is
/// left out. On cuda in three bf16 parts, x, 2^-8 x and 2^-16 x at most, of which mid * lo, lo *
/// mid and lo * lo are left out.
double input_roundoff(const GemmProblem& problem, Backend backend) noexcept {
  if (problem.a.dtype != DType::F32 || problem.precision == Precision::Exact) return 0;
  if (problem.precision == Precision::Tf32) return 0x1.002p-11;
  return backend == Backend::Cuda ? 0x1.01p-24 : 0x1.01p-22;
}

/// Roundings of a sum over K. Fast on metal: three products. On cuda: of each 64 of K four
/// instructions whose terms are as large as the products, each cutting 17 terms at 2^-25 and its
/// result at 2^-23 of the sum, 10.5 u; twenty whose terms are short of 2^-7 of that, 2 u; a
/// rounding for each 64; or K where an exact kernel stepped in.
double sum_roundings(const GemmProblem& problem, Backend backend) noexcept {
  const auto k = static_cast<double>(problem.k);
  if (!splits_operands(problem)) return k;
  return backend == Backend::Cuda ? std::max(k, 44 + std::ceil(k / 64)) : 3 * k;
}

/// A matrix as dense row-major doubles.
std::vector<double> dense(const std::byte* data, const MatrixLayout& layout, std::int64_t batch,
                          std::int64_t rows, std::int64_t columns) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::int64_t index =
          batch * layout.batch_stride + i * layout.row_stride + j * layout.column_stride;
      values.push_back(load_element(data, layout.dtype, index));
    }
  }
  return values;
}

double element(const std::byte* data, const MatrixLayout& layout, std::int64_t batch,
               std::int64_t row, std::int64_t column) noexcept {
  return load_element(
      data, layout.dtype,
      batch * layout.batch_stride + row * layout.row_stride + column * layout.column_stride);
}

/// 1 for factors of blocks, which the sums have.
double scale(const float* data, const std::optional<VectorLayout>& layout,
             std::int64_t i) noexcept {
  return layout && !layout->is_blocked ? static_cast<double>(data[i * layout->stride]) : 1.0;
}

double scalar(const ScalarTerm& term, const float* device) noexcept {
  return static_cast<double>(term.on_device ? *device : term.value);
}

/// A sum over K, that of its terms' magnitudes, and what a matrix unit's alignment adds to its
/// error.
struct Sum {
  double value = 0, magnitude = 0, alignment = 0;
};

/// alpha * sa * sb * sum. `reach` bounds each partial product of the four, in whatever order.
Approximation scaled_sum(const GemmProblem& problem, Backend backend, const Sum& row_sum,
                         double alpha, double sa, double sb) noexcept {
  const double sum = row_sum.value;
  double magnitude = row_sum.magnitude;
  const bool integers = problem.a.dtype == DType::I8;
  if (integers) magnitude = std::fabs(sum);
  const double roundings = (integers ? 0 : sum_roundings(problem, backend)) + kScaling;
  const double factor = alpha * sa * sb;
  const double input_error = 2 * input_roundoff(problem, backend) * magnitude;
  const double sum_error =
      f32_error(roundings, magnitude + input_error) + input_error + row_sum.alignment;
  if (!std::isfinite(factor) || !std::isfinite(sum)) {
    const bool sign_known = std::isnan(factor) || std::fabs(sum) > sum_error || std::isnan(sum);
    return {factor * sum, sum_error < kInfinity && sign_known ? 0 : kInfinity};
  }
  const double reach = std::max(1.0, std::fabs(alpha)) * std::max(1.0, std::fabs(sa)) *
                       std::max(1.0, std::fabs(sb)) * std::max(1.0, magnitude);
  if (reach > kFloatMax) return {factor * sum, kInfinity};
  return {factor * sum, std::fabs(factor) * sum_error + roundings * kUnderflow * reach};
}

/// The sum of a product, beta * C and a bias, added in any order.
Approximation add_terms(Approximation product, double c_term, double bias) noexcept {
  const double value = product.value + c_term + bias;
  if (!std::isfinite(value)) return {value, product.error < kInfinity ? 0 : kInfinity};
  const double magnitude =
      std::fabs(product.value) + product.error + std::fabs(c_term) + std::fabs(bias);
  return {value, product.error + f32_error(4, magnitude)};
}

Approximation activate(Activation activation, Approximation x) noexcept {
  const double value = reference_activation(activation, x.value);
  if (activation == Activation::None || activation == Activation::Relu) return {value, x.error};
  if (!std::isfinite(x.value)) return {value, x.error};
  const double lipschitz = activation == Activation::GeluTanh ? 1.13 : 1.1;
  return {value, lipschitz * x.error + f32_error(8, std::fabs(x.value) + x.error)};
}

Approximation add_residual(Approximation y, double residual) noexcept {
  const double value = y.value + residual;
  if (!std::isfinite(value)) return {value, y.error < kInfinity ? 0 : kInfinity};
  return {value, y.error + f32_error(1, std::fabs(y.value) + y.error + std::fabs(residual))};
}

double saturated(double value) noexcept {
  return std::clamp(value, static_cast<double>(std::numeric_limits<std::int32_t>::min()),
                    static_cast<double>(std::numeric_limits<std::int32_t>::max()));
}

/// x y of two factors, each within its error: |xy - x'y'| <= |x| ey + |y| ex + ex ey, and a
/// rounding. Beside an infinite factor the sign of the other must be certain.
Approximation multiply(Approximation x, Approximation y) noexcept {
  const double value = x.value * y.value;
  if (x.error == kInfinity || y.error == kInfinity) return {value, kInfinity};
  const auto is_certain = [](const Approximation& factor) {
    return factor.error == 0 || std::fabs(factor.value) > factor.error;
  };
  if (std::isnan(x.value) || std::isnan(y.value)) return {value, 0};
  if (!std::isfinite(x.value) || !std::isfinite(y.value)) {
    return {value, is_certain(x) && is_certain(y) ? 0 : kInfinity};
  }
  const double error =
      std::fabs(x.value) * y.error + std::fabs(y.value) * x.error + x.error * y.error;
  return {value, error + f32_error(1, std::fabs(value) + error)};
}

/// The gate of two columns. Clamping moves no two numbers apart, and is exact.
Approximation join(const Gate& gate, Approximation g, Approximation u) noexcept {
  const auto limit = static_cast<double>(gate.limit);
  const auto alpha = static_cast<double>(gate.alpha);
  if (g.value > limit) g.value = limit;
  if (u.value > limit) u.value = limit;
  if (u.value < -limit) u.value = -limit;
  Approximation y = activate(gate.activation, g);
  if (alpha != 1) {
    // x / (1 + exp(-alpha x)) = silu(alpha x) / alpha, which has silu's Lipschitz constant. The
    // rounding of t = alpha x moves it by |x s'(t) t| u, s the logistic function, below |x| u / 4.
    y.value = reference_activation(Activation::Silu, alpha * g.value) / alpha;
    if (std::isfinite(g.value)) y.error += f32_error(1, std::fabs(g.value) + g.error);
  }
  return multiply(y, add_terms(u, static_cast<double>(gate.up_offset), 0));
}

/// Multiplies an operand, rows of K, or K rows, by the factors of its blocks: exact in double.
void scale_blocks(std::vector<double>& values, const float* factors, const VectorLayout& layout,
                  std::int64_t k, std::int64_t extent, bool k_is_inner) {
  for (std::int64_t i = 0; i < extent; ++i) {
    for (std::int64_t p = 0; p < k; ++p) {
      const float factor =
          factors[i / layout.extent * layout.stride + p / kScaledDepth * layout.k_stride];
      values[static_cast<std::size_t>(k_is_inner ? i * k + p : p * extent + i)] *=
          static_cast<double>(factor);
    }
  }
}

/// One element of the product, from its sum over K, with all that a gate or an activation is given.
Approximation add_up(const GemmProblem& problem, const GemmOperands& operands, Backend backend,
                     std::int64_t batch, std::int64_t i, std::int64_t j, const Sum& sum,
                     double c_term) noexcept {
  const double alpha = scalar(problem.alpha, operands.alpha);
  Approximation x;
  if (!problem.skips_product()) {
    x = scaled_sum(problem, backend, sum, alpha, scale(operands.a_scale, problem.a_scale, i),
                   scale(operands.b_scale, problem.b_scale, j));
  }
  const double bias =
      problem.bias ? load_element(operands.bias, problem.bias->dtype,
                                  batch * problem.bias->batch_stride + j * problem.bias->stride)
                   : 0.0;
  return add_terms(x, c_term, bias);
}

bool is_eighth(DType dtype) noexcept {
  return dtype == DType::F8E4M3 || dtype == DType::F8E5M2;
}

/// Of an operand's elements, how large a matrix unit takes a subnormal one to be; empty where there
/// is none, or where the backend's sums are not aligned.
std::vector<double> aligned(std::vector<double> values, DType dtype, Backend backend) {
  if (backend != Backend::Cuda || (bit_width(dtype) != 16 && !is_eighth(dtype))) return {};
  const double smallest = std::ldexp(1.0, number_format(dtype).min_exponent);
  bool has_subnormal = false;
  for (double& value : values) {
    value = std::isfinite(value) ? std::fabs(value) : 0.0;
    if (value == 0 || value >= smallest) continue;
    has_subnormal = true;
    value = smallest;
  }
  return has_subnormal || is_eighth(dtype) ? std::move(values) : std::vector<double>{};
}

/// Both operands of one product of a batch, row-major, and as `aligned` takes them.
struct Factors {
  std::vector<double> a, b, a_aligned, b_aligned;
  /// Of 8-bit floats: K after which the unit's sum is added elsewhere and begins anew; 0 otherwise.
  std::int64_t promoted = 0;
};

/// The unit's sums of 8-bit floats, an element of a row each, over one stretch of K.
struct ShortSums {
  std::vector<double> sum, largest_sum, largest_product;

  explicit ShortSums(std::size_t n) : sum(n), largest_sum(n), largest_product(n) {}

  void clear() {
    for (std::vector<double>* x : {&sum, &largest_sum, &largest_product}) {
      std::fill(x->begin(), x->end(), 0.0);
    }
  }
  void add(std::size_t j, double product, double taken) {
    if (std::isfinite(product)) sum[j] += product;
    largest_sum[j] = std::max(largest_sum[j], std::fabs(sum[j]));
    if (std::isfinite(taken)) largest_product[j] = std::max(largest_product[j], taken);
  }
  /// What a stretch of `k` loses. `windows`: its sums may begin at any k.
  [[nodiscard]] double error(std::size_t j, std::int64_t k, bool windows) const {
    constexpr std::int64_t kProducts = 32;
    const auto instructions = static_cast<double>((k + kProducts - 1) / kProducts);
    const auto terms = static_cast<double>(std::min(k, kProducts) + 1);
    const double share = instructions * terms * 0x1p-13;
    const double largest = std::max(largest_product[j], (windows ? 2 : 1) * largest_sum[j]);
    return share * largest * (1 + std::min(share, 1.0));  // the sums themselves are that wrong
  }
};

/// The sums over K of one row of the product.
struct RowSums {
  std::vector<double> value, magnitude, alignment;

  explicit RowSums(std::size_t n) : value(n), magnitude(n), alignment(n) {}

  [[nodiscard]] Sum operator[](std::int64_t j) const {
    const auto at = static_cast<std::size_t>(j);
    return {value[at], magnitude[at], alignment[at]};
  }

  void add_up(const Factors& factors, std::int64_t k, std::int64_t i) {
    std::fill(value.begin(), value.end(), 0.0);
    std::fill(magnitude.begin(), magnitude.end(), 0.0);
    const std::size_t n = value.size();
    for (std::int64_t p = 0; p < k; ++p) {
      const double factor = factors.a[static_cast<std::size_t>(i * k + p)];
      const double* b = factors.b.data() + static_cast<std::size_t>(p) * n;
      for (std::size_t j = 0; j < n; ++j) {
        const double product = factor * b[j];
        value[j] += product;
        magnitude[j] += std::fabs(product) < kInfinity ? std::fabs(product) : 0.0;
      }
    }
    if (factors.promoted > 0) {
      shorten(factors, k, i);
    } else {
      align(factors, k, i);
    }
  }

 private:
  void shorten(const Factors& factors, std::int64_t k, std::int64_t i) {
    const std::size_t n = value.size();
    std::fill(alignment.begin(), alignment.end(), 0.0);
    ShortSums sums(n);
    for (std::int64_t first = 0; first < k; first += factors.promoted) {
      const std::int64_t last = std::min(k, first + factors.promoted);
      sums.clear();
      for (std::int64_t p = first; p < last; ++p) {
        const auto row = static_cast<std::size_t>(i * k + p), at = static_cast<std::size_t>(p) * n;
        for (std::size_t j = 0; j < n; ++j) {
          sums.add(j, factors.a[row] * factors.b[at + j],
                   std::fabs(factors.a_aligned[row] * factors.b_aligned[at + j]));
        }
      }
      for (std::size_t j = 0; j < n; ++j) {
        alignment[j] += sums.error(j, last - first, factors.promoted >= k && k > kPromotedDepth);
      }
    }
  }
  void align(const Factors& factors, std::int64_t k, std::int64_t i) {
    if (factors.a_aligned.empty() && factors.b_aligned.empty()) return;
    const std::vector<double>& a = factors.a_aligned.empty() ? factors.a : factors.a_aligned;
    const std::vector<double>& b = factors.b_aligned.empty() ? factors.b : factors.b_aligned;
    const std::size_t n = value.size();
    std::fill(alignment.begin(), alignment.end(), 0.0);
    for (std::int64_t p = 0; p < k; ++p) {
      const double factor = std::fabs(a[static_cast<std::size_t>(i * k + p)]);
      for (std::size_t j = 0; j < n; ++j) {
        const double taken = factor * std::fabs(b[static_cast<std::size_t>(p) * n + j]);
        alignment[j] += taken < kInfinity ? taken : 0.0;
      }
    }
    const double terms = static_cast<double>(std::min<std::int64_t>(k, 16)) + 1;
    for (std::size_t j = 0; j < n; ++j) {
      alignment[j] = terms * 0x1p-25 * std::max(0.0, alignment[j] - magnitude[j]);
    }
  }
};

/// Element (i, j) of C.
Approximation finish(const GemmProblem& problem, const GemmOperands& operands, Backend backend,
                     std::int64_t batch, std::int64_t i, std::int64_t j,
                     const RowSums& row) noexcept {
  const double c_term = problem.reads_c() ? scalar(problem.beta, operands.beta) *
                                                element(operands.c, problem.c, batch, i, j)
                                          : 0.0;
  if (problem.c.dtype == DType::I32) return {saturated(row[j].value + c_term), 0};
  const auto column = [&](std::int64_t n) {
    return add_up(problem, operands, backend, batch, i, n, row[n], c_term);
  };
  Approximation x;
  if (!problem.gate) {
    x = activate(problem.activation, column(j));
  } else if (problem.gate->order == GateOrder::Concatenated) {
    x = join(*problem.gate, column(j), column(problem.c_columns() + j));
  } else {
    x = join(*problem.gate, column(2 * j), column(2 * j + 1));
  }
  if (problem.residual) {
    x = add_residual(x, element(operands.residual, *problem.residual, batch, i, j));
  }
  if (is_quantised(problem.c.dtype)) {
    const double factor = problem.scales_c ? static_cast<double>(*operands.c_scale) : 1.0;
    return quantise(problem.c.dtype, x, factor);
  }
  return narrow(problem.c.dtype, x);
}

}  // namespace

double reference_activation(Activation activation, double x) noexcept {
  constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
  const bool has_left_limit = activation == Activation::GeluTanh || activation == Activation::Silu;
  if (has_left_limit && x == -kInfinity) return 0;
  switch (activation) {
    case Activation::None:
      return x;
    case Activation::Relu:
      return x < 0 ? 0 : x;
    case Activation::GeluTanh:
      return 0.5 * x * (1 + std::tanh(kSqrtTwoOverPi * (x + 0.044715 * x * x * x)));
    case Activation::Silu:
      return x / (1 + std::exp(-x));
  }
  return x;
}

GemmReference reference_gemm(const GemmProblem& given, const GemmOperands& operands,
                             Backend backend) {
  GemmProblem problem = given;
  if (backend == Backend::Cpu && problem.precision == Precision::Fast) {
    problem.precision = Precision::Exact;
  }
  const std::int64_t m = problem.m, n = problem.n, k = problem.skips_product() ? 0 : problem.k;
  GemmReference result;
  result.value.reserve(static_cast<std::size_t>(problem.batch * m * problem.c_columns()));
  result.bound.reserve(result.value.capacity());
  RowSums row(static_cast<std::size_t>(n));
  for (std::int64_t batch = 0; batch < problem.batch; ++batch) {
    Factors factors{dense(operands.a, problem.a, batch, m, k),
                    dense(operands.b, problem.b, batch, k, n),
                    {},
                    {},
                    0};
    if (is_eighth(problem.a.dtype) && backend == Backend::Cuda) {
      factors.promoted =
          problem.precision == Precision::Fast ? std::max<std::int64_t>(k, 1) : kPromotedDepth;
    }
    factors.a_aligned = aligned(factors.a, problem.a.dtype, backend);
    factors.b_aligned = aligned(factors.b, problem.b.dtype, backend);
    for (std::vector<double>* a : {&factors.a, &factors.a_aligned}) {
      if (!problem.a_scale || !problem.a_scale->is_blocked || a->empty()) continue;
      scale_blocks(*a, operands.a_scale, *problem.a_scale, k, m, true);
    }
    for (std::vector<double>* b : {&factors.b, &factors.b_aligned}) {
      if (!problem.b_scale || !problem.b_scale->is_blocked || b->empty()) continue;
      scale_blocks(*b, operands.b_scale, *problem.b_scale, k, n, false);
    }
    for (std::int64_t i = 0; i < m; ++i) {
      row.add_up(factors, k, i);
      for (std::int64_t j = 0; j < problem.c_columns(); ++j) {
        const Approximation x = finish(problem, operands, backend, batch, i, j, row);
        result.value.push_back(x.value);
        result.bound.push_back(x.error);
      }
    }
  }
  return result;
}

}  // namespace girih::inline v0
