#include "backends/cpu/route.hpp"

#include <algorithm>
#include <cmath>

#include "backends/cpu/convert.hpp"
#include "backends/cpu/parallel.hpp"

// A counting sort of the pairs by expert. The tokens are cut into parts; each is routed and its
// experts counted by one thread, the counts become places, and each part puts its pairs there.
// Places do not depend on where the cuts are.

namespace girih::inline v0::cpu {
namespace {

/// Whether logit a comes before b, which comes earlier in the row.
bool precedes(float a, float b) noexcept {
  return std::isnan(a) ? !std::isnan(b) : a > b;
}

/// log(1 / (1 + exp(-x))), which does not underflow where that does.
float log_sigmoid(float x) noexcept {
  return std::min(x, 0.0F) - std::log1p(std::exp(-std::fabs(x)));
}

/// What a token writes of its experts, in order.
struct Slots {
  std::int32_t* chosen = nullptr;
  float* weights = nullptr;
  std::int64_t chosen_stride = 1, weight_stride = 1;

  [[nodiscard]] std::int32_t& expert(std::int64_t s) const noexcept {
    return chosen[s * chosen_stride];
  }
  [[nodiscard]] float& weight(std::int64_t s) const noexcept { return weights[s * weight_stride]; }

  /// Puts an expert among the first `held` where it belongs, and those behind it one further on.
  void insert(std::int64_t held, float logit, std::int64_t index) const noexcept {
    std::int64_t s = held;
    for (; s > 0 && precedes(logit, weight(s - 1)); --s) {
      weight(s) = weight(s - 1);
      expert(s) = expert(s - 1);
    }
    weight(s) = logit;
    expert(s) = static_cast<std::int32_t>(index);
  }
};

class Router {
 public:
  explicit Router(const RouteCall& call) noexcept
      : problem_(call.problem),
        to_(call.operands),
        parts_(call.selection.parts),
        counts_(reinterpret_cast<std::int32_t*>(call.scratch)) {}

  /// Chooses and weighs for a part's tokens, and counts its experts.
  void choose(std::int64_t part) const noexcept {
    std::int32_t* const counts = counts_of(part);
    std::fill_n(counts, problem_.experts, 0);
    for (std::int64_t t = first(part); t < first(part + 1); ++t) {
      const Slots slots = slots_of(t);
      choose_experts(t, slots);
      weigh(t, slots);
      for (std::int64_t s = 0; s < problem_.k; ++s) ++counts[slots.expert(s)];
    }
  }

  /// Turns the counts into the first place of each part's pairs of each expert.
  void count() const noexcept {
    std::int32_t place = 0;
    for (std::int64_t e = 0; e < problem_.experts; ++e) {
      to_.offsets[problem_.offsets.at(e, 0)] = place;
      for (std::int64_t part = 0; part < parts_; ++part) {
        const std::int32_t length = counts_of(part)[e];
        counts_of(part)[e] = place;
        place += length;
      }
    }
    to_.offsets[problem_.offsets.at(problem_.experts, 0)] = place;
  }

  void place(std::int64_t part) const noexcept {
    std::int32_t* const next = counts_of(part);
    for (std::int64_t t = first(part); t < first(part + 1); ++t) {
      const Slots slots = slots_of(t);
      for (std::int64_t s = 0; s < problem_.k; ++s) {
        const std::int32_t row = next[slots.expert(s)]++;
        to_.rows[problem_.rows.at(t, s)] = row;
        to_.sources[problem_.sources.at(row, 0)] = static_cast<std::int32_t>(t);
      }
    }
  }

 private:
  [[nodiscard]] std::int64_t first(std::int64_t part) const noexcept {
    return problem_.tokens / parts_ * part + std::min(part, problem_.tokens % parts_);
  }
  [[nodiscard]] std::int32_t* counts_of(std::int64_t part) const noexcept {
    return counts_ + part * problem_.experts;
  }
  [[nodiscard]] Slots slots_of(std::int64_t t) const noexcept {
    return {to_.chosen + problem_.chosen.at(t, 0), to_.weights + problem_.weights.at(t, 0),
            problem_.chosen.column_stride, problem_.weights.column_stride};
  }

