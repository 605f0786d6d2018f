#include "reference/routing.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>

#include "reference/approximation.hpp"
#include "reference/element.hpp"

namespace girih::inline v0 {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSmallestNormal = 0x1p-126;
/// exp(-104) is under half the smallest subnormal of f32: relative errors mean nothing there.
constexpr double kNothing = -104;

/// Experts in the order in which the contract chooses them.
std::vector<std::size_t> in_order(const std::vector<double>& logits) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool nan_a = std::isnan(logits[a]), nan_b = std::isnan(logits[b]);
    return nan_a || nan_b ? nan_a && !nan_b : logits[a] > logits[b];
  });
  return order;
}

/// A logarithm of a weight before it is normalised, and its relative error of r.
struct Logarithm {
  double z = 0;
  double error = 0;  ///< in units of u
};

Logarithm log_sigmoid(double l) noexcept {
  const double z = std::min(l, 0.0) - std::log1p(std::exp(-std::fabs(l)));
  const double reach = std::min(std::fabs(l), -kNothing);
  return {std::isnan(l) ? l : z, 8 * std::fabs(z) + (2 * reach + 8) * std::exp(-reach)};
}

/// Weights of the first `k` of `logs` in the sum of all of them; `logs[0]` is the largest.
void normalise(std::span<const Logarithm> logs, std::size_t k, double scale,
               RouteReference& result) {
  const double largest = logs[0].z;
  const auto error_of = [&](const Logarithm& log) {
    const double d = log.z - largest;
    return d > kNothing ? (2 * std::fabs(d) + 8 + log.error + logs[0].error) * kRoundoff : 0.0;
  };
  double sum = 0, sum_error = 0;
  for (const Logarithm& log : logs) {
    const double term = std::exp(log.z - largest);
    sum += term;
    sum_error += term * error_of(log);
  }
  const double shared = sum_error / sum + gamma_n(static_cast<double>(logs.size()) + 3);
  for (std::size_t s = 0; s < k; ++s) {
    const double weight = scale * std::exp(logs[s].z - largest) / sum;
    const double relative = error_of(logs[s]) + shared;
    result.weights.push_back(weight);
    result.weight_bounds.push_back(std::isfinite(weight)
                                       ? std::fabs(weight) * relative / (1 - relative) +
                                             std::fabs(scale) * 2 * kSmallestNormal + 2 * kUnderflow
                                       : 0);
  }
}

void weigh(const RouteProblem& problem, const std::vector<double>& logits,
           const std::vector<std::size_t>& order, RouteReference& result) {
  const auto k = static_cast<std::size_t>(problem.k);
  const auto scale = static_cast<double>(problem.scale);
  std::vector<Logarithm> logs;
  for (const std::size_t expert : order) logs.push_back({logits[expert]});
  switch (problem.kind) {
    case RouterWeights::SoftmaxOfChosen:
      return normalise(std::span(logs).first(k), k, scale, result);
    case RouterWeights::SoftmaxOfAll:
      return normalise(logs, k, scale, result);
    case RouterWeights::SigmoidOfChosen:
      for (Logarithm& log : logs) log = log_sigmoid(log.z);
      return normalise(std::span(logs).first(k), k, scale, result);
    case RouterWeights::Sigmoid:
      break;
  }
  for (std::size_t s = 0; s < k; ++s) {
    const double weight = scale / (1 + std::exp(-logs[s].z));
    const double l = std::min(std::fabs(logs[s].z), -kNothing);
    result.weights.push_back(weight);
    result.weight_bounds.push_back(
        std::isfinite(weight) ? std::fabs(weight) * ((2 * l + 8) * kRoundoff + gamma_n(3)) +
                                    std::fabs(scale) * 2 * kSmallestNormal + 2 * kUnderflow
                              : 0);
  }
}

}  // namespace

RouteReference reference_route(const RouteProblem& problem, const RouteOperands& operands) {
  RouteReference result;
  std::vector<std::vector<std::int64_t>> pairs(static_cast<std::size_t>(problem.experts));
  for (std::int64_t t = 0; t < problem.tokens; ++t) {
    std::vector<double> logits;
    for (std::int64_t e = 0; e < problem.experts; ++e) {
      logits.push_back(
          load_element(operands.logits, problem.logits.dtype, problem.logits.at(t, e)));
    }
    const std::vector<std::size_t> order = in_order(logits);
    weigh(problem, logits, order, result);
    for (std::int64_t s = 0; s < problem.k; ++s) {
      const std::size_t expert = order[static_cast<std::size_t>(s)];
      result.chosen.push_back(static_cast<double>(expert));
      pairs[expert].push_back(t * problem.k + s);
    }
  }
  result.rows.resize(result.chosen.size());
  result.offsets.push_back(0);
  for (const std::vector<std::int64_t>& expert : pairs) {
    for (const std::int64_t pair : expert) {
      result.rows[static_cast<std::size_t>(pair)] = static_cast<double>(result.sources.size());
      result.sources.push_back(static_cast<double>(pair / problem.k));
    }
    result.offsets.push_back(static_cast<double>(result.sources.size()));
  }
  return result;
}

void reference_permute(const PermuteProblem& problem, const PermuteOperands& operands) noexcept {
  const std::int64_t bytes = bit_width(problem.x.dtype) / 8;
  for (std::int64_t r = 0; r < problem.rows; ++r) {
    const std::int64_t source = operands.sources[problem.sources.at(r, 0)];
    for (std::int64_t i = 0; i < problem.columns; ++i) {
      std::memcpy(operands.y + problem.y.at(r, i) * bytes,
                  operands.x + problem.x.at(source, i) * bytes, static_cast<std::size_t>(bytes));
    }
  }
}

UnpermuteReference reference_unpermute(const UnpermuteProblem& problem,
                                       const UnpermuteOperands& operands) {
  UnpermuteReference result;
  for (std::int64_t t = 0; t < problem.tokens; ++t) {
    for (std::int64_t i = 0; i < problem.columns; ++i) {
      double sum = 0, magnitude = 0;
      for (std::int64_t s = 0; s < problem.k; ++s) {
        const std::int64_t row = operands.indices[problem.indices.at(t, s)];
        const double x = load_element(operands.x, problem.x.dtype, problem.x.at(row, i));
        const double product =
            problem.weights ? static_cast<double>(operands.weights[problem.weights->at(t, s)]) * x
                            : x;
        sum += product;
        magnitude += std::isfinite(product) ? std::fabs(product) : 0;
      }
      const double error = f32_error(static_cast<double>(problem.k), magnitude);
      const bool is_exact = !std::isfinite(sum) && error < kInfinity;
      const Approximation y = narrow(problem.y.dtype, {sum, is_exact ? 0 : error});
      result.value.push_back(y.value);
      result.bound.push_back(y.error);
    }
  }
  return result;
}

}  // namespace girih::inline v0
