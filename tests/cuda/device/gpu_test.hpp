#pragma once

#include <gtest/gtest.h>
#include <vector>

#include "backends/cuda/device.hpp"
#include "runtime/state.hpp"
#include "support/backends.hpp"
#include "support/gemm.hpp"

// Tests of what only the cuda backend does. They run where there is a GPU that it can use.

namespace girih::inline v0::testing {

inline std::vector<Backend> gpus() {
  if (cuda::probe().presence != cuda::Presence::Usable) return {};
  return {Backend::Cuda};
}

inline cuda::Counters counters_of(Runtime& runtime) {
  return cuda::counters(detail::RuntimeAccess::shared(runtime)->device());
}

/// A product whose slices of K go through the workspace.
struct SplitProduct {
  Tensor a, b, c;

  static SplitProduct make(Runtime& runtime, std::int64_t m, std::int64_t n, std::uint64_t seed) {
    constexpr std::int64_t kDepth = 16384;
    return {random_tensor(runtime, {m, kDepth}, DType::BF16, seed),
            random_tensor(runtime, {kDepth, n}, DType::BF16, seed + 1),
            must(runtime.tensor({m, n}, DType::F32))};
  }
  [[nodiscard]] GemmDesc desc() const { return {.a = a, .b = b, .c = c}; }
};

}  // namespace girih::inline v0::testing

/// Without a GPU the suite has no tests.
#define GIRIH_FOR_EVERY_GPU(Suite)                                                    \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Suite);                               \
  INSTANTIATE_TEST_SUITE_P(Gpu, Suite, ::testing::ValuesIn(::girih::testing::gpus()), \
                           ::girih::testing::backend_name)
