#include "backends/cuda/tensor_maps.hpp"

#include <array>
#include <gtest/gtest.h>
#include <vector>

#include "cuda/unit/encoded_map.hpp"

namespace girih::testing {
namespace {

using cuda::Element;
using cuda::MapRequest;
using cuda::TensorMaps;

MapRequest request(int i = 0) {
  static std::array<char, 1 << 20> memory;
  return {.data = memory.data() + 16 * i,
          .extents = {64, 128, 3},
          .strides = {128, 16384},
          .box = {64, 32},
          .type = Element::BF16};
}

TEST(TensorMapsTest, EncodeWhatIsAskedAndOnlyOnce) {
  TensorMaps maps(encode);
  CUtensorMap first{}, second{};
  ASSERT_TRUE(maps.get(request(), first));
  EXPECT_EQ(contents(first),
            (std::array<cuuint64_t, 11>{reinterpret_cast<cuuint64_t>(request().data), 64, 128, 3,
                                        128, 16384, 64, 32, 1, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                                        CU_TENSOR_MAP_SWIZZLE_128B}));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(maps.get(request(), second));
  EXPECT_EQ(contents(second), contents(first));
  EXPECT_EQ(maps.encoded(), 1U);
}

TEST(TensorMapsTest, EveryPartOfTheRequestCounts) {
  std::vector<MapRequest> requests(12, request());
  requests[1].data = request(1).data;
  requests[2].extents[0] = 56;
  requests[3].extents[1] = 127;
  requests[4].extents[2] = 4;
  requests[5].strides[0] = 144;
  requests[6].strides[1] = 32768;
  requests[7].box[0] = 32;
  requests[8].box[1] = 64;
  requests[9].type = Element::F16;
  requests[10].type = Element::F32;
  requests[11].box[0] = 16;
  TensorMaps maps(encode);
  for (int round = 0; round < 2; ++round) {
    for (const MapRequest& wanted : requests) {
      TensorMaps fresh(encode);
      CUtensorMap map{}, expected{};
      ASSERT_TRUE(maps.get(wanted, map));
      ASSERT_TRUE(fresh.get(wanted, expected));
      EXPECT_EQ(contents(map), contents(expected));
    }
  }
  EXPECT_EQ(maps.encoded(), requests.size());
}

TEST(TensorMapsTest, PlacesThatSeveralRequestsShareKeepThemApart) {
  // Far more requests than places, all for the same memory: many meet in one set.
  for (const int part : {0, 1, 2, 3, 4, 5, 6}) {
    TensorMaps maps(encode);
    for (int i = 1; i < 3 * static_cast<int>(TensorMaps::kSets * TensorMaps::kWays); ++i) {
      MapRequest wanted = request();
      if (part < 3) wanted.extents[static_cast<std::size_t>(part)] = i;
      if (part == 3 || part == 4) wanted.strides[static_cast<std::size_t>(part - 3)] = 16 * i;
      if (part > 4) wanted.box[static_cast<std::size_t>(part - 5)] = i;
      CUtensorMap map{};
      ASSERT_TRUE(maps.get(wanted, map));
      const std::size_t at = static_cast<std::size_t>(part) + 1;
      ASSERT_EQ(map.opaque[at], static_cast<cuuint64_t>(part == 3 || part == 4 ? 16 * i : i))
          << "part " << part << " of request " << i;
    }
  }
}

TEST(TensorMapsTest, AreBoundedAndStayRight) {
  TensorMaps maps(encode);
  constexpr int kMany = 3 * TensorMaps::kSets * TensorMaps::kWays;
  for (int i = 0; i < kMany; ++i) {
    CUtensorMap map{}, often{};
    ASSERT_TRUE(maps.get(request(i), map));
    ASSERT_EQ(map.opaque[0], reinterpret_cast<cuuint64_t>(request(i).data));
    ASSERT_TRUE(maps.get(request(0), often));  // what is used all the time is never given up
    ASSERT_EQ(often.opaque[0], reinterpret_cast<cuuint64_t>(request(0).data));
  }
  EXPECT_EQ(maps.encoded(), static_cast<std::uint64_t>(kMany));
  CUtensorMap map{};
  ASSERT_TRUE(maps.get(request(1), map));  // long gone
  EXPECT_EQ(maps.encoded(), static_cast<std::uint64_t>(kMany) + 1);
}

TEST(TensorMapsTest, AWorkingSetThatFitsIsKept) {
  TensorMaps maps(encode);
  constexpr int kSome = 1000;
  CUtensorMap map{};
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kSome; ++i) ASSERT_TRUE(maps.get(request(i), map));
  }
  // Eight places a set: at a quarter of the whole, one set in 3000 overflows, wherever memory is.
  EXPECT_LT(maps.encoded(), static_cast<std::uint64_t>(kSome * 11 / 10));
}

TEST(TensorMapsTest, ARefusalIsAnErrorAndIsNotKept) {
  TensorMaps maps(encode);
  MapRequest bad = request();
  bad.data = nullptr;
  CUtensorMap map{};
  for (int i = 0; i < 2; ++i) {
    const Status status = maps.get(bad, map);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::DeviceFailed);
  }
  EXPECT_EQ(maps.encoded(), 0U);
  EXPECT_TRUE(maps.get(request(), map));
}

}  // namespace
}  // namespace girih::testing