  /// Calls `visit(first expert, logits, count)` for a token's logits, a block at a time.
  template <class Visit>
  void for_each_block(std::int64_t t, const Visit& visit) const noexcept {
    const RowsLayout& layout = problem_.logits;
    float logits[kConvertBlock];
    for (std::int64_t e = 0; e < problem_.experts; e += kConvertBlock) {
      const std::int64_t count = std::min(kConvertBlock, problem_.experts - e);
      widen_block(to_.logits + layout.at(t, e) * (bit_width(layout.dtype) / 8), layout.dtype,
                  layout.column_stride, count, logits);
      visit(e, logits, count);
    }
  }

  /// The k first of the row in order, by insertion: their logits lie in the weights meanwhile.
  void choose_experts(std::int64_t t, const Slots& slots) const noexcept {
    const std::int64_t k = problem_.k;
    std::int64_t held = 0;
    float last = 0;  // of the slots held
    for_each_block(t, [&](std::int64_t begin, const float* logits, std::int64_t count) noexcept {
      for (std::int64_t i = 0; i < count; ++i) {
        if (held == k && !precedes(logits[i], last)) continue;
        held = std::min(held + 1, k);
        slots.insert(held - 1, logits[i], begin + i);
        last = slots.weight(held - 1);
      }
    });
  }

  void weigh(std::int64_t t, const Slots& slots) const noexcept {
    const std::int64_t k = problem_.k;
    switch (problem_.kind) {
      case RouterWeights::SoftmaxOfChosen:
        return normalise(slots);
      case RouterWeights::SoftmaxOfAll:
        return normalise_over_all(t, slots);
      case RouterWeights::Sigmoid:
        for (std::int64_t s = 0; s < k; ++s) {
          slots.weight(s) = problem_.scale / (1 + std::exp(-slots.weight(s)));
        }
        return;
      case RouterWeights::SigmoidOfChosen:
        for (std::int64_t s = 0; s < k; ++s) slots.weight(s) = log_sigmoid(slots.weight(s));
        return normalise(slots);
    }
  }

  /// Turns logarithms, the first of which is the largest, into weights.
  void normalise(const Slots& slots) const noexcept {
    const float largest = slots.weight(0);
    float sum = 0;
    for (std::int64_t s = 0; s < problem_.k; ++s) {
      slots.weight(s) = std::exp(slots.weight(s) - largest);
      sum += slots.weight(s);
    }
    for (std::int64_t s = 0; s < problem_.k; ++s) {
      slots.weight(s) = slots.weight(s) / sum * problem_.scale;
    }
  }

  void normalise_over_all(std::int64_t t, const Slots& slots) const noexcept {
    const float largest = slots.weight(0);
    float sum = 0;
    for_each_block(t, [&](std::int64_t, const float* logits, std::int64_t count) noexcept {
      for (std::int64_t i = 0; i < count; ++i) sum += std::exp(logits[i] - largest);
    });
    for (std::int64_t s = 0; s < problem_.k; ++s) {
      slots.weight(s) = std::exp(slots.weight(s) - largest) / sum * problem_.scale;
    }
  }

  const RouteProblem& problem_;
  const RouteOperands& to_;
  const std::int64_t parts_;
  std::int32_t* const counts_;  ///< [parts, experts]
};

}  // namespace

Status run(const RouteCall& call, Executor& executor) {
  const Router router(call);
  const int threads = call.selection.threads;
  const std::int64_t parts = call.selection.parts;
  GIRIH_TRY(parallel_tasks(executor, threads, parts,
                           [&](std::int64_t part, std::int64_t) noexcept { router.choose(part); }));
  router.count();
  return parallel_tasks(executor, threads, parts,
                        [&](std::int64_t part, std::int64_t) noexcept { router.place(part); });
}

}  // namespace girih::inline v0::cpu
