#include "girih/bench_operands.hpp"

#include <algorithm>
#include <random>

#include "core/error.hpp"
#include "core/storage.hpp"
#include "girih/bench_values.hpp"
#include "ops/gemm.hpp"
#include "verify/compare.hpp"

namespace girih::cli {
namespace {

/// Several times a last-level cache (60 MB on an H200).
constexpr std::int64_t kRotatedBytes = std::int64_t{256} << 20;
constexpr std::int64_t kMostSets = 1024;
/// Multiply-adds of the oracle up to which every element is checked; beyond, windows of C are, so
/// that 8192 cubed takes less than a second.
constexpr double kWholeCheck = 1 << 24;
constexpr int kWindows = 8;
constexpr std::int64_t kWindowRows = 16;
constexpr std::int64_t kWindowColumns = 64;

bool transposes_a(Layout layout) {
  return layout == Layout::TN || layout == Layout::TT;
}
bool transposes_b(Layout layout) {
  return layout == Layout::NT || layout == Layout::TT;
}

std::int64_t bytes_of(DType dtype) {
  return bit_width(dtype) / 8;
}

/// [rows, columns] with unit column stride, or the transpose of such a matrix.
Geometry matrix(DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                bool transposed) {
  Geometry geometry{dtype, Shape(rows, columns), {}, 0};
  geometry.strides[0] = transposed ? 1 : ld;
  geometry.strides[1] = transposed ? ld : 1;
  return geometry;
}

}  // namespace

std::string_view name(Layout layout) noexcept {
  switch (layout) {
    case Layout::NN:
      return "NN";
    case Layout::NT:
      return "NT";
    case Layout::TN:
      return "TN";
    case Layout::TT:
      return "TT";
  }
  return "unknown_layout";
}

Result<BenchOperands> BenchOperands::make(Runtime& runtime, const BenchCase& bench) {
  BenchOperands operands(bench, runtime.backend());
  GIRIH_TRY(operands.fill(runtime));
  GIRIH_TRY(operands.sample());
  return operands;
}

Status BenchOperands::fill(Runtime& runtime) {
  const BenchShape& s = case_.shape;
  for (const auto& [shape, dtype, what] :
       {std::tuple{Shape(s.batch, s.m, s.k), case_.operands, "A"},
        {Shape(s.batch, s.k, s.n), case_.operands, "B"},
        {Shape(s.batch, s.m, s.n), case_.output, "C"}}) {
    const Result<std::int64_t> size = checked_size(shape, what);
    if (!size) return size.error();
    const Result<std::int64_t> bytes = checked_bytes(*size, dtype, what);
    if (!bytes) return bytes.error();
  }
  std::mt19937_64 generator(1);
  host_a_ = random_elements(s.batch * s.m * s.k, case_.operands, generator);
  host_b_ = random_elements(s.batch * s.k * s.n, case_.operands, generator);
  host_c_.resize(static_cast<std::size_t>(s.batch * s.m * s.n * bytes_of(case_.output)));
  const auto make = [&](std::int64_t rows, std::int64_t columns, DType dtype, bool transposed,
                        Tensor& tensor) -> Status {
    if (transposed) std::swap(rows, columns);
    Result<Tensor> made = s.batch > 1 ? runtime.tensor({s.batch, rows, columns}, dtype)
                                      : runtime.tensor({rows, columns}, dtype);
    if (!made) return made.error();
    tensor = *std::move(made);
    return {};
  };
  const auto bytes = static_cast<std::int64_t>(host_a_.size() + host_b_.size() + host_c_.size());
  const std::int64_t count = std::clamp<std::int64_t>(kRotatedBytes / bytes, 1, kMostSets);
  for (std::int64_t i = 0; i < count; ++i) {
    Set set;
    GIRIH_TRY(make(s.m, s.k, case_.operands, transposes_a(case_.layout), set.a));
    GIRIH_TRY(make(s.k, s.n, case_.operands, transposes_b(case_.layout), set.b));
    GIRIH_TRY(make(s.m, s.n, case_.output, false, set.c));
    GIRIH_TRY(runtime.upload(set.a, std::span<const std::byte>(host_a_)));
    GIRIH_TRY(runtime.upload(set.b, std::span<const std::byte>(host_b_)));
    sets_.push_back(std::move(set));
  }
  if (case_.epilogue.scales) GIRIH_TRY(fill_scales(runtime, generator));
  if (!case_.epilogue.bias) return {};
  host_bias_ = random_elements(s.n, case_.operands, generator);
  Result<Tensor> bias = runtime.tensor(Shape(s.n), case_.operands);
  if (!bias) return bias.error();
  bias_ = *std::move(bias);
  return runtime.upload(*bias_, std::span<const std::byte>(host_bias_));
}

Status BenchOperands::fill_scales(Runtime& runtime, std::mt19937_64& generator) {
  const auto make = [&](std::int64_t count, std::vector<std::byte>& host,
                        std::optional<Tensor>& tensor) -> Status {
    host = random_elements(count, DType::F32, generator);
    Result<Tensor> made = runtime.tensor(Shape(count), DType::F32);
    if (!made) return made.error();
    tensor = *std::move(made);
    return runtime.upload(*tensor, std::span<const std::byte>(host));
  };
  GIRIH_TRY(make(case_.shape.m, host_a_scale_, a_scale_));
  return make(case_.shape.n, host_b_scale_, b_scale_);
}

GemmDesc BenchOperands::desc(std::int64_t i, bool fused) const {
  const Set& set = sets_[static_cast<std::size_t>(i) % sets_.size()];
  GemmDesc desc = {.a = transposes_a(case_.layout) ? set.a.transposed() : set.a,
                   .b = transposes_b(case_.layout) ? set.b.transposed() : set.b,
                   .c = set.c,
                   .precision = case_.precision,
                   .reproducibility = case_.reproducibility};
  if (fused) desc.epilogue.bias = bias_;
  if (fused && a_scale_) desc.a_scale = Scale{*a_scale_, Granularity::PerRow};
  if (fused && b_scale_) desc.b_scale = Scale{*b_scale_, Granularity::PerColumn};
  if (fused) desc.epilogue.activation = case_.epilogue.activation;
  return desc;
}

std::vector<PeerProduct> BenchOperands::peer_products(bool fused) const {
  const BenchShape& s = case_.shape;
  PeerProduct product = {.operands = case_.operands,
                         .output = case_.output,
                         .trans_a = transposes_a(case_.layout),
                         .trans_b = transposes_b(case_.layout),
                         .precision = case_.precision,
                         .m = s.m,
                         .n = s.n,
                         .k = s.k,
                         .batch = s.batch};
  product.lda = product.trans_a ? s.m : s.k;
  product.ldb = product.trans_b ? s.k : s.n;
  product.ldc = s.n;
  if (fused && bias_) product.bias = detail::TensorAccess::address(*bias_);
  if (fused) product.activation = case_.epilogue.activation;
  const auto scale = [&](const std::optional<Tensor>& tensor) {
    return fused && tensor ? reinterpret_cast<const float*>(detail::TensorAccess::address(*tensor))
                           : nullptr;
  };
  product.a_scale = scale(a_scale_);
  product.b_scale = scale(b_scale_);
  std::vector<PeerProduct> products;
  for (const Set& set : sets_) {
    product.a = detail::TensorAccess::address(set.a);
    product.b = detail::TensorAccess::address(set.b);
    product.c = detail::TensorAccess::address(set.c);
    products.push_back(product);
  }
  return products;
}

Status BenchOperands::poison(Runtime& runtime) {
  std::fill(host_c_.begin(), host_c_.end(), std::byte{0xFF});
  return runtime.upload(sets_.front().c, std::span<const std::byte>(host_c_));
}

Result<GemmReference> BenchOperands::reference(const Window& w, bool fused) const {
  const BenchShape& s = case_.shape;
  const bool ta = transposes_a(case_.layout), tb = transposes_b(case_.layout);
  GemmSpec spec = {.a = matrix(case_.operands, w.rows, s.k, ta ? s.m : s.k, ta),
                   .b = matrix(case_.operands, s.k, w.columns, tb ? s.k : s.n, tb),
                   .c = matrix(case_.output, w.rows, w.columns, w.columns, false),
                   .precision = case_.precision};
  const std::int64_t width = bytes_of(case_.operands);
  GemmOperands operands;
  operands.a = host_a_.data() + (w.batch * s.m * s.k + w.row * (ta ? 1 : s.k)) * width;
  operands.b = host_b_.data() + (w.batch * s.k * s.n + w.column * (tb ? s.k : 1)) * width;
  if (fused && case_.epilogue.bias) {
    spec.bias = Geometry{case_.operands, Shape(w.columns), contiguous_strides(Shape(w.columns)), 0};
    operands.bias = host_bias_.data() + w.column * width;
  }
  if (fused) spec.activation = case_.epilogue.activation;
  if (fused && case_.epilogue.scales) {
    spec.a_scale = Geometry{DType::F32, Shape(w.rows), contiguous_strides(Shape(w.rows)), 0};
    spec.b_scale = Geometry{DType::F32, Shape(w.columns), contiguous_strides(Shape(w.columns)), 0};
    spec.a_granularity = Granularity::PerRow;
    spec.b_granularity = Granularity::PerColumn;
    operands.a_scale = reinterpret_cast<const float*>(host_a_scale_.data()) + w.row;
    operands.b_scale = reinterpret_cast<const float*>(host_b_scale_.data()) + w.column;
  }
  const Result<GemmProblem> problem = girih::check(spec);
  if (!problem) return problem.error();
  return reference_gemm(*problem, operands, backend_);
}

Status BenchOperands::sample() {
  const BenchShape& s = case_.shape;
  const double work = static_cast<double>(s.m) * static_cast<double>(s.n) *
                      static_cast<double>(s.k) * static_cast<double>(s.batch);
  if (work <= kWholeCheck) {
    for (std::int64_t b = 0; b < s.batch; ++b) windows_.push_back({b, 0, 0, s.m, s.n, {}, {}});
  } else {
    std::mt19937_64 generator(2);
    const std::int64_t rows = std::min(s.m, kWindowRows), columns = std::min(s.n, kWindowColumns);
    for (int i = 0; i < kWindows; ++i) {
      // The first four are the corners, of the first and the last product; then any.
      const auto place = [&](std::int64_t room, bool at_end) {
        if (i < 4) return at_end ? room : 0;
        return static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(room + 1));
      };
      windows_.push_back({place(s.batch - 1, i % 2 == 1),
                          place(s.m - rows, i % 2 == 1),
                          place(s.n - columns, i / 2 == 1),
                          rows,
                          columns,
                          {},
                          {}});
    }
  }
  for (Window& window : windows_) {
    Result<GemmReference> plain = reference(window, false);
    if (!plain) return plain.error();
    window.plain = *std::move(plain);
    if (!case_.epilogue.bias && case_.epilogue.activation == Activation::None &&
        !case_.epilogue.scales) {
      continue;
    }
    Result<GemmReference> fused = reference(window, true);
    if (!fused) return fused.error();
    window.fused = *std::move(fused);
  }
  return {};
}

