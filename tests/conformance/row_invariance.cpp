#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "support/backends.hpp"
#include "support/gemm.hpp"
#include "support/sanitizers.hpp"

// Reproducibility::RowInvariant on every kernel row and on the free choice: a row's bits are those
// of the row alone, whatever travels with it.

namespace girih::testing {
namespace {

using Bytes = std::vector<std::byte>;

constexpr bool kIsSlow = GIRIH_TEST_ASAN || GIRIH_TEST_TSAN;

/// One kernel row, or the free choice, on one type of operands.
struct Choice {
  Backend backend;
  std::string kernel;  ///< empty: selection chooses, at each M anew
  DType operands, output;
  Precision precision = Precision::Exact;
};

std::vector<Choice> all_choices() {
  std::vector<Choice> choices;
  for (const Backend backend : tested_backends()) {
    std::set<std::pair<DType, Precision>> chosen_freely;
    for (const UsableKernel& row : usable_kernels(backend, Op::Gemm)) {
      for (const DType operands :
           {DType::F32, DType::BF16, DType::F16, DType::I8, DType::F8E4M3, DType::F8E5M2}) {
        if (!row.info.operands.has(operands) || row.info.splits_f32) continue;
        const DType output = operands == DType::I8 ? DType::I32 : DType::F32;
        choices.push_back(
            {backend, std::string(row.info.name), operands, output, precision_of(row.info)});
        const Precision precision = row.info.precision.value_or(Precision::Exact);
        if (chosen_freely.insert({operands, precision}).second)
          choices.push_back({backend, "", operands, output, precision});
      }
    }
  }
  return choices;
}

/// The most rows: beyond the largest tile of each backend. Metal's has 128.
std::int64_t most_rows(Backend backend) {
  return backend == Backend::Metal ? 257 : 513;
}
/// Every M; under a sanitizer and on the emulator those around the edges of tiles.
bool is_tried(std::int64_t m, Backend backend) {
  return (!kIsSlow && backend != Backend::Metal) || is_near_tile_edge(m);
}

class RowInvariance : public ::testing::TestWithParam<Choice> {
 protected:
  Bytes multiply(const Tensor& a, const Tensor& b) {
    return product(runtime_, a, b, output_, Reproducibility::RowInvariant, GetParam().precision);
  }
  /// True if `rows` are rows [begin, ...) of `all`.
  bool are_rows_of(const Bytes& rows, const Bytes& all, std::int64_t begin) {
    const std::int64_t bytes = kN * bit_width(output_) / 8;
    return std::equal(rows.begin(), rows.end(), all.begin() + begin * bytes);
  }

  static constexpr std::int64_t kN = 21, kK = 83;
  const std::int64_t most_ = most_rows(GetParam().backend);
  const DType output_ = GetParam().output;
  Runtime runtime_ = open(GetParam().backend, {.force_kernel = GetParam().kernel});
  Tensor a_ = random_tensor(runtime_, {most_, kK}, GetParam().operands, 1);
  Tensor b_ = random_tensor(runtime_, {kK, kN}, GetParam().operands, 2);
};

TEST_P(RowInvariance, EveryMGivesTheRowsAlone) {
  const Bytes all = multiply(a_, b_);
  for (std::int64_t m = 1; m <= most_; ++m) {
    if (!is_tried(m, GetParam().backend)) continue;
    ASSERT_TRUE(are_rows_of(multiply(must(a_.slice(0, m - 1, m)), b_), all, m - 1))
        << "row " << m - 1 << " alone";
    ASSERT_TRUE(are_rows_of(multiply(must(a_.slice(0, 0, m)), b_), all, 0)) << m << " rows";
    ASSERT_TRUE(are_rows_of(multiply(must(a_.slice(0, most_ - m, most_)), b_), all, most_ - m))
        << "the last " << m << " rows";
  }
}

TEST_P(RowInvariance, EveryBatchGivesTheRowsAlone) {
  const Bytes alone = multiply(a_, b_);  // equal to the rows alone: the test above
  for (const std::int64_t m : {1, 2, 5, 16, 30}) {
    for (const std::int64_t batch : {1, 2, 3, 7, 17}) {
      if (m * batch > most_) continue;
      const Tensor stacked = must(must(a_.slice(0, 0, m * batch)).reshape({batch, m, kK}));
      ASSERT_TRUE(are_rows_of(multiply(stacked, b_), alone, 0)) << batch << " of " << m << " rows";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, RowInvariance, ::testing::ValuesIn(all_choices()),
                         [](const auto& test) {
                           const Choice& choice = test.param;
                           std::string kernel = choice.kernel;
                           if (kernel.empty()) {
                             kernel = std::string(name(choice.backend)) + "_any";
                             if (choice.precision != Precision::Exact) {
                               kernel += "_" + std::string(name(choice.precision));
                             }
                           }
                           return kernel + "_on_" + std::string(name(choice.operands));
                         });

}  // namespace
}  // namespace girih::testing
