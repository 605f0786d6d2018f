#include "verify/bound_route.hpp"

#include <array>
#include <limits>

#include "core/error.hpp"
#include "verify/random.hpp"

namespace girih::inline v0::verify {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double special_logit(Random& random) {
  const std::int64_t which = random.integer(0, 29);
  return which == 0   ? std::numeric_limits<double>::quiet_NaN()
         : which == 1 ? kInfinity
         : which < 4  ? -kInfinity
                      : 8 * random.real();
}

double make_logit(Logits contents, Random& random, std::int64_t expert) {
  switch (contents) {
    case Logits::Uniform:
      return 8 * random.real();
    case Logits::Ties: {
      const auto value = static_cast<double>(random.integer(-2, 2));
      return value == 0 && random.one_in(2) ? -0.0 : value;
    }
    case Logits::Far:
      return 100 * random.real();
    case Logits::Special:
      return special_logit(random);
    case Logits::Masked:
      return random.one_in(4) ? 8 * random.real() : -kInfinity;
    case Logits::Sorted:
      return 0.25 * static_cast<double>(expert);
  }
  return 0;
}

}  // namespace

Result<BoundRoute> BoundRoute::make(Runtime& runtime, const RouteCase& x, RouteLauncher launcher) {
  BoundRoute result;
  result.case_ = x;
  result.launcher_ = std::move(launcher);
  result.backend_ = runtime.backend();
  struct Wanted {
    std::optional<GuardedTensor>& tensor;
    DType dtype;
    Shape shape;
    const StridedCase& layout;
  };
  const Shape pairs{x.tokens, x.k};
  for (const Wanted& wanted : {Wanted{result.logits_, x.dtype, {x.tokens, x.experts}, x.logits},
                               Wanted{result.chosen_, DType::I32, pairs, x.written},
                               Wanted{result.weights_, DType::F32, pairs, x.written},
                               Wanted{result.offsets_, DType::I32, {x.experts + 1}, x.lists},
                               Wanted{result.rows_, DType::I32, pairs, x.written},
                               Wanted{result.sources_, DType::I32, {x.tokens * x.k}, x.lists}}) {
    StridedCase layout = wanted.layout;
    if (wanted.shape.rank() == 1) layout.order = {0, 1, 2, 3, 4, 5};
    auto tensor = GuardedTensor::make(runtime, wanted.dtype, wanted.shape,
                                      strides_of(wanted.shape, layout), layout.offset);
    if (!tensor) return tensor.error();
    wanted.tensor = *std::move(tensor);
  }
  auto problem = check(result.desc(), {.runtime = runtime.id()});
  if (!problem) return problem.error();
  result.problem_ = *problem;
  return result;
}

RouteDesc BoundRoute::desc() const {
  return {.logits = logits_->tensor(),
          .chosen = chosen_->tensor(),
          .weights = weights_->tensor(),
          .offsets = offsets_->tensor(),
          .rows = rows_->tensor(),
          .sources = sources_->tensor(),
          .kind = case_.kind,
          .scale = case_.scale};
}

Result<Plan> BoundRoute::plan(Runtime& runtime) const {
  return girih::plan(runtime, desc());
}

bool BoundRoute::may_refuse(const Error& error) const {
  return error.code == Code::GemmNoKernel && backend_ == Backend::Metal;
}

void BoundRoute::fill(std::uint64_t variant) {
  Random random(case_.seed, case_.index * 2 + variant);
  for (std::int64_t i = 0; i < logits_->size(); ++i) {
    logits_->set(i, make_logit(case_.contents, random, i % case_.experts));
  }
  reference_ = reference_route(*problem_, {.logits = logits_->host_address()});
}

std::vector<WrittenTensor> BoundRoute::outputs() {
  return {{"chosen", &*chosen_},
          {"weights", &*weights_},
          {"offsets", &*offsets_},
          {"rows", &*rows_},
          {"sources", &*sources_}};
}

Status BoundRoute::upload(Runtime& runtime) const {
  for (const auto* tensor : {&logits_, &chosen_, &weights_, &offsets_, &rows_, &sources_}) {
    GIRIH_TRY((*tensor)->upload(runtime));
  }
  return {};
}

Status BoundRoute::observe(Runtime& runtime) {
  for (auto* tensor : {&logits_, &chosen_, &weights_, &offsets_, &rows_, &sources_}) {
    GIRIH_TRY((*tensor)->observe(runtime));
  }
  return {};
}

std::string BoundRoute::damage() const {
  struct Named {
    const char* name;
    const GuardedTensor& tensor;
  };
  for (const auto& [name, tensor] :
       {Named{"chosen: ", *chosen_}, Named{"weights: ", *weights_}, Named{"offsets: ", *offsets_},
        Named{"rows: ", *rows_}, Named{"sources: ", *sources_}}) {
    if (const std::string found = tensor.damage(); !found.empty()) return name + found;
  }
  const std::string found = logits_->change();
  return found.empty() ? found : "logits: " + found;
}

Comparison BoundRoute::judge() const {
  struct Judged {
    const char* name;
    const std::vector<double>& value;
    const GuardedTensor& tensor;
  };
  Comparison worst;
  for (const auto& [name, value, tensor] :
       {Judged{"weights", reference_.weights, *weights_},
        Judged{"chosen", reference_.chosen, *chosen_},
        Judged{"offsets", reference_.offsets, *offsets_}, Judged{"rows", reference_.rows, *rows_},
        Judged{"sources", reference_.sources, *sources_}}) {
    const std::vector<double> exact(value.size());
    const bool is_exact = &value != &reference_.weights;
    Comparison next =
        compare(value, is_exact ? exact : reference_.weight_bounds, tensor.observed());
    next.what = name;
    // A wrong weight is told only where all indices are right: it follows from them.
    if (worst.elements == 0 || !next.passed()) worst = next;
  }
  return worst;
}

CaseReport run_case(Runtime& runtime, const RouteCase& route_case, Mode mode,
                    RouteLauncher launcher, Refusals refusals) {
  return run_case(runtime, BoundRoute::make(runtime, route_case, std::move(launcher)), mode,
                  refusals);
}

}  // namespace girih::inline v0::verify
