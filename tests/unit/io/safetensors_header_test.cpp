#include "io/safetensors_header.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "core/format.hpp"
#include "unit/io/scratch.hpp"

namespace girih::testing {
namespace {

Result<SafetensorsHeader> parse(std::string_view text, std::int64_t data_bytes) {
  return parse_safetensors_header(text, 100, data_bytes, "x.safetensors");
}

TEST(SafetensorsHeader, ListsTensorsByName) {
  const auto header = parse(R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[4,28]},)"
                            R"("__metadata__":{"format":"pt","author":"x"},)"
                            R"("b":{"shape":[2],"data_offsets":[0,4],"dtype":"BF16"}}   )",
                            28);
  ASSERT_TRUE(header) << header.error().message;
  ASSERT_EQ(header->entries.size(), 2U);
  EXPECT_EQ(header->entries[0].name, "b");
  EXPECT_EQ(header->entries[0].dtype, DType::BF16);
  EXPECT_EQ(header->entries[0].begin, 100);
  EXPECT_EQ(header->entries[0].end, 104);
  EXPECT_EQ(header->entries[1].name, "w");
  EXPECT_EQ(header->entries[1].shape, Shape(2, 3));
  EXPECT_EQ(header->entries[1].begin, 104);
  ASSERT_EQ(header->metadata.size(), 2U);
  EXPECT_EQ(header->metadata[0].key, "author");
  EXPECT_EQ(header->metadata[1].value, "pt");
}

TEST(SafetensorsHeader, TakesEmptyFilesAndEmptyTensors) {
  const auto none = parse("{}", 0);
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_TRUE(none->entries.empty());
  const auto empty = parse(R"({"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},)"
                           R"("b":{"dtype":"F32","shape":[0,9],"data_offsets":[1,1]},)"
                           R"("c":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)"
                           R"("d":{"dtype":"I8","shape":[],"data_offsets":[1,2]}})",
                           2);
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_EQ(empty->entries.size(), 4U);
}

TEST(SafetensorsHeader, ListsTypesThatItCannotRead) {
  const auto header = parse(R"({"a":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},)"
                            R"("b":{"dtype":"F4","shape":[4],"data_offsets":[16,18]}})",
                            18);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->entries[0].type, "I64");
  EXPECT_FALSE(header->entries[0].dtype);
  EXPECT_FALSE(header->entries[1].dtype);
}

struct Refusal {
  std::string text;
  std::int64_t data_bytes;
  std::string fragment;
  Code code = Code::FileFormat;
};

void expect_refused(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.text);
    const auto header = parse(refusal.text, refusal.data_bytes);
    ASSERT_FALSE(header);
    expect_error(header.error(), refusal.code, "x.safetensors", refusal.fragment);
  }
}

/// One tensor "a" with these fields.
std::string tensor(std::string_view fields) {
  return formatted(R"({{"a":{{{}}}}})", fields);
}

TEST(SafetensorsHeader, RefusesWrongLayouts) {
  const auto two = [](std::string_view a, std::string_view b) {
    return formatted(R"({{"a":{{"dtype":"I8","shape":[4],"data_offsets":{}}},)"
                     R"("b":{{"dtype":"I8","shape":[4],"data_offsets":{}}}}})",
                     a, b);
  };
  expect_refused({
      {two("[0,4]", "[3,7]"), 7, "inside another tensor"},
      {two("[0,4]", "[0,4]"), 4, "inside another tensor"},
      {two("[0,4]", "[5,9]"), 9, "after a gap from 4"},
      {two("[1,5]", "[5,9]"), 9, "after a gap from 0"},
      {two("[0,4]", "[4,8]"), 9, "1 bytes follow the last tensor"},
      {two("[0,4]", "[4,8]"), 7, "do not fit the 7 bytes of data"},
      {two("[4,0]", "[4,8]"), 8, "offsets [4, 0]"},
      {two("[0,4]", "[4,7]"), 7, "takes 32 bits; its offsets hold 3 bytes"},
      {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,9223372036854775807])"), 4,
       "do not fit"},
      {tensor(R"("dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0])"), 0,
       "64 bits"},
      {tensor(R"("dtype":"F32","shape":[4611686018427387904,4,0],"data_offsets":[0,0])"), 0,
       "64 bits"},
      {tensor(R"("dtype":"F4","shape":[3],"data_offsets":[0,1])"), 1, "takes 12 bits"},
      {"{}", 3, "3 bytes follow"},
  });
}

