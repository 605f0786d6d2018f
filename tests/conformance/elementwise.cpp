#include <cmath>
#include <gtest/gtest.h>

#include "support/case_lane.hpp"
#include "support/gemm.hpp"
#include "verify/elementwise_case.hpp"

namespace girih::testing {
namespace {

using verify::ElementwiseCase;

constexpr DType kFloats[] = {DType::F32, DType::BF16, DType::F16, DType::F8E4M3, DType::F8E5M2};

class Elementwise : public CaseLaneTest<ElementwiseCase> {};

TEST_P(Elementwise, CastsEveryPatternBetweenEveryPair) {
  for (const DType from : kFloats) {
    for (const DType to : kFloats) {
      if (from == to) continue;
      for (const std::int64_t count : {65536, 1, 17, 255}) {
        expect({.op = Op::Cast, .source_type = from, .destination_type = to, .shape = {count}});
      }
      expect({.op = Op::Cast,
              .source_type = from,
              .destination_type = to,
              .shape = {129, 65},
              .source = {.order = {1, 0}, .pad = 3, .offset = 1},
              .destination = {.pad = 1, .offset = 3}});
    }
  }
}

TEST_P(Elementwise, TransposesRaggedShapes) {
  for (const DType dtype : {DType::F32, DType::BF16, DType::I8, DType::I32}) {
    for (const std::int64_t rows : {1, 7, 31, 32, 33, 65, 257}) {
      for (const std::int64_t columns : {1, 8, 31, 33, 64, 100}) {
        expect({.op = Op::Copy,
                .source_type = dtype,
                .destination_type = dtype,
                .shape = {rows, columns},
                .source = {.order = {1, 0}, .offset = 1},
                .destination = {.pad = 2}});
      }
    }
  }
}

// Rows on both sides begin at multiples of 16 bytes.
TEST_P(Elementwise, TransposesAlignedRows) {
  const auto padded = [](std::int64_t row) { return (row + 15) / 16 * 16 - row; };
  for (const DType dtype : {DType::F32, DType::BF16, DType::I8}) {
    for (const auto& [rows, columns] :
         {std::pair<std::int64_t, std::int64_t>{64, 256}, {257, 100}, {31, 300}, {16, 9}}) {
      expect({.op = Op::Copy,
              .source_type = dtype,
              .destination_type = dtype,
              .shape = {rows, columns},
              .source = {.order = {1, 0}, .pad = padded(rows)},
              .destination = {.pad = padded(columns), .offset = 16}});
    }
  }
}

TEST_P(Elementwise, MovesRowsAtEveryAlignment) {
  for (const auto& [dtype, bytes] : {std::pair{DType::F32, 4}, {DType::BF16, 2}, {DType::I8, 1}}) {
    for (std::int64_t from = 0; from < 16 / bytes; ++from) {
      for (const auto& [row, to] :
           {std::pair<std::int64_t, std::int64_t>{4999, from / 3}, {100, 0}, {9, 1}}) {
        expect({.op = Op::Copy,
                .source_type = dtype,
                .destination_type = dtype,
                .shape = {3, row},
                .source = {.pad = 5, .offset = from},
                .destination = {.pad = 2, .offset = to}});
        if (dtype == DType::I8) continue;
        expect({.op = Op::Cast,
                .source_type = dtype,
                .destination_type = dtype == DType::F32 ? DType::BF16 : DType::F32,
                .shape = {3, row},
                .source = {.pad = 5, .offset = from},
                .destination = {.pad = 2, .offset = to}});
      }
    }
  }
}

TEST_P(Elementwise, FillsEveryTypeAndStride) {
  for (const double value : {0.0, -0.0, 1.0, -3.0, 1 + 0x1p-8 + 0x1p-40, 65519.999, 65520.0, 1e39,
                             0x1p-140, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    for (const DType dtype : kFloats) {
      expect({.op = Op::Fill,
              .source_type = dtype,
              .destination_type = dtype,
              .shape = {3, 65},
              .destination = {.step = 2, .pad = 1, .offset = 1},
              .value = value});
    }
  }
  for (const auto& [dtype, value] : {std::pair{DType::I8, -128.0},
                                     {DType::I8, 127.0},
                                     {DType::U8, 255.0},
                                     {DType::I32, -2147483648.0},
                                     {DType::I32, 2147483647.0}}) {
    expect({.op = Op::Fill,
            .source_type = dtype,
            .destination_type = dtype,
            .shape = {1000},
            .value = value});
  }
}

TEST_P(Elementwise, SeededCases) {
  for (const Op op : {Op::Copy, Op::Cast, Op::Fill}) {
    for (std::uint64_t i = 0; i < 60; ++i) expect(verify::make_elementwise_case(op, 20260830, i));
  }
}

GIRIH_FOR_ALL_LANES(Elementwise);

class ElementwiseDirect : public BackendTest {};

TEST_P(ElementwiseDirect, ACopyOntoItselfIsNothing) {
  const Tensor x = random_tensor(runtime_, {5, 7}, DType::F32, 1);
  const std::vector<std::byte> before = bytes_of(runtime_, x);
  const std::uint64_t dispatches = runtime_.dispatch_count();
  must(copy(runtime_, {.source = x, .destination = x}));
  EXPECT_EQ(bytes_of(runtime_, x), before);
  EXPECT_EQ(runtime_.dispatch_count(), dispatches);
}

TEST_P(ElementwiseDirect, ColumnSlicesOfOneMatrixMayBeCopied) {
  const Tensor x = random_tensor(runtime_, {9, 8}, DType::F32, 1);
  const Tensor left = must(x.slice(1, 0, 4)), right = must(x.slice(1, 4, 8));
  must(copy(runtime_, {.source = left, .destination = right}));
  EXPECT_EQ(floats_of(runtime_, left), floats_of(runtime_, right));
}

TEST_P(ElementwiseDirect, NibblesAreCopiedWhole) {
  const std::vector<std::uint8_t> packed = {0x21, 0x43, 0xF5, 0x87};
  const Tensor x = must(runtime_.tensor({8}, DType::I4));
  must(runtime_.upload(x, packed.data(), packed.size()));
  const Tensor y = must(runtime_.tensor({8}, DType::I4));
  must(copy(runtime_, {.source = x, .destination = y}));
  std::vector<std::uint8_t> got(4);
  must(runtime_.download(y, got.data(), got.size()));
  EXPECT_EQ(got, packed);
  must(fill(runtime_, {.destination = y, .value = -8}));
  must(runtime_.download(y, got.data(), got.size()));
  EXPECT_EQ(got, std::vector<std::uint8_t>(4, 0x88));
}

GIRIH_FOR_ALL_BACKENDS(ElementwiseDirect);

}  // namespace
}  // namespace girih::testing
