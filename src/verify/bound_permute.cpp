#include "verify/bound_permute.hpp"

#include <limits>

#include "core/error.hpp"
#include "verify/random.hpp"

namespace girih::inline v0::verify {
namespace {

double number(Random& random, DType dtype, bool is_special) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!is_float(dtype)) {
    return static_cast<double>(dtype == DType::U8 ? random.integer(0, 255)
                                                  : random.integer(-128, 127));
  }
  if (!is_special || !random.one_in(10)) return random.real();
  switch (random.integer(0, 3)) {
    case 0:
      return std::numeric_limits<double>::quiet_NaN();
    case 1:
      return kInfinity;
    case 2:
      return -kInfinity;
    default:
      return 0;
  }
}

}  // namespace

Result<BoundPermute> BoundPermute::make(Runtime& runtime, const PermuteCase& x,
                                        PermuteLaunchers launchers) {
  BoundPermute result;
  result.case_ = x;
  result.launchers_ = std::move(launchers);
  result.backend_ = runtime.backend();
  const auto place = [&](std::optional<GuardedTensor>& to, DType dtype, const Shape& shape,
                         const StridedCase& layout) -> Status {
    auto tensor =
        GuardedTensor::make(runtime, dtype, shape, strides_of(shape, layout), layout.offset);
    if (!tensor) return tensor.error();
    to = *std::move(tensor);
    return {};
  };
  GIRIH_TRY(place(result.x_, x.x_type, {x.x_rows, x.columns}, x.x));
  GIRIH_TRY(place(result.y_, x.y_type, {x.y_rows, x.columns}, x.y));
  if (x.op == Op::Permute) {
    GIRIH_TRY(place(result.indices_, DType::I32, {x.y_rows}, x.indices));
    auto problem = check(result.permute_desc(), {.runtime = runtime.id()});
    if (!problem) return problem.error();
    result.permute_ = *problem;
    return result;
  }
  GIRIH_TRY(place(result.indices_, DType::I32, {x.y_rows, x.k}, x.indices));
  if (x.has_weights) GIRIH_TRY(place(result.weights_, DType::F32, {x.y_rows, x.k}, x.indices));
  auto problem = check(result.unpermute_desc(), {.runtime = runtime.id()});
  if (!problem) return problem.error();
  result.unpermute_ = *problem;
  return result;
}

PermuteDesc BoundPermute::permute_desc() const {
  return {.x = x_->tensor(), .sources = indices_->tensor(), .y = y_->tensor()};
}

UnpermuteDesc BoundPermute::unpermute_desc() const {
  UnpermuteDesc desc{.x = x_->tensor(), .rows = indices_->tensor(), .y = y_->tensor()};
  if (weights_) desc.weights = weights_->tensor();
  return desc;
}

Result<Plan> BoundPermute::plan(Runtime& runtime) const {
  return permutes() ? girih::plan(runtime, permute_desc()) : girih::plan(runtime, unpermute_desc());
}

Status BoundPermute::launch(Runtime& runtime) const {
  return permutes() ? launchers_.permute(runtime, permute_desc())
                    : launchers_.unpermute(runtime, unpermute_desc());
}

bool BoundPermute::is_empty() const {
  return permutes() ? permute_->is_empty() : unpermute_->is_empty();
}

bool BoundPermute::may_refuse(const Error& error) const {
  return error.code == Code::GemmNoKernel && backend_ == Backend::Metal;
}

const std::int32_t* BoundPermute::host_indices() const noexcept {
  return reinterpret_cast<const std::int32_t*>(indices_->host_address());
}

void BoundPermute::fill(std::uint64_t variant) {
  Random random(case_.seed, case_.index * 2 + variant);
  std::vector<bool> is_named(static_cast<std::size_t>(case_.x_rows));
  for (std::int64_t i = 0; i < indices_->size(); ++i) {
    const std::int64_t row = case_.x_rows > 0 ? random.integer(0, case_.x_rows - 1) : 0;
    indices_->set(i, static_cast<double>(row));
    if (case_.x_rows > 0) is_named[static_cast<std::size_t>(row)] = true;
  }
  for (std::int64_t i = 0; i < x_->size(); ++i) {
    const bool named = is_named[static_cast<std::size_t>(i / case_.columns)];
    const double value = number(random, case_.x_type, case_.is_special);
    x_->set(i, named || !is_float(case_.x_type) ? value : std::numeric_limits<double>::quiet_NaN());
  }
  if (weights_) {
    for (std::int64_t i = 0; i < weights_->size(); ++i) {
      weights_->set(i, number(random, DType::F32, case_.is_special));
    }
  }
  if (permutes() || unpermute_->is_empty()) return;
  reference_ = reference_unpermute(
      *unpermute_,
      {.x = x_->host_address(),
       .indices = host_indices(),
       .weights = weights_ ? reinterpret_cast<const float*>(weights_->host_address()) : nullptr});
}

Status BoundPermute::upload(Runtime& runtime) const {
  for (const auto* tensor : {&x_, &indices_, &weights_, &y_}) {
    if (*tensor) GIRIH_TRY((*tensor)->upload(runtime));
  }
  return {};
}

Status BoundPermute::observe(Runtime& runtime) {
  for (auto* tensor : {&x_, &indices_, &weights_, &y_}) {
    if (*tensor) GIRIH_TRY((*tensor)->observe(runtime));
  }
  return {};
}

std::string BoundPermute::damage() const {
  std::string found = y_->damage();
  if (!found.empty()) return "y: " + found;
  found = x_->change();
  if (!found.empty()) return "x: " + found;
  found = indices_->change();
  if (!found.empty()) return "indices: " + found;
  if (weights_) found = weights_->change();
  return found.empty() ? found : "weights: " + found;
}

Comparison BoundPermute::judge() const {
  if (!permutes()) return compare(reference_.value, reference_.bound, y_->observed());
  GuardedTensor want = *y_;
  if (!permute_->is_empty()) {
    reference_permute(
        *permute_, {.x = x_->host_address(), .sources = host_indices(), .y = want.host_address()});
  }
  return compare_exact(want.host(), y_->observed(), NanRule::SameBits);
}

CaseReport run_case(Runtime& runtime, const PermuteCase& permute_case, Mode mode,
                    PermuteLaunchers launchers, Refusals refusals) {
  return run_case(runtime, BoundPermute::make(runtime, permute_case, std::move(launchers)), mode,
                  refusals);
}

}  // namespace girih::inline v0::verify
