#include <gtest/gtest.h>
#include <numeric>
#include <unistd.h>

#include "core/error.hpp"
#include "io/safetensors_header.hpp"
#include "unit/io/scratch.hpp"

namespace girih::testing {
namespace {

std::string little_endian(std::uint64_t value) {
  std::string bytes;
  for (unsigned i = 0; i < 8; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xFFU);
  return bytes;
}

std::string safetensors(std::string_view header, std::string_view data) {
  return little_endian(header.size()).append(header).append(data);
}

const std::string kHeader = R"({"a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},)"
                            R"("b":{"dtype":"U8","shape":[1,3],"data_offsets":[2,5]},)"
                            R"("c":{"dtype":"BOOL","shape":[1],"data_offsets":[5,6]}})";

using SafetensorsTest = Scratch;

TEST_F(SafetensorsTest, ReadsOneTensorOfMany) {
  const auto file = Safetensors::open(write("x.safetensors", safetensors(kHeader, "AB012x")));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->entries().size(), 3U);
  const auto b = file->read("b");
  ASSERT_TRUE(b) << b.error().message;
  EXPECT_EQ(b->dtype, DType::U8);
  EXPECT_EQ(b->shape, Shape(1, 3));
  EXPECT_EQ(b->strides, (Strides{3, 1}));
  EXPECT_EQ(bytes_of(*b), "012");
  const auto info = file->inspect("a");
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->dtype, DType::I8);
}

TEST_F(SafetensorsTest, ExplainsWhatItCannotRead) {
  const auto file = Safetensors::open(write("x.safetensors", safetensors(kHeader, "AB012x")));
  ASSERT_TRUE(file) << file.error().message;
  const auto missing = file->read("d\n");
  ASSERT_FALSE(missing);
  expect_error(missing.error(), Code::FileEntryMissing, path("x.safetensors"), "\"d\\x0a\"");
  const auto boolean = file->read("c");
  ASSERT_FALSE(boolean);
  expect_error(boolean.error(), Code::FileUnsupported, path("x.safetensors"), "BOOL");
}

TEST_F(SafetensorsTest, NoticesThatTheFileShrank) {
  const auto file = Safetensors::open(write("x.safetensors", safetensors(kHeader, "AB012x")));
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(::truncate(path("x.safetensors").c_str(), static_cast<off_t>(8 + kHeader.size() + 3)),
            0);
  const auto b = file->read("b");
  ASSERT_FALSE(b);
  expect_error(b.error(), Code::FileFormat, path("x.safetensors"), "2 bytes early");
}

TEST_F(SafetensorsTest, RefusesBrokenPrefixes) {
  struct Bad {
    std::string bytes;
    std::string fragment;
  };
  const std::vector<Bad> cases{
      {"", "0 bytes hold no header"},
      {"1234567", "7 bytes hold no header"},
      {little_endian(0), "does not begin"},
      {little_endian(3) + "{}", "3 bytes does not fit a file of 10"},
      {little_endian(kMaxSafetensorsHeader + 1) + "{}", "over the limit of 100000000"},
      {little_endian(UINT64_MAX) + "{}", "over the limit"},
      {little_endian(1ULL << 63U) + "{}", "over the limit"},
  };
  for (const Bad& bad : cases) {
    const auto file = Safetensors::open(write("x.safetensors", bad.bytes));
    ASSERT_FALSE(file);
    expect_error(file.error(), Code::FileFormat, path("x.safetensors"), bad.fragment);
  }
  const auto missing = Safetensors::open(path("missing.safetensors"));
  ASSERT_FALSE(missing);
  expect_error(missing.error(), Code::FileNotFound, path("missing.safetensors"), "No such file");
}

TEST_F(SafetensorsTest, RefusesEveryTruncation) {
  const std::string good = safetensors(kHeader, "AB012x");
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto file = Safetensors::open(write("x.safetensors", good.substr(0, size)));
    ASSERT_FALSE(file) << size;
    EXPECT_EQ(file.error().code, Code::FileFormat) << size << ": " << file.error().message;
  }
  const auto longer = Safetensors::open(write("x.safetensors", good + "z"));
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, Code::FileFormat);
}

