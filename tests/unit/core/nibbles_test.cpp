#include "core/nibbles.hpp"

#include <array>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

#include "support/expect.hpp"

namespace girih {
namespace {

TEST(NibblesTest, EveryByteUnpacksAndPacksBack) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::array<std::uint8_t, 1> packed{static_cast<std::uint8_t>(byte)};
    std::array<std::int8_t, 2> values{};
    ASSERT_TRUE(testing::succeeded(unpack_i4(packed, values)));
    const auto signed_nibble = [](int nibble) { return nibble < 8 ? nibble : nibble - 16; };
    EXPECT_EQ(values[0], signed_nibble(byte & 15)) << byte;
    EXPECT_EQ(values[1], signed_nibble(byte >> 4)) << byte;
    std::array<std::uint8_t, 1> again{};
    ASSERT_TRUE(testing::succeeded(pack_i4(values, again)));
    EXPECT_EQ(again, packed);
  }
}

TEST(NibblesTest, AnOddCountLeavesTheLastHighHalfZero) {
  const std::vector<std::int8_t> values{1, -8, -1};
  std::vector<std::uint8_t> packed(2, 0xFF);
  ASSERT_TRUE(testing::succeeded(pack_i4(values, packed)));
  EXPECT_EQ(packed, (std::vector<std::uint8_t>{0x81, 0x0F}));
  std::vector<std::int8_t> back(3);
  ASSERT_TRUE(testing::succeeded(unpack_i4(packed, back)));
  EXPECT_EQ(back, values);
}

TEST(NibblesTest, RefusalsWriteNothing) {
  std::vector<std::uint8_t> packed(1, 0xAA);
  EXPECT_TRUE(
      testing::refused(pack_i4(std::vector<std::int8_t>{0, 8}, packed), Code::InvalidOption, "8"));
  EXPECT_TRUE(
      testing::refused(pack_i4(std::vector<std::int8_t>{-9}, packed), Code::InvalidOption, "-9"));
  EXPECT_TRUE(
      testing::refused(pack_i4(std::vector<std::int8_t>{1, 2, 3}, packed), Code::SizeMismatch, ""));
  EXPECT_EQ(packed[0], 0xAA);
  std::vector<std::int8_t> values(3, 77);
  EXPECT_TRUE(testing::refused(unpack_i4(packed, values), Code::SizeMismatch, ""));
  EXPECT_EQ(values, std::vector<std::int8_t>(3, 77));
}

}  // namespace
}  // namespace girih
