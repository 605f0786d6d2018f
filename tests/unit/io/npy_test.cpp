#include <gtest/gtest.h>
#include <numeric>
#include <sys/stat.h>

#include "core/error.hpp"
#include "core/format.hpp"
#include "unit/io/scratch.hpp"

namespace girih::testing {
namespace {

std::string header_text(std::string_view descr, std::string_view shape, bool fortran = false) {
  return formatted("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}\n", descr,
                   fortran ? "True" : "False", shape);
}

/// A .npy file of the given version around `text`.
std::string npy(std::string_view text, std::string_view payload, int major = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    file += static_cast<char>((text.size() >> (8 * i)) & 0xFF);
  }
  return file.append(text).append(payload);
}

using NpyTest = Scratch;

TEST_F(NpyTest, ReadsEveryVersion) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  for (const int major : {1, 2, 3}) {
    const auto array =
        read_npy(write("x.npy", npy(header_text("<f4", "(2, 3)"), bytes_of(values), major)));
    ASSERT_TRUE(array) << array.error().message;
    EXPECT_EQ(array->dtype, DType::F32);
    EXPECT_EQ(array->shape, Shape(2, 3));
    EXPECT_EQ(array->strides, (Strides{3, 1}));
    EXPECT_EQ(bytes_of(*array), bytes_of(values));
  }
}

TEST_F(NpyTest, FortranOrderIsATransposedView) {
  const std::vector<std::int32_t> values{1, 2, 3, 4, 5, 6};
  const std::string file =
      write("x.npy", npy(header_text("<i4", "(2, 3)", true), bytes_of(values)));
  const auto array = read_npy(file);
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->shape, Shape(2, 3));
  EXPECT_EQ(array->strides, (Strides{1, 2}));
  EXPECT_EQ(bytes_of(*array), bytes_of(values));
  // Written back, the elements lie in C order: [[1, 3, 5], [2, 4, 6]].
  ASSERT_TRUE(write_npy(path("y.npy"), array->view()));
  const auto rows = read_npy(path("y.npy"));
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(bytes_of(*rows), bytes_of(std::vector<std::int32_t>{1, 3, 5, 2, 4, 6}));
}

TEST_F(NpyTest, InspectSeesWhatReadSees) {
  const std::string file =
      write("x.npy", npy(header_text("<f2", "(3, 2, 2)", true), std::string(24, '\0')));
  const auto info = inspect_npy(file);
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->dtype, DType::F16);
  EXPECT_EQ(info->shape, Shape(3, 2, 2));
  EXPECT_EQ(info->strides, (Strides{1, 3, 6}));
  const auto truncated = inspect_npy(write("t.npy", read("x.npy").substr(0, 80)));
  ASSERT_FALSE(truncated);
  EXPECT_EQ(truncated.error().code, Code::FileFormat);
}

TEST_F(NpyTest, EmptyArraysLoad) {
  for (const std::string shape : {"(0,)", "(0, 5)", "(5, 0)", "(2, 0, 3)"}) {
    const auto array = read_npy(write("x.npy", npy(header_text("<f4", shape), "")));
    ASSERT_TRUE(array) << array.error().message;
    EXPECT_TRUE(array->bytes.empty());
    const auto extra = read_npy(write("x.npy", npy(header_text("<f4", shape), "1234")));
    ASSERT_FALSE(extra);
    expect_error(extra.error(), Code::FileFormat, "x.npy", "takes 0 bytes; the file holds 4");
  }
}

struct Bad {
  std::string bytes;
  Code code;
  std::string fragment;
};

