#include "reference/elementwise.hpp"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

#include "reference/element.hpp"

namespace girih {
namespace {

TEST(ElementTest, RoundsOnceFromDouble) {
  // Just above a tie: rounding to f32 first would land on the tie and then go the other way.
  const double value = 1 + 0x1p-8 + 0x1p-40;
  std::byte storage[2];
  store_element(storage, DType::BF16, 0, value);
  EXPECT_EQ(load_element(storage, DType::BF16, 0), 1 + 0x1p-7);
  EXPECT_EQ(round_to(number_format(DType::F16), 0x1p-25), 0);
  EXPECT_EQ(round_to(number_format(DType::F16), 0x1.0000001p-25), 0x1p-24);
  EXPECT_EQ(round_to(number_format(DType::F16), 65519.999), 65504);
  EXPECT_EQ(round_to(number_format(DType::F16), 65520), HUGE_VAL);
  EXPECT_TRUE(std::isnan(round_to(number_format(DType::F8E4M3), 465)));
  EXPECT_TRUE(std::isnan(round_to(number_format(DType::F8E4M3), HUGE_VAL)));
}

TEST(ElementTest, NibblesAreLowHalfFirst) {
  std::byte storage[2] = {std::byte{0x8F}, std::byte{0x07}};
  EXPECT_EQ(load_element(storage, DType::I4, 0), -1);
  EXPECT_EQ(load_element(storage, DType::I4, 1), -8);
  EXPECT_EQ(load_element(storage, DType::I4, 2), 7);
  store_element(storage, DType::I4, 1, 5);
  EXPECT_EQ(storage[0], std::byte{0x5F});
}

TEST(ElementTest, IntegersKeepTheirExtremes) {
  std::byte storage[8];
  for (const auto& [dtype, low, high] : {std::tuple{DType::I8, -128.0, 127.0},
                                         {DType::U8, 0.0, 255.0},
                                         {DType::I32, -2147483648.0, 2147483647.0}}) {
    for (const double value : {low, high}) {
      store_element(storage, dtype, 1, value);
      EXPECT_EQ(load_element(storage, dtype, 1), value);
    }
  }
}

}  // namespace
}  // namespace girih