TEST(SafetensorsHeader, RefusesWrongFields) {
  expect_refused({
      {tensor(R"("dtype":"F33","shape":[1],"data_offsets":[0,4])"), 4, "unknown dtype \"F33\""},
      {tensor(R"("dtype":"f32","shape":[1],"data_offsets":[0,4])"), 4, "unknown dtype \"f32\""},
      {tensor(R"("dtype":4,"shape":[1],"data_offsets":[0,4])"), 4, "dtype cannot be 4"},
      {tensor(R"("dtype":["F32"],"shape":[1],"data_offsets":[0,4])"), 4,
       "dtype cannot be an array"},
      {tensor(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])"), 4, "shape cannot be 1.0"},
      {tensor(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), 4, "shape cannot be -1"},
      {tensor(R"("dtype":"F32","shape":["1"],"data_offsets":[0,4])"), 4, "shape cannot be \"1\""},
      {tensor(R"("dtype":"F32","shape":[[1]],"data_offsets":[0,4])"), 4,
       "shape cannot be an array"},
      {tensor(R"("dtype":"F32","shape":1,"data_offsets":[0,4])"), 4, "shape cannot be 1"},
      {tensor(R"("dtype":"F32","shape":null,"data_offsets":[0,4])"), 4, "shape cannot be null"},
      {tensor(R"("dtype":"F32","shape":{},"data_offsets":[0,4])"), 4, "shape cannot be an object"},
      {tensor(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4])"), 4,
       "63 bits"},
      {tensor(R"("dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,4])"), 4,
       "shape cannot be"},
      {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0])"), 4, "two numbers"},
      {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,4])"), 4, "two numbers"},
      {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[true,4])"), 4,
       "data_offsets cannot be a boolean"},
      {tensor(R"("dtype":"F32","shape":[1])"), 4, "must have dtype, shape and data_offsets"},
      {tensor(R"("dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4])"), 4, "shape twice"},
      {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4],"extra":1)"), 4,
       "unknown field \"extra\""},
      {tensor(R"("dtype":"F32","shape":[1,1,1,1,1,1,1],"data_offsets":[0,4])"), 4,
       "rank over the limit of 6", Code::FileUnsupported},
      {R"({"a":3})", 0, "\"a\" must be an object, and is 3"},
      {R"({"a":[]})", 0, "\"a\" must be an object, and is an array"},
      {R"({"a\nb":3})", 0, "\"a\\x0ab\" must be"},
  });
}

TEST(SafetensorsHeader, RefusesDuplicates) {
  const std::string a = R"("a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]})";
  const std::string a2 = R"("a":{"dtype":"I8","shape":[1],"data_offsets":[1,2]})";
  const std::string escaped = R"("\u0061":{"dtype":"I8","shape":[1],"data_offsets":[1,2]})";
  expect_refused({
      {"{" + a + "," + a2 + "}", 2, "tensor \"a\" appears twice"},
      {"{" + a + "," + escaped + "}", 2, "tensor \"a\" appears twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", 0, "__metadata__ appears twice"},
      {R"({"__metadata__":{"k":"1","k":"2"}})", 0, "metadata \"k\" appears twice"},
  });
}

TEST(SafetensorsHeader, RefusesWrongMetadata) {
  expect_refused({
      {R"({"__metadata__":3})", 0, "must be an object"},
      {R"({"__metadata__":{"k":3}})", 0, "strings to strings, but \"k\" is 3"},
      {R"({"__metadata__":{"k":null}})", 0, "strings to strings"},
      {R"({"__metadata__":{"k":{"l":"m"}}})", 0, "strings to strings"},
      {R"({"__metadata__":{"k":["l"]}})", 0, "strings to strings"},
  });
}

TEST(SafetensorsHeader, RefusesWhatIsNoJsonObject) {
  expect_refused({
      {"", 0, "does not begin with '{'"},
      {" {}", 0, "does not begin with '{'"},
      {"[]", 0, "does not begin with '{'"},
      {"{", 0, "no valid JSON"},
      {"{}x", 0, "no valid JSON"},
      {"{}{}", 0, "no valid JSON"},
      {"{'a':1}", 0, "no valid JSON"},
      {"{\"a\":1e999}", 0, "no valid JSON"},
      {"{/* */}", 0, "no valid JSON"},
      {"{\"\xFF\":1}", 0, "no valid JSON"},
      {std::string("{}\0", 3), 0, "no valid JSON"},
      {"{" + std::string(1'000'000, '['), 0, "no valid JSON"},
      {"{\"a\":" + std::string(1'000'000, '['), 0, "must be an object"},
      {"{\"a\":{\"b\":" + std::string(1'000'000, '{'), 0, "unknown field"},
  });
}

}  // namespace
}  // namespace girih::testing
