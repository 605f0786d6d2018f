#include "verify/bound_gemm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "plan/cuda_f32_cost.hpp"
#include "reference/element.hpp"
#include "runtime/state.hpp"
#include "verify/random.hpp"

namespace girih::inline v0::verify {
namespace {

/// The values of a case's contents, one after another.
class Values {
 public:
  Values(Contents contents, DType dtype, Random random)
      : contents_(contents), dtype_(dtype), random_(random) {}

  double next() {
    const bool odd = (count_++ & 1) != 0;
    if (contents_ == Contents::Lowest) return lowest();
    if (dtype_ == DType::I8) return integer();
    if (dtype_ == DType::I32)
      return static_cast<double>(random_.integer(-2'000'000'000, 2'000'000'000));
    switch (contents_) {
      case Contents::Uniform:
        return random_.real();
      case Contents::Wide: {
        const auto exponent = static_cast<int>(random_.integer(-12, 12));
        return std::ldexp(random_.real(), std::min(exponent, dtype_ == DType::F8E4M3 ? 8 : 12));
      }
      case Contents::Cancelling:
        return (odd ? -1.0 : 1.0) + random_.real() / 64;
      case Contents::Special:
        return random_.one_in(200) ? special() : random_.real();
      case Contents::Lowest:
        break;
    }
    return 0;
  }

 private:
  [[nodiscard]] double lowest() const {
    if (dtype_ == DType::I32) return std::numeric_limits<std::int32_t>::min();
    return dtype_ == DType::I8 ? -128 : -number_format(dtype_).max;
  }

  double integer() {
    if (contents_ == Contents::Special) return random_.one_in(2) ? -128 : 127;
    return static_cast<double>(random_.integer(-128, 127));
  }

  double special() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    switch (random_.integer(0, 5)) {
      case 0:
        return std::numeric_limits<double>::quiet_NaN();
      case 1:
        return kInfinity;
      case 2:
        return -kInfinity;
      case 3:
        return -0.0;
      case 4:
        return 0.0;
      default:
        return dtype_ == DType::F16      ? 0x1p-20
               : dtype_ == DType::F8E4M3 ? 0x1p-8
               : dtype_ == DType::F8E5M2 ? 0x1p-15
                                         : 0x1p-130;
    }
  }

  Contents contents_;
  DType dtype_;
  Random random_;
  std::uint64_t count_ = 0;
};

struct Layout {
  Shape shape;
  Strides strides{};
};

Layout matrix_layout(const MatrixCase& layout, std::optional<std::int64_t> batch, std::int64_t rows,
                     std::int64_t columns) {
  const std::int64_t fast = layout.column_major ? rows : columns;
  const std::int64_t slow = layout.column_major ? columns : rows;
  const std::int64_t leading = std::max<std::int64_t>(fast, 1) * layout.step + layout.pad;
  const std::int64_t row_stride = layout.column_major ? layout.step : leading;
  const std::int64_t column_stride = layout.column_major ? leading : layout.step;
  if (!batch || layout.sharing == Sharing::Rank2) {
    return {{rows, columns}, {row_stride, column_stride}};
  }
  const std::int64_t batch_stride =
      layout.sharing == Sharing::Repeated
          ? 0
          : std::max<std::int64_t>(slow, 1) * leading + layout.batch_gap;
  return {{*batch, rows, columns}, {batch_stride, row_stride, column_stride}};
}

/// Makes one operand in place.
Status place(Runtime& runtime, std::optional<GuardedTensor>& slot, DType dtype,
             const Layout& layout, std::int64_t offset) {
  auto made = GuardedTensor::make(runtime, dtype, layout.shape, layout.strides, offset);
  if (!made) return made.error();
  slot = *std::move(made);
  return {};
}

Status place_scale(Runtime& runtime, std::optional<GuardedTensor>& slot,
                   std::optional<Granularity> granularity, std::int64_t extent, std::int64_t depth,
                   std::optional<std::int64_t> products) {
  if (!granularity) return {};
  const bool is_single = granularity == Granularity::PerTensor;
  if (*granularity >= Granularity::PerRowBlock) {
    const std::int64_t along = ceil_div(depth, kScaledDepth);
    if (granularity == Granularity::PerBlock) extent = ceil_div(extent, kScaledDepth);
    const Layout blocks = granularity == Granularity::PerRowBlock
                              ? Layout{{extent, along}, {along + 1, 1}}
                              : Layout{{along, extent}, {extent + 1, 1}};
    return place(runtime, slot, DType::F32, blocks, 1);
  }
  Layout layout{{is_single ? 1 : extent}, {1}};
  if (products)
    layout = is_single ? Layout{{*products}, {2}} : Layout{{*products, extent}, {extent + 1, 1}};
  return place(runtime, slot, DType::F32, layout, 1);
}

}  // namespace

