#include "io/npy_header.hpp"

#include <gtest/gtest.h>
#include <string>

#include "core/error.hpp"
#include "core/format.hpp"
#include "unit/io/scratch.hpp"

namespace girih::testing {
namespace {

Result<NpyHeader> parse(std::string_view text) {
  return parse_npy_header(text, "x.npy");
}

TEST(NpyHeader, ParsesWhatNumpyWrites) {
  const auto header =
      parse("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }            \n");
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->dtype, DType::F32);
  EXPECT_FALSE(header->fortran_order);
  EXPECT_EQ(header->shape, Shape(2, 3));
}

TEST(NpyHeader, TakesAnyKeyOrderQuotesAndSpacing) {
  const auto header = parse("{ \"shape\":(7,),'fortran_order' :True,'descr':'|i1'}\n");
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->dtype, DType::I8);
  EXPECT_TRUE(header->fortran_order);
  EXPECT_EQ(header->shape, Shape(7));
}

TEST(NpyHeader, TakesRankZeroAndExtentZero) {
  const auto scalar = parse("{'descr': '<f8', 'fortran_order': False, 'shape': (), }\n");
  ASSERT_TRUE(scalar) << scalar.error().message;
  EXPECT_EQ(scalar->shape.rank(), 0);
  const auto empty = parse("{'descr': '<i4', 'fortran_order': False, 'shape': (0, 5), }\n");
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_EQ(empty->shape, Shape(0, 5));
}

TEST(NpyHeader, KnowsEveryDescr) {
  const std::vector<std::pair<std::string, DType>> types{{"<f4", DType::F32}, {"<f8", DType::F64},
                                                         {"<f2", DType::F16}, {"|i1", DType::I8},
                                                         {"|u1", DType::U8},  {"<i4", DType::I32}};
  for (const auto& [descr, dtype] : types) {
    const auto header =
        parse(formatted("{{'descr': '{}', 'fortran_order': False, 'shape': (1,), }}\n", descr));
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->dtype, dtype) << descr;
  }
}

struct Refusal {
  std::string text;
  Code code;
  std::string fragment;
};

void expect_refused(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.text);
    const auto header = parse(refusal.text);
    ASSERT_FALSE(header);
    expect_error(header.error(), refusal.code, "x.npy", refusal.fragment);
  }
}

TEST(NpyHeader, RefusesOtherTypes) {
  const auto with = [](std::string_view descr) {
    return formatted("{{'descr': {}, 'fortran_order': False, 'shape': (1,), }}\n", descr);
  };
  expect_refused({
      {with("'>f4'"), Code::FileUnsupported, "big-endian"},
      {with("'>i4'"), Code::FileUnsupported, "big-endian"},
      {with("'|O'"), Code::FileUnsupported, "Python objects"},
      {with("'>O'"), Code::FileUnsupported, "Python objects"},
      {with("[('a', '<f4'), ('b', '<i4')]"), Code::FileUnsupported, "structured"},
      {with("'<i8'"), Code::FileUnsupported, "'<i8'"},
      {with("'|b1'"), Code::FileUnsupported, "'|b1'"},
      {with("'<c8'"), Code::FileUnsupported, "'<c8'"},
      {with("'<U10'"), Code::FileUnsupported, "'<U10'"},
      {with("'=f4'"), Code::FileUnsupported, "'=f4'"},
      {with("'|f4'"), Code::FileUnsupported, "'|f4'"},
      {with("'float32'"), Code::FileFormat, "'float32'"},
      {with("''"), Code::FileFormat, "no element type"},
      {with("4"), Code::FileFormat, "string"},
      {with("'<f\n4'"), Code::FileUnsupported, "<f\\x0a4"},
  });
}

TEST(NpyHeader, RefusesBrokenText) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
  expect_refused({
      {"", Code::FileFormat, "'{' expected"},
      {"\n", Code::FileFormat, "'{' expected"},
      {"{}\n", Code::FileFormat, "'descr' is missing"},
      {"{'descr': '<f4', 'shape': (2,)}\n", Code::FileFormat, "'fortran_order' is missing"},
      {"{'descr': '<f4', 'fortran_order': False}\n", Code::FileFormat, "'shape' is missing"},
      {"{'descr': '<f4', 'descr': '<f8', 'fortran_order': False, 'shape': (2,)}\n",
       Code::FileFormat, "twice"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'shape': (2,)}\n", Code::FileFormat,
       "twice"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}\n", Code::FileFormat,
       "unknown key 'more'"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}\n", Code::FileFormat, "True or False"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': [2]}\n", Code::FileFormat, "'('"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2)}\n", Code::FileFormat, "(n,)"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}\n", Code::FileFormat, "extent"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2.5,)}\n", Code::FileFormat, ""},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2L,)}\n", Code::FileFormat, ""},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}\n", Code::FileFormat, "extent"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3}\n", Code::FileFormat, "')'"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}\n",
       Code::FileFormat, "64 bits"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1)}\n",
       Code::FileUnsupported, "rank 7"},
      {good.substr(0, good.size() - 1), Code::FileFormat, "newline"},
      {good + " ", Code::FileFormat, "newline"},
      {good + good, Code::FileFormat, "newline"},
      {std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\0\n", 61),
       Code::FileFormat, "newline"},
      {"{'descr': '<f4", Code::FileFormat, "does not end"},
      {"{'de\\scr': '<f4'}", Code::FileFormat, "escape"},
  });
}

TEST(NpyHeader, FormatsWhatNumpyWrites) {
  const auto header = format_npy_header(DType::F32, {2, 3}, "x.npy");
  ASSERT_TRUE(header) << header.error().message;
  std::string expected{"\x93NUMPY\x01\x00\x76\x00", 10};
  expected += "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  expected.resize(127, ' ');
  expected += '\n';
  EXPECT_EQ(*header, expected);
}

TEST(NpyHeader, FormatsEveryRankSoThatItParses) {
  for (const Shape& shape :
       {Shape{}, Shape{5}, Shape{0}, Shape{2, 3}, Shape{1, 2, 3, 4, 5, 6},
        Shape{INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}}) {
    const auto text = format_npy_header(DType::I32, shape, "x.npy");
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ(text->size() % 64, 0U);
    const auto header = parse(std::string_view{*text}.substr(10));
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->shape, shape);
    EXPECT_EQ(header->dtype, DType::I32);
  }
}

TEST(NpyHeader, RefusesTypesThatNumpyLacks) {
  for (const DType dtype : {DType::BF16, DType::F8E4M3, DType::F8E5M2, DType::I4}) {
    const auto header = format_npy_header(dtype, {2}, "x.npy");
    ASSERT_FALSE(header);
    expect_error(header.error(), Code::FileUnsupported, "x.npy", name(dtype));
  }
}

}  // namespace
}  // namespace girih::testing