TEST_F(SafetensorsTest, AnyChangedByteIsReadOrRefusedCleanly) {
  const std::string good = safetensors(kHeader, "AB012x");
  int refused = 0;
  for (std::size_t at = 0; at < good.size() - 6; ++at) {
    for (const unsigned mask : {0x01U, 0x02U, 0x10U, 0x80U, 0xFFU}) {
      std::string changed = good;
      changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ mask);
      const auto file = Safetensors::open(write("x.safetensors", changed));
      if (!file) {
        ++refused;
        EXPECT_EQ(file.error().message.find('\n'), std::string::npos);
        continue;
      }
      std::int64_t bytes = 0;
      for (const Safetensors::Entry& entry : file->entries()) bytes += entry.end - entry.begin;
      EXPECT_EQ(bytes, 6);
    }
  }
  EXPECT_GT(refused, 500);
}

TEST_F(SafetensorsTest, RoundTripsEveryType) {
  std::vector<std::uint8_t> bytes(8 * 6);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{1});
  const std::vector<DType> types{DType::F8E4M3, DType::F32, DType::F64, DType::BF16, DType::F16,
                                 DType::F8E5M2, DType::I8,  DType::U8,  DType::I32};
  std::vector<NamedView> arrays;
  for (const DType dtype : types) {
    arrays.push_back({std::string(name(dtype)) + " \"\n\u00e9", view_of(dtype, {2, 3}, bytes)});
  }
  arrays.push_back({"scalar", view_of(DType::F32, {}, bytes)});
  arrays.push_back({"empty", view_of(DType::F32, {0, 4}, bytes)});
  ASSERT_TRUE(write_safetensors(path("x.safetensors"), arrays));
  const auto file = Safetensors::open(path("x.safetensors"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->entries().size(), arrays.size());
  for (const NamedView& array : arrays) {
    const auto read = file->read(array.name);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->dtype, array.view.dtype);
    EXPECT_EQ(read->shape, array.view.shape);
    EXPECT_EQ(bytes_of(*read), bytes_of(bytes).substr(0, read->bytes.size()));
    EXPECT_EQ(file->find(array.name)->begin % (bit_width(read->dtype) / 8), 0);
  }
}

TEST_F(SafetensorsTest, WritesTheBytesOfTheFormat) {
  const std::vector<std::uint8_t> bytes{1, 2, 3, 4};
  const std::vector<NamedView> arrays{{"x", view_of(DType::U8, {1}, bytes)},
                                      {"w", view_of(DType::BF16, {1, 2}, bytes)}};
  ASSERT_TRUE(write_safetensors(path("x.safetensors"), arrays));
  std::string header = R"({"w":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]},)"
                       R"("x":{"dtype":"U8","shape":[1],"data_offsets":[4,5]}})";
  while (header.size() % 8 != 0) header += ' ';
  EXPECT_EQ(read("x.safetensors"), safetensors(header, std::string("\1\2\3\4\1")));
}

TEST_F(SafetensorsTest, WritesTransposedViewsInRowOrder) {
  const std::vector<std::uint8_t> bytes{1, 2, 3, 4, 5, 6};
  const HostView view{DType::U8, {3, 2}, {1, 3}, std::as_bytes(std::span{bytes})};
  ASSERT_TRUE(write_safetensors(path("x.safetensors"), std::vector<NamedView>{{"t", view}}));
  const auto file = Safetensors::open(path("x.safetensors"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(bytes_of(*file->read("t")), "\1\4\2\5\3\6");
}

TEST_F(SafetensorsTest, RefusesWrongNamesAndTypes) {
  const std::vector<std::uint8_t> bytes(8);
  const HostView view = view_of(DType::U8, {8}, bytes);
  const auto expect_refused = [&](const std::vector<NamedView>& arrays, Code code,
                                  std::string_view fragment) {
    const Status status = write_safetensors(path("x.safetensors"), arrays);
    ASSERT_FALSE(status);
    EXPECT_EQ(name(status.error().code), name(code));
    EXPECT_NE(status.error().message.find(fragment), std::string::npos) << status.error().message;
    EXPECT_TRUE(files().empty());
  };
  expect_refused({{"a", view}, {"b", view}, {"a", view}}, Code::FileFormat, "twice");
  expect_refused({{"__metadata__", view}}, Code::FileFormat, "reserved");
  expect_refused({{"\xFF", view}}, Code::FileFormat, "UTF-8");
  expect_refused({{"a", view_of(DType::I4, {8}, bytes)}}, Code::FileUnsupported, "i4");
  expect_refused({{"a", view_of(DType::F32, {8}, bytes)}}, Code::InvalidShape, "tensor \"a\"");
}

}  // namespace
}  // namespace girih::testing