TEST_F(NpyTest, RefusesBrokenFiles) {
  const std::string six = bytes_of(std::vector<float>(6));
  const std::string good = npy(header_text("<f4", "(2, 3)"), six);
  std::string wrong_magic = good;
  wrong_magic[0] = 'N';
  std::string minor = good;
  minor[7] = 1;
  std::string huge_header = npy("", "", 2);
  huge_header.replace(8, 4, "\xFF\xFF\xFF\x7F");
  const std::vector<Bad> cases{
      {"", Code::FileFormat, "0 bytes"},
      {"\x93NUM", Code::FileFormat, "does not begin"},
      {"\x93NUMPY", Code::FileFormat, "inside the .npy prefix"},
      {std::string("\x93NUMPY\x02\x00\x10\x00", 10), Code::FileFormat, "inside the .npy prefix"},
      {wrong_magic, Code::FileFormat, "does not begin"},
      {npy(header_text("<f4", "(2, 3)"), six, 4), Code::FileUnsupported, "version 4.0"},
      {npy(header_text("<f4", "(2, 3)"), six, 0), Code::FileUnsupported, "version 0.0"},
      {minor, Code::FileUnsupported, "version 1.1"},
      {huge_header, Code::FileFormat, "2147483647 bytes is over the limit of 1048576"},
      {npy(std::string(1048577, ' '), "", 2), Code::FileFormat, "over the limit"},
      {good.substr(0, 40), Code::FileFormat, "does not fit a file of 40"},
      {good + "x", Code::FileFormat, "takes 24 bytes; the file holds 25"},
      {good.substr(0, good.size() - 1), Code::FileFormat, "takes 24 bytes; the file holds 23"},
      {npy(header_text(">f4", "(2, 3)"), six), Code::FileUnsupported, "big-endian"},
      {npy(header_text("|O", "(2, 3)"), six), Code::FileUnsupported, "Python objects"},
      {npy(header_text("<f4", "(4611686018427387904, 4)"), ""), Code::FileFormat, "64 bits"},
      {npy(header_text("<f4", "(4611686018427387904, 4, 0)"), ""), Code::FileFormat, "64 bits"},
      {npy(header_text("<f8", "(1152921504606846976,)"), ""), Code::FileFormat, "64 bits"},
      {npy(header_text("<f4", "(1000000000000,)"), six), Code::FileFormat, "4000000000000 bytes"},
  };
  for (const Bad& bad : cases) {
    SCOPED_TRACE(bad.fragment);
    const auto array = read_npy(write("x.npy", bad.bytes));
    ASSERT_FALSE(array);
    expect_error(array.error(), bad.code, path("x.npy"), bad.fragment);
  }
}

TEST_F(NpyTest, RefusesEveryTruncation) {
  const std::string good =
      npy(header_text("|u1", "(3, 2)"), bytes_of(std::vector<char>{1, 2, 3, 4, 5, 6}));
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto array = read_npy(write("x.npy", good.substr(0, size)));
    ASSERT_FALSE(array) << size;
    EXPECT_EQ(array.error().code, Code::FileFormat) << size << ": " << array.error().message;
  }
}

TEST_F(NpyTest, AnyChangedByteIsReadOrRefusedCleanly) {
  const std::string good =
      npy(header_text("|u1", "(3, 2)"), bytes_of(std::vector<char>{1, 2, 3, 4, 5, 6}));
  int refused = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const unsigned mask : {0x01U, 0x02U, 0x10U, 0x80U, 0xFFU}) {
      std::string changed = good;
      changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ mask);
      const auto array = read_npy(write("x.npy", changed));
      if (array) {
        std::int64_t size = 1;
        for (const std::int64_t extent : array->shape) size *= extent;
        EXPECT_EQ(size * bit_width(array->dtype) / 8, 6);
      } else {
        ++refused;
        EXPECT_EQ(array.error().message.find('\n'), std::string::npos);
      }
    }
  }
  EXPECT_GT(refused, 200);
}

TEST_F(NpyTest, RefusesWhatIsNoRegularFile) {
  const auto missing = read_npy(path("missing.npy"));
  ASSERT_FALSE(missing);
  expect_error(missing.error(), Code::FileNotFound, path("missing.npy"), "No such file");
  const auto folder = read_npy(path(""));
  ASSERT_FALSE(folder);
  expect_error(folder.error(), Code::FileNotFound, path(""), "regular file");
  ASSERT_EQ(::mkfifo(path("pipe.npy").c_str(), 0600), 0);
  const auto pipe = read_npy(path("pipe.npy"));
  ASSERT_FALSE(pipe);
  expect_error(pipe.error(), Code::FileNotFound, path("pipe.npy"), "regular file");
  const auto nul = read_npy(std::string("a\0b", 3));
  ASSERT_FALSE(nul);
  expect_error(nul.error(), Code::FileNotFound, "a\\x00b", "NUL");
}

