#include <atomic>
#include <cfenv>
#include <functional>
#include <gtest/gtest.h>
#include <thread>

#include "support/backends.hpp"
#include "support/gemm.hpp"

// What is promised bit for bit.

namespace girih::testing {
namespace {

using Bytes = std::vector<std::byte>;

struct Types {
  DType operands, output;
};
constexpr Types kTypes[] = {{DType::F32, DType::F32},   {DType::BF16, DType::F32},
                            {DType::BF16, DType::BF16}, {DType::F16, DType::F16},
                            {DType::I8, DType::I32},    {DType::I8, DType::F32}};

/// The bytes of row `row` of a row-major result of `columns` elements a row.
Bytes row_of(const Bytes& matrix, std::int64_t row, std::int64_t columns, DType dtype) {
  const std::int64_t bytes = columns * bit_width(dtype) / 8;
  return {matrix.begin() + row * bytes, matrix.begin() + (row + 1) * bytes};
}

class GemmBits : public BackendTest {};

TEST_P(GemmBits, DoNotDependOnTheNumberOfThreads) {
  struct Extents {
    std::int64_t m, n, k;
  };
  for (const auto& [operands, output] : kTypes) {
    for (const auto& [m, n, k] : {Extents{300, 257, 700}, {1, 4000, 900}, {4000, 3, 300}}) {
      Bytes expected;
      for (const int threads : {1, 2, 3, 7}) {
        Runtime runtime = open(GetParam(), {.threads = threads});
        const Tensor a = random_tensor(runtime, {m, k}, operands, 1);
        const Tensor b = random_tensor(runtime, {k, n}, operands, 2);
        const Bytes bits = product(runtime, a, b, output);
        if (threads == 1) expected = bits;
        EXPECT_EQ(bits, expected) << threads << " threads, " << m << "x" << n << "x" << k;
      }
    }
  }
}

TEST_P(GemmBits, DoNotDependOnAlignmentOrLeadingDimension) {
  constexpr std::int64_t kM = 70, kN = 51, kK = 333;
  for (const auto& [operands, output] : kTypes) {
    const Tensor a = random_tensor(runtime_, {kM, kK}, operands, 1);
    const Tensor b = random_tensor(runtime_, {kK, kN}, operands, 2);
    const Bytes expected = product(runtime_, a, b, output);
    for (const std::int64_t offset : {1, 2, 3, 5, 8}) {
      for (const std::int64_t pad : {0, 1, 7}) {
        const auto moved = [&](const Tensor& x) {
          const std::int64_t leading = x.extent(1) + pad;
          const Tensor room = must(runtime_.tensor({offset + x.extent(0) * leading}, x.dtype()));
          const Tensor view = must(room.view(x.shape(), {leading, 1}, offset));
          must(copy(runtime_, {.source = x, .destination = view}));
          return view;
        };
        const Tensor c = must(must(runtime_.tensor({offset + kM * (kN + pad)}, output))
                                  .view({kM, kN}, {kN + pad, 1}, offset));
        must(gemm(runtime_, {.a = moved(a), .b = moved(b), .c = c}));
        EXPECT_EQ(bytes_of(runtime_, c), expected) << "offset " << offset << " pad " << pad;
      }
    }
  }
}

TEST_P(GemmBits, DoNotDependOnTheLayout) {
  for (const auto& [operands, output] : kTypes) {
    const Tensor a = random_tensor(runtime_, {65, 129}, operands, 1);
    const Tensor b = random_tensor(runtime_, {129, 33}, operands, 2);
    const Bytes expected = product(runtime_, a, b, output);
    const auto column_major = [&](const Tensor& x) {
      const Tensor stored = must(runtime_.tensor({x.extent(1), x.extent(0)}, x.dtype()));
      must(copy(runtime_, {.source = x.transposed(), .destination = stored}));
      return stored.transposed();
    };
    EXPECT_EQ(product(runtime_, column_major(a), b, output), expected);
    EXPECT_EQ(product(runtime_, a, column_major(b), output), expected);
    EXPECT_EQ(product(runtime_, column_major(a), column_major(b), output), expected);
    const Tensor c = must(runtime_.tensor({33, 65}, output)).transposed();
    must(gemm(runtime_, {.a = a, .b = b, .c = c}));
    EXPECT_EQ(bytes_of(runtime_, c), expected);
  }
}

TEST_P(GemmBits, ARowAloneEqualsTheRowInEveryBatch) {
  constexpr std::int64_t kMostRows = 70;
  constexpr auto kInvariant = Reproducibility::RowInvariant;
  for (const auto& [operands, output] : kTypes) {
    for (const auto& [n, k] :
         {std::pair<std::int64_t, std::int64_t>{33, 129}, {64, 1100}, {1, 40}}) {
      const Tensor a = random_tensor(runtime_, {kMostRows, k}, operands, 1);
      const Tensor b = random_tensor(runtime_, {k, n}, operands, 2);
      const Bytes all = product(runtime_, a, b, output, kInvariant);
      for (std::int64_t m = 1; m <= kMostRows; ++m) {
        if (GetParam() == Backend::Metal && !is_near_tile_edge(m)) continue;
        const Bytes top = product(runtime_, must(a.slice(0, 0, m)), b, output, kInvariant);
        ASSERT_TRUE(std::equal(top.begin(), top.end(), all.begin()))
            << "the first " << m << " rows";
        const Bytes alone = product(runtime_, must(a.slice(0, m - 1, m)), b, output, kInvariant);
        ASSERT_EQ(alone, row_of(all, m - 1, n, output)) << "row " << m - 1 << " alone";
      }
      // Neighbours of another batch entry change nothing either.
      const Tensor stacked = must(runtime_.tensor({2, 5, k}, operands));
      const Tensor five = must(must(a.slice(0, 0, 5)).reshape({1, 5, k}));
      must(copy(runtime_, {.source = five, .destination = must(stacked.slice(0, 1, 2))}));
      const Bytes batched = product(runtime_, stacked, b, output, kInvariant);
      for (std::int64_t row = 0; row < 5; ++row) {
        ASSERT_EQ(row_of(batched, 5 + row, n, output), row_of(all, row, n, output));
      }
    }
  }
}

TEST_P(GemmBits, OneRowAgreesWithTheSameRowOfTwo) {
  // Without the promise of RowInvariant it must still be right: both are held to one bound.
  for (const auto& [operands, output] : kTypes) {
    for (const std::int64_t k : {64, 4096}) {
      for (const std::int64_t m : {1, 2}) {
        expect_passes(runtime_, {.m = m, .n = 300, .k = k, .operands = operands, .output = output},
                      verify::Mode::Eager);
      }
    }
  }
}

TEST_P(GemmBits, ABatchEqualsItsProductsOneByOne) {
  for (const auto& [operands, output] : kTypes) {
    const Tensor a = random_tensor(runtime_, {4, 65, 100}, operands, 1);
    const Tensor b = random_tensor(runtime_, {4, 100, 33}, operands, 2);
    const Bytes batched = product(runtime_, a, b, output);
    Bytes singles;
    for (std::int64_t i = 0; i < 4; ++i) {
      const Tensor ai = must(must(a.slice(0, i, i + 1)).reshape({65, 100}));
      const Tensor bi = must(must(b.slice(0, i, i + 1)).reshape({100, 33}));
      const Bytes single = product(runtime_, ai, bi, output);
      singles.insert(singles.end(), single.begin(), single.end());
    }
    EXPECT_EQ(batched, singles);
    const Tensor shared = must(must(b.slice(0, 0, 1)).reshape({100, 33}));
    EXPECT_EQ(product(runtime_, a, shared, output),
              product(runtime_, a, must(shared.repeated(4)), output));
  }
}

TEST_P(GemmBits, AnEpilogueThatDoesNothingChangesNothing) {
  const float one = 1, zero = 0;
  const Tensor unit = tensor_of(runtime_, {1}, DType::F32, std::vector<float>{one});
  const Tensor none = tensor_of(runtime_, {1}, DType::F32, std::vector<float>{zero});
  const Tensor units = tensor_of(runtime_, {67}, DType::F32, std::vector<float>(67, one));
  for (const auto& [operands, output] : kTypes) {
    if (output == DType::I32) continue;
    const Tensor a = random_tensor(runtime_, {67, 300}, operands, 1);
    const Tensor b = random_tensor(runtime_, {300, 45}, operands, 2);
    const Bytes plain = product(runtime_, a, b, output);
    const auto with = [&](const std::function<void(GemmDesc&)>& change) {
      const Tensor c = must(runtime_.tensor({67, 45}, output));
      GemmDesc desc{.a = a, .b = b, .c = c};
      change(desc);
      must(gemm(runtime_, desc));
      return bytes_of(runtime_, c);
    };
    EXPECT_EQ(with([&](GemmDesc& desc) { desc.alpha = unit; }), plain);
    EXPECT_EQ(with([&](GemmDesc& desc) { desc.beta = none; }), plain);  // C is zero
    EXPECT_EQ(with([&](GemmDesc& desc) {
                desc.a_scale = Scale{units, Granularity::PerRow};
              }),
              plain);
    EXPECT_EQ(with([&](GemmDesc& desc) { desc.b_scale = Scale{unit}; }), plain);
  }
}

// C += A.B as training accumulates it: A transposed for weights, B for inputs.
TEST_P(GemmBits, AccumulatingWholeNumbersIsExact) {
  // |sums| stay below 2^24, so each of the ten passes must be exact in f32.
  constexpr std::int64_t kM = 33, kN = 40, kK = 64;
  std::vector<float> left(kM * kK), right(kK * kN);
  verify::Random random(3);
  for (float& x : left) x = static_cast<float>(random.integer(-9, 9));
  for (float& x : right) x = static_cast<float>(random.integer(-9, 9));
  const auto operand = [&](const Shape& shape, const std::vector<float>& values, DType dtype) {
    const Tensor single = tensor_of(runtime_, shape, DType::F32, values);
    if (dtype == DType::F32) return single;
    const Tensor half = must(runtime_.tensor(shape, dtype));
    must(cast(runtime_, {.source = single, .destination = half}));
    return half;
  };
  for (const DType dtype : {DType::F32, DType::BF16, DType::F16}) {
    for (const auto& [a_transposed, b_transposed] :
         {std::pair{false, false}, {true, false}, {false, true}}) {
      const Tensor a = a_transposed ? operand({kK, kM}, left, dtype).transposed()
                                    : operand({kM, kK}, left, dtype);
      const Tensor b = b_transposed ? operand({kN, kK}, right, dtype).transposed()
                                    : operand({kK, kN}, right, dtype);
      const Tensor c = must(runtime_.tensor({kM, kN}, DType::F32));
      must(gemm(runtime_, {.a = a, .b = b, .c = c}));
      const std::vector<float> once = floats_of(runtime_, c);
      for (int pass = 2; pass <= 10; ++pass) {
        must(gemm(runtime_, {.a = a, .b = b, .c = c, .beta = 1.0F}));
        const std::vector<float> now = floats_of(runtime_, c);
        for (std::size_t i = 0; i < now.size(); ++i) {
          ASSERT_EQ(now[i], static_cast<float>(pass) * once[i]) << name(dtype) << ", pass " << pass;
        }
      }
    }
  }
}

TEST_P(GemmBits, TwentyFiveRunsAreEqual) {
  for (const auto& [operands, output] : kTypes) {
    const Tensor a = random_tensor(runtime_, {150, 700}, operands, 1);
    const Tensor b = random_tensor(runtime_, {700, 130}, operands, 2);
    const Bytes expected = product(runtime_, a, b, output);
    for (int run = 0; run < std::max(3, repeats(GetParam(), 25)); ++run) {
      must(runtime_.trim());  // other memory each time
      ASSERT_EQ(product(runtime_, a, b, output), expected) << "run " << run;
    }
  }
}

TEST_P(GemmBits, SeveralRuntimesAtOnceDoNotDisturbEachOther) {
  const Tensor a = random_tensor(runtime_, {90, 200}, DType::F32, 1);
  const Tensor b = random_tensor(runtime_, {200, 70}, DType::F32, 2);
  const Bytes expected = product(runtime_, a, b, DType::F32);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      Runtime own = open(GetParam(), {.threads = 2});
      for (int i = 0; i < 20; ++i) {
        const Tensor x = random_tensor(own, {90, 200}, DType::F32, 1);
        const Tensor y = random_tensor(own, {200, 70}, DType::F32, 2);
        if (product(own, x, y, DType::F32) != expected) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(GemmBits, RaiseNoFloatingPointFlag) {
  // On the calling thread alone, so that its flags are those of the work.
  Runtime runtime = open(GetParam(), {.executor = make_sequential_executor()});
  // On the host every shape of a tile's edge, elsewhere, where flags are the device's own, two.
  std::vector<Shape> extents = {{37, 51}, {5, 3}};
  for (std::int64_t m = 1; GetParam() == Backend::Cpu && m <= 15; ++m) {
    for (std::int64_t n = 1; n <= 33; ++n) extents.push_back({m, n});
  }
  for (const auto& [operands, output] : kTypes) {
    const Tensor a = random_tensor(runtime, {37, 45}, operands, 1);
    const Tensor b = random_tensor(runtime, {45, 51}, operands, 2);
    const Tensor halves = random_tensor(runtime, {45, 102}, operands, 3);
    const Tensor c = must(runtime.tensor({37, 51}, output));
    for (const Shape& extent : extents) {
      for (const Activation activation :
           {Activation::None, Activation::Relu, Activation::GeluTanh, Activation::Silu}) {
        if (output == DType::I32 && activation != Activation::None) continue;
        GemmDesc desc{.a = must(a.slice(0, 0, extent[0])),
                      .b = must(b.slice(1, 0, extent[1])),
                      .c = must(must(c.slice(0, 0, extent[0])).slice(1, 0, extent[1])),
                      .epilogue = {.activation = activation}};
        if (output != DType::I32) desc.alpha = 100.0F;  // activations deep in their tails
        std::feclearexcept(FE_ALL_EXCEPT);
        must(gemm(runtime, desc));
        const int raised = std::fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
        ASSERT_EQ(raised, 0) << name(operands) << " " << name(output) << " " << name(activation)
                             << " " << extent[0] << " by " << extent[1];
        if (output == DType::I32 || GetParam() != Backend::Cpu) continue;
        desc.b = must(halves.slice(1, 0, 2 * extent[1]));
        desc.epilogue = {.gate = Gate{.activation = activation, .up_offset = 1}};
        must(gemm(runtime, desc));
        ASSERT_EQ(std::fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW), 0)
            << "gate " << name(operands) << " " << name(output) << " " << name(activation) << " "
            << extent[0] << " by " << extent[1];
      }
    }
  }
}

GIRIH_FOR_ALL_BACKENDS(GemmBits);

}  // namespace
}  // namespace girih::testing