Result<double> BenchOperands::check(Runtime& runtime, bool fused, std::string_view who) {
  const BenchShape& s = case_.shape;
  GIRIH_TRY(runtime.download(sets_.front().c, std::span(host_c_)));
  const std::int64_t unwritten = find_nan(host_c_, case_.output);
  if (unwritten >= 0) {
    return error(Code::DeviceFailed, "{} is wrong: NaN in row {}, column {} of product {}", who,
                 unwritten / s.n % s.m, unwritten % s.n, unwritten / (s.m * s.n));
  }
  double max_error = 0;
  for (const Window& w : windows_) {
    const std::int64_t first = (w.batch * s.m + w.row) * s.n + w.column;
    const GemmReference& want = fused ? w.fused : w.plain;
    const verify::Comparison comparison =
        verify::compare(want.value, want.bound,
                        {matrix(case_.output, w.rows, w.columns, s.n, false),
                         host_c_.data() + first * bytes_of(case_.output)});
    if (!comparison.passed()) {
      return error(Code::DeviceFailed, "{} is wrong from row {}, column {} of product {} on: {}",
                   who, w.row, w.column, w.batch, comparison.to_string());
    }
    max_error = std::max(max_error, comparison.max_error);
  }
  return max_error;
}

}  // namespace girih::cli