TEST_F(NpyTest, RoundTripsEveryTypeAndShape) {
  std::vector<std::uint8_t> bytes(8 * 24);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{1});
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::I8, DType::U8, DType::I32}) {
    for (const Shape& shape :
         {Shape{}, Shape{24}, Shape{4, 6}, Shape{2, 3, 4}, Shape{0, 3}, Shape{1, 1, 2, 3, 2, 2}}) {
      const HostView view = view_of(dtype, shape, bytes);
      ASSERT_TRUE(write_npy(path("x.npy"), view));
      const auto array = read_npy(path("x.npy"));
      ASSERT_TRUE(array) << array.error().message;
      EXPECT_EQ(array->dtype, dtype);
      EXPECT_EQ(array->shape, shape);
      EXPECT_EQ(bytes_of(*array), bytes_of(bytes).substr(0, array->bytes.size()));
    }
  }
}

TEST_F(NpyTest, WritesStridedViewsInRowOrder) {
  // [700, 600] doubles read as columns of a [600, 750] matrix: over 3 MB, so that the gather buffer
  // is emptied in the middle of runs.
  std::vector<double> memory(600 * 750);
  std::iota(memory.begin(), memory.end(), 0.0);
  const HostView view{DType::F64, {700, 600}, {1, 750}, std::as_bytes(std::span{memory})};
  ASSERT_TRUE(write_npy(path("x.npy"), view));
  const auto array = read_npy(path("x.npy"));
  ASSERT_TRUE(array) << array.error().message;
  ASSERT_EQ(array->bytes.size(), 700U * 600U * 8U);
  std::vector<double> got(700 * 600);
  std::memcpy(got.data(), array->bytes.data(), array->bytes.size());
  for (std::size_t i = 0; i < 700; ++i) {
    for (std::size_t j = 0; j < 600; ++j) {
      ASSERT_EQ(got[i * 600 + j], static_cast<double>(j * 750 + i)) << i << ", " << j;
    }
  }
}

TEST_F(NpyTest, WritesRepeatedElements) {
  const std::vector<std::int8_t> memory{3, 4, 5};
  const HostView view{DType::I8, {2, 2, 3}, {0, 0, 1}, std::as_bytes(std::span{memory})};
  ASSERT_TRUE(write_npy(path("x.npy"), view));
  const auto array = read_npy(path("x.npy"));
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(bytes_of(*array),
            bytes_of(std::vector<std::int8_t>{3, 4, 5, 3, 4, 5, 3, 4, 5, 3, 4, 5}));
}

TEST_F(NpyTest, RefusesViewsThatLeaveTheirBytes) {
  const std::vector<float> memory(5);
  const Status status = write_npy(path("x.npy"), view_of(DType::F32, {2, 3}, memory));
  ASSERT_FALSE(status);
  EXPECT_EQ(kind(status.error().code), ErrorKind::Invalid);
  const Status negative =
      write_npy(path("x.npy"), {DType::F32, {2, 2}, {-1, 1}, std::as_bytes(std::span{memory})});
  ASSERT_FALSE(negative);
  EXPECT_EQ(negative.error().code, Code::InvalidShape);
  EXPECT_TRUE(files().empty());
}

TEST(HostArrayTest, MakesZeroFilledRowMajorArrays) {
  const auto array = HostArray::make({2, 3}, DType::BF16);
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->strides, (Strides{3, 1}));
  EXPECT_EQ(bytes_of(*array), std::string(12, '\0'));
  const auto negative = HostArray::make({2, -3}, DType::BF16);
  ASSERT_FALSE(negative);
  EXPECT_EQ(negative.error().code, Code::InvalidShape);
  const auto overflow = HostArray::make({INT64_MAX, 2}, DType::I8);
  ASSERT_FALSE(overflow);
  EXPECT_EQ(overflow.error().code, Code::SizeOverflow);
  const auto hidden = HostArray::make({INT64_MAX, 2, 0}, DType::I8);
  ASSERT_FALSE(hidden);
  EXPECT_EQ(hidden.error().code, Code::SizeOverflow);
}

}  // namespace
}  // namespace girih::testing