Result<BoundGemm> BoundGemm::make(Runtime& runtime, const GemmCase& gemm_case,
                                  GemmLauncher launcher) {
  const std::uint64_t id = runtime.id();
  Result<BoundGemm> result = place(
      runtime, gemm_case, [id](const GemmDesc& desc) { return check(desc, {.runtime = id}); });
  if (result) result->launcher_ = std::move(launcher);
  return result;
}

Result<BoundGemm> BoundGemm::place(Runtime& runtime, const GemmCase& gemm_case,
                                   const GemmChecking& checking) {
  using verify::place;
  BoundGemm result;
  result.case_ = gemm_case;
  result.backend_ = runtime.backend();
  result.features_ = detail::RuntimeAccess::shared(runtime)->device().info().features;
  const GemmCase& x = result.case_;
  GIRIH_TRY(
      place(runtime, result.a_, x.operands, matrix_layout(x.a, x.batch, x.m, x.k), x.a.offset));
  GIRIH_TRY(place(runtime, result.b_, x.operands,
                  matrix_layout(x.b, x.batch, x.k, x.product_columns()), x.b.offset));
  GIRIH_TRY(place(runtime, result.c_, x.output, matrix_layout(x.c, x.batch, x.m, x.n), x.c.offset));
  if (x.bias) {
    const std::int64_t columns = x.product_columns();
    const Layout layout = x.bias_per_batch ? Layout{{x.products(), columns}, {columns + 1, 1}}
                                           : Layout{{columns}, {1}};
    GIRIH_TRY(place(runtime, result.bias_, *x.bias, layout, x.bias_offset));
  }
  if (x.residual == ResidualCase::Separate) {
    GIRIH_TRY(place(runtime, result.residual_, x.residual_type,
                    matrix_layout(x.residual_layout, x.batch, x.m, x.n), x.residual_layout.offset));
  }
  const auto own = x.scales_per_batch ? x.batch : std::nullopt;
  const bool shares_rows = x.c.sharing == Sharing::Rank2 && x.a_scale == Granularity::PerRow;
  GIRIH_TRY(
      place_scale(runtime, result.a_scale_, x.a_scale, x.m, x.k, shares_rows ? std::nullopt : own));
  GIRIH_TRY(place_scale(runtime, result.b_scale_, x.b_scale, x.product_columns(), x.k, own));
  if (x.c_scale) GIRIH_TRY(place(runtime, result.c_scale_, DType::F32, {{1}, {1}}, 3));
  if (x.alpha_on_device) GIRIH_TRY(place(runtime, result.alpha_, DType::F32, {{1}, {1}}, 1));
  if (x.beta_on_device) GIRIH_TRY(place(runtime, result.beta_, DType::F32, {{1}, {1}}, 1));
  auto problem = checking(result.desc());
  if (!problem) return problem.error();
  result.problem_ = *problem;
  return result;
}

template <class Self, class Visit>
void BoundGemm::for_each_input(Self& self, Visit&& visit) {
  visit("A", *self.a_);
  visit("B", *self.b_);
  if (self.bias_) visit("bias", *self.bias_);
  if (self.residual_) visit("residual", *self.residual_);
  if (self.a_scale_) visit("a_scale", *self.a_scale_);
  if (self.b_scale_) visit("b_scale", *self.b_scale_);
  if (self.c_scale_) visit("c_scale", *self.c_scale_);
  if (self.alpha_) visit("alpha", *self.alpha_);
  if (self.beta_) visit("beta", *self.beta_);
}

GemmDesc BoundGemm::desc() const {
  GemmDesc desc{.a = a_->tensor(), .b = b_->tensor(), .c = c_->tensor()};
  desc.alpha = alpha_ ? ScalarArg<float>(alpha_->tensor()) : ScalarArg<float>(case_.alpha);
  desc.beta = beta_ ? ScalarArg<float>(beta_->tensor()) : ScalarArg<float>(case_.beta);
  if (a_scale_) desc.a_scale = Scale{a_scale_->tensor(), *case_.a_scale};
  if (b_scale_) desc.b_scale = Scale{b_scale_->tensor(), *case_.b_scale};
  if (c_scale_) desc.c_scale = Scale{c_scale_->tensor(), Granularity::PerTensor};
  if (bias_) desc.epilogue.bias = bias_->tensor();
  desc.epilogue.activation = case_.activation;
  desc.epilogue.gate = case_.gate;
  if (residual_) desc.epilogue.residual = residual_->tensor();
  if (case_.residual == ResidualCase::SameAsC) desc.epilogue.residual = c_->tensor();
  desc.precision = case_.precision;
  desc.path = case_.path;
  desc.reproducibility = case_.reproducibility;
  return desc;
}

void BoundGemm::fill(std::uint64_t variant) {
  fill_operands(variant);
  reference_ = reference();
}

