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

constexpr std::int64_t kMost = 513;
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
    std::set<DType> chosen_freely;
    for (const UsableKernel& row : usable_kernels(backend, Op::Gemm)) {
      for (const DType operands : {DType::F32, DType::BF16, DType::F16, DType::I8}) {
        if (!row.info.operands.has(operands)) continue;
        const DType output = operands == DType::I8 ? DType::I32 : DType::F32;
        choices.push_back({backend, std::string(row.info.name), operands, output,
                           row.info.multiplies_tf32 ? Precision::Fast : Precision::Exact});
        if (chosen_freely.insert(operands).second)
          choices.push_back({backend, "", operands, output});
      }
    }
  }
  return choices;
}

/// Every M; under a sanitizer those around powers of two.
bool is_tried(std::int64_t m) {
  const auto near = [m](std::int64_t power) { return m >= power - 1 && m <= power + 1; };
  return !kIsSlow || m < 18 || near(32) || near(64) || near(128) || near(256) || near(512);
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
  const DType output_ = GetParam().output;
  Runtime runtime_ = open(GetParam().backend, {.force_kernel = GetParam().kernel});
  Tensor a_ = random_tensor(runtime_, {kMost, kK}, GetParam().operands, 1);
  Tensor b_ = random_tensor(runtime_, {kK, kN}, GetParam().operands, 2);
};

TEST_P(RowInvariance, EveryMGivesTheRowsAlone) {
  Bytes alone;
  for (std::int64_t row = 0; row < kMost; ++row) {
    const Bytes bits = multiply(must(a_.slice(0, row, row + 1)), b_);
    alone.insert(alone.end(), bits.begin(), bits.end());
  }
  for (std::int64_t m = 1; m <= kMost; ++m) {
    if (!is_tried(m)) continue;
    ASSERT_TRUE(are_rows_of(multiply(must(a_.slice(0, 0, m)), b_), alone, 0)) << m << " rows";
    ASSERT_TRUE(are_rows_of(multiply(must(a_.slice(0, kMost - m, kMost)), b_), alone, kMost - m))
        << "the last " << m << " rows";
  }
}

TEST_P(RowInvariance, EveryBatchGivesTheRowsAlone) {
  const Bytes alone = multiply(a_, b_);  // equal to the rows alone: the test above
  for (const std::int64_t m : {1, 2, 5, 16, 30}) {
    for (const std::int64_t batch : {1, 2, 3, 7, 17}) {
      const Tensor stacked = must(must(a_.slice(0, 0, m * batch)).reshape({batch, m, kK}));
      ASSERT_TRUE(are_rows_of(multiply(stacked, b_), alone, 0)) << batch << " of " << m << " rows";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, RowInvariance, ::testing::ValuesIn(all_choices()),
                         [](const auto& test) {
                           const Choice& choice = test.param;
                           const std::string kernel =
                               choice.kernel.empty() ? std::string(name(choice.backend)) + "_any"
                                                     : choice.kernel;
                           return kernel + "_on_" + std::string(name(choice.operands));
                         });

}  // namespace
}  // namespace girih::testing
