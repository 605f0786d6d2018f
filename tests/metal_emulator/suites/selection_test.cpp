#include <algorithm>
#include <gtest/gtest.h>

#include "support/backends.hpp"
#include "support/gemm.hpp"

namespace girih::testing {
namespace {

// RowInvariance has too few columns for the choice of a tile to change with M.
TEST(MetalSelection, ARowKeepsItsBitsWhereTheChoiceOfTheTileChanges) {
  for (const DType dtype : {DType::BF16, DType::F16}) {
    Runtime runtime = open(Backend::Metal, {.reproducibility = Reproducibility::RowInvariant});
    const Tensor a = random_tensor(runtime, {449, 1024}, dtype, 1);
    const Tensor b = random_tensor(runtime, {1024, 256}, dtype, 2);
    const auto kernel_at = [&](std::int64_t m) {
      const Tensor c = must(runtime.tensor({m, 256}, DType::F32));
      return must(plan(runtime, {.a = must(a.slice(0, 0, m)), .b = b, .c = c})).kernel;
    };
    EXPECT_EQ(kernel_at(448), "metal_gemm_16bit_64x64_tensorops");
    EXPECT_EQ(kernel_at(449), "metal_gemm_16bit_128x64_tensorops");
    const auto many = product(runtime, a, b, DType::F32, Reproducibility::RowInvariant);
    const auto few =
        product(runtime, must(a.slice(0, 0, 448)), b, DType::F32, Reproducibility::RowInvariant);
    EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  }
}

}  // namespace
}  // namespace girih::testing
