#include "ops/elementwise.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "support/expect.hpp"

namespace girih {
namespace {

using testing::must;
using testing::refused;

class ElementwiseCheckTest : public ::testing::Test {
 protected:
  Tensor tensor(const Shape& shape, DType dtype = DType::F32) {
    return must(runtime_.tensor(shape, dtype));
  }

  Runtime runtime_ = must(Runtime::open({.backend = Backend::Cpu}));
  CheckContext context_{.runtime = runtime_.id()};
};

TEST_F(ElementwiseCheckTest, MergesWhatBothSidesWalkAsOne) {
  const auto whole = must(check(CopyDesc{tensor({2, 3, 4}), tensor({2, 3, 4})}, context_));
  EXPECT_EQ(whole.rank, 1);
  EXPECT_EQ(whole.extents[0], 24);
  EXPECT_EQ(whole.size(), 24);
  EXPECT_EQ(whole.bytes(), 2 * 24 * 4.0);

  const auto transpose =
      must(check(CopyDesc{tensor({4, 3}).transposed(), tensor({3, 4})}, context_));
  EXPECT_EQ(transpose.rank, 2);
  EXPECT_EQ(transpose.size(), 12);

  const auto strided =
      must(check(CopyDesc{must(tensor({3, 8}).slice(1, 0, 4)), tensor({3, 4})}, context_));
  EXPECT_EQ(strided.rank, 2);
  EXPECT_EQ(strided.extents[1], 4);
  EXPECT_EQ(strided.source_strides[0], 8);
}

TEST_F(ElementwiseCheckTest, TheInnermostDimensionIsTheDestinations) {
  const auto problem = must(check(CopyDesc{tensor({4, 5}), tensor({5, 4}).transposed()}, context_));
  EXPECT_EQ(problem.destination_strides[static_cast<std::size_t>(problem.rank - 1)], 1);
}

TEST_F(ElementwiseCheckTest, OneElementAndNoneAreNormalToo) {
  const auto one = must(check(CopyDesc{tensor({}), tensor({})}, context_));
  EXPECT_EQ(one.size(), 1);
  EXPECT_FALSE(one.is_empty());
  const auto none = must(check(CopyDesc{tensor({3, 0, 2}), tensor({3, 0, 2})}, context_));
  EXPECT_TRUE(none.is_empty());
  const Tensor same = tensor({4});
  EXPECT_TRUE(must(check(CopyDesc{same, same}, context_)).is_empty());
}

TEST_F(ElementwiseCheckTest, RefusesWhatTheContractForbids) {
  const Tensor x = tensor({4, 4});
  EXPECT_TRUE(refused(check(CopyDesc{x, tensor({4, 5})}, context_), Code::InvalidShape, "[4, 5]"));
  EXPECT_TRUE(refused(check(CopyDesc{x, tensor({4, 4}, DType::I32)}, context_),
                      Code::UnsupportedConversion, "i32"));
  EXPECT_TRUE(
      refused(check(CopyDesc{x, x.transposed()}, context_), Code::InvalidShape, "overlaps"));
  EXPECT_TRUE(refused(check(CopyDesc{tensor({4}), must(tensor({1}).view({4}, {0}, 0))}, context_),
                      Code::InvalidShape, "destination"));
  EXPECT_TRUE(
      refused(check(CastDesc{x, tensor({4, 4})}, context_), Code::UnsupportedConversion, "f32"));
  EXPECT_TRUE(refused(check(CastDesc{x, tensor({4, 4}, DType::I8)}, context_),
                      Code::UnsupportedConversion, "i8"));
  EXPECT_TRUE(refused(check(CastDesc{x, tensor({4, 4}, DType::F64)}, context_),
                      Code::UnsupportedConversion, "f64"));
  for (const auto& [dtype, value] : {std::pair{DType::I8, 128.0},
                                     {DType::I8, -129.0},
                                     {DType::U8, -1.0},
                                     {DType::U8, 256.0},
                                     {DType::I32, 0.5},
                                     {DType::I32, 2147483648.0},
                                     {DType::I4, 8.0}}) {
    EXPECT_TRUE(
        refused(check(FillDesc{tensor({4}, dtype), value}, context_), Code::InvalidOption, ""))
        << value;
  }
  EXPECT_TRUE(refused(check(FillDesc{tensor({4}, DType::I8), std::nan("")}, context_),
                      Code::InvalidOption, "nan"));
  EXPECT_TRUE(refused(check(FillDesc{Tensor(), 0}, context_), Code::InvalidTensor, "destination"));
  const CheckContext foreign{.runtime = runtime_.id() + 1000};
  EXPECT_TRUE(refused(check(FillDesc{x, 0}, foreign), Code::ForeignTensor, "destination"));
}

}  // namespace
}  // namespace girih
