#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>

#include <girih/status.hpp>
#include <girih/version.hpp>

#include "core/error.hpp"

namespace girih {
namespace {

struct Row {
  const char* name;
  int value;
  ErrorKind kind;
};

constexpr Row kRows[] = {
#define GIRIH_CODE(name, value, kind, meaning) {#name, value, ErrorKind::kind},
#include <girih/codes.inc>
#undef GIRIH_CODE
};

TEST(StatusTest, EveryCodeHasOneNameValueKindAndMeaning) {
  std::set<std::string> names;
  std::set<int> values;
  for (const Row& row : kRows) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(values.insert(row.value).second) << row.value;
    const auto code = static_cast<Code>(row.value);
    EXPECT_EQ(name(code), row.name);
    EXPECT_EQ(kind(code), row.kind);
    EXPECT_FALSE(meaning(code).empty());
    EXPECT_GE(row.value, 300);
    EXPECT_LE(row.value, 519);
  }
  EXPECT_EQ(name(static_cast<Code>(12345)), "unknown_status");
}

TEST(StatusTest, CodesLieInTheRangeOfTheirArea) {
  const std::map<std::string, std::pair<int, int>> ranges = {
      {"Gemm", {320, 339}}, {"Acce", {340, 359}}, {"File", {400, 419}}, {"Grou", {460, 479}},
      {"Rout", {460, 479}}, {"GpuO", {500, 519}}, {"GpuI", {500, 519}}};
  for (const Row& row : kRows) {
    const auto range = ranges.find(std::string(row.name).substr(0, 4));
    const auto [low, high] = range == ranges.end() ? std::pair{300, 319} : range->second;
    EXPECT_TRUE(row.value >= low && row.value <= high) << row.name;
  }
}

TEST(StatusTest, TryPassesTheErrorOn) {
  const auto fail = []() -> Status { return error(Code::InvalidShape, "extent {} is {}", 2, -1); };
  const auto outer = [&]() -> Result<int> {
    GIRIH_TRY(fail());
    return 7;
  };
  const Result<int> result = outer();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::InvalidShape);
  EXPECT_EQ(result.error().kind(), ErrorKind::Invalid);
  EXPECT_EQ(result.error().message, "extent 2 is -1");
}

TEST(StatusTest, VersionIsThatOfTheHeaders) {
  EXPECT_EQ(std::string(version()), std::to_string(GIRIH_VERSION_MAJOR) + "." +
                                        std::to_string(GIRIH_VERSION_MINOR) + "." +
                                        std::to_string(GIRIH_VERSION_PATCH));
}

}  // namespace
}  // namespace girih