void BoundGemm::fill_operands(std::uint64_t variant) {
  std::uint64_t stream = variant * 16;
  const auto fill_one = [&](GuardedTensor& tensor, Contents contents) {
    Values values(contents, tensor.tensor().dtype(),
                  Random(case_.seed * 0x100000001B3ULL + case_.index, ++stream));
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, values.next());
  };
  for_each_input(*this, [&](const char*, GuardedTensor& tensor) {
    const bool operand = &tensor == &*a_ || &tensor == &*b_;
    fill_one(tensor, operand ? case_.contents : Contents::Uniform);
  });
  if (c_scale_) {  // from what leaves a few steps of i8 to what saturates
    Random random(case_.seed * 0x100000001B3ULL + case_.index, ++stream);
    c_scale_->set(0, std::ldexp(random.real(), static_cast<int>(random.integer(-2, 8))));
  }
  fill_one(*c_, case_.contents);
  if (problem_->skips_product()) {
    a_->poison(Poison::Nan);
    b_->poison(Poison::Nan);
  }
  if (variant == 0) {  // the case states the first values of the device scalars
    if (alpha_) alpha_->set(0, static_cast<double>(case_.alpha));
    if (beta_) beta_->set(0, static_cast<double>(case_.beta));
  }
}

Result<Plan> BoundGemm::plan(Runtime& runtime) const {
  return girih::plan(runtime, desc());
}

bool BoundGemm::may_refuse(const Error& error) const {
  if (error.code != Code::GemmNoKernel) return false;
  // Matrix rows of a GPU take no exact f32 operands. What they take of fast ones on cuda has a
  // row-major C, and bits that depend on all operands.
  const bool is_exact = problem_->precision == Precision::Exact;
  const bool is_tf32 = problem_->precision == Precision::Tf32;
  const bool is_limited =
      backend_ == Backend::Cuda &&
      (problem_->reproducibility == Reproducibility::RowInvariant || !cuda_f32_has_rows(*problem_));
  const bool has_no_row = case_.operands == DType::F32 && (is_exact || (is_limited && !is_tf32));
  const bool lacks_row = backend_ != Backend::Cpu && case_.path == Path::Matrix && has_no_row;
  const bool is_eighth = case_.operands == DType::F8E4M3 || case_.operands == DType::F8E5M2;
  const bool lacks_eighths = is_eighth && backend_ != Backend::Cuda;
  const bool lacks_tf32 = is_tf32 && backend_ == Backend::Cpu;
  const bool lacks_blocks = problem_->has_block_scales() && !features_.has(Feature::Sm90a);
  const bool lacks_portable = (is_tf32 || is_eighth) && case_.path == Path::Portable;
  const bool lacks_quantised = is_quantised(case_.output) && backend_ == Backend::Metal;
  return lacks_quantised || lacks_tf32 || lacks_eighths || lacks_blocks || lacks_portable ||
         lacks_row;
}

bool BoundGemm::poisons_output() const {
  return !problem_->reads_c() && case_.residual != ResidualCase::SameAsC;
}

Status BoundGemm::upload(Runtime& runtime) const {
  Status status = c_->upload(runtime);
  for_each_input(*this, [&](const char*, const GuardedTensor& tensor) {
    if (status) status = tensor.upload(runtime);
  });
  return status;
}

Status BoundGemm::observe(Runtime& runtime) {
  Status status = c_->observe(runtime);
  for_each_input(*this, [&](const char*, GuardedTensor& tensor) {
    if (status) status = tensor.observe(runtime);
  });
  return status;
}

std::string BoundGemm::damage() const {
  std::string found = c_->damage();
  if (!found.empty()) return "C: " + found;
  for_each_input(*this, [&](const char* operand, const GuardedTensor& tensor) {
    if (!found.empty()) return;
    found = tensor.change();
    if (!found.empty()) found = std::string(operand) + ": " + found;
  });
  return found;
}

GemmOperands BoundGemm::host_operands() const {
  const auto floats = [](const std::optional<GuardedTensor>& tensor) {
    return tensor ? reinterpret_cast<const float*>(tensor->host_address()) : nullptr;
  };
  GemmOperands operands;
  operands.a = a_->host_address();
  operands.b = b_->host_address();
  operands.c = const_cast<std::byte*>(c_->host_address());  // the oracle only reads
  if (bias_) operands.bias = bias_->host_address();
  if (residual_) operands.residual = residual_->host_address();
  if (case_.residual == ResidualCase::SameAsC) operands.residual = operands.c;
  operands.a_scale = floats(a_scale_);
  operands.b_scale = floats(b_scale_);
  operands.c_scale = floats(c_scale_);
  operands.alpha = floats(alpha_);
  operands.beta = floats(beta_);
  return operands;
}

GemmReference BoundGemm::reference() const {
  return reference_gemm(*problem_, host_operands(), backend_);
}

Comparison BoundGemm::judge() const {
  return compare(reference_.value, reference_.bound, c_->observed());
}

CaseReport run_case(Runtime& runtime, const GemmCase& gemm_case, Mode mode, GemmLauncher launcher,
                    Refusals refusals) {
  return run_case(runtime, BoundGemm::make(runtime, gemm_case, std::move(launcher)), mode,
                  refusals);
}

}  // namespace girih::inline v0::verify
