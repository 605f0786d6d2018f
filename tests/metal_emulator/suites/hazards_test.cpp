#include "backends/metal/hazards.hpp"

#include <gtest/gtest.h>

#include "device/control.hpp"
#include "support/gemm.hpp"

// Barriers stand where a dispatch depends on an earlier one, and nowhere else.

namespace girih::testing {
namespace {

using metal::Hazards;
using metal::Use;

bool needs_barrier(Use first, Use second) {
  Hazards hazards;
  EXPECT_FALSE(hazards.add({&first, 1}));
  return hazards.add({&second, 1});
}

TEST(MetalHazards, OnlyAWriteOfSharedMemoryIsOne) {
  EXPECT_FALSE(needs_barrier({0, 16, false}, {0, 16, false}));
  EXPECT_TRUE(needs_barrier({0, 16, true}, {0, 16, false}));
  EXPECT_TRUE(needs_barrier({0, 16, false}, {0, 16, true}));
  EXPECT_TRUE(needs_barrier({0, 16, true}, {8, 24, true}));
  EXPECT_FALSE(needs_barrier({0, 16, true}, {16, 32, true}));
}

TEST(MetalHazards, WhatIsBeforeABarrierIsForgotten) {
  Hazards hazards;
  const Use a{0, 16, true}, b{16, 32, true};
  EXPECT_FALSE(hazards.add({&a, 1}));
  EXPECT_FALSE(hazards.add({&b, 1}));
  EXPECT_TRUE(hazards.add({&a, 1}));
  EXPECT_FALSE(hazards.add({&b, 1}));  // ordered by the barrier before a
  EXPECT_TRUE(hazards.add({&b, 1}));
  for (std::uintptr_t i = 0; i < 200; ++i) {
    const Use next{100 + i * 16, 116 + i * 16, true};
    (void)hazards.add({&next, 1});  // never more than there is room for
  }
}

class MetalBarriers : public ::testing::Test {
 protected:
  ~MetalBarriers() override { emulator::ignore_barriers(false); }
  /// Barriers that `body` had encoded; all were there before it ran.
  template <class Body>
  int barriers(const Body& body) {
    must(runtime_.synchronize());
    const int before = emulator::encoded_barriers();
    must(body());
    return emulator::encoded_barriers() - before;
  }
  Tensor square(float value) {
    Tensor x = must(runtime_.tensor({8, 8}, DType::F32));
    must(fill(runtime_, {.destination = x, .value = value}));
    return x;
  }
  Status independent() {
    must(gemm(runtime_, {.a = a_, .b = b_, .c = c_}));
    must(gemm(runtime_, {.a = a_, .b = b_, .c = d_}));
    return copy(runtime_, {.source = a_, .destination = e_});
  }
  Status dependent() {
    must(gemm(runtime_, {.a = a_, .b = b_, .c = c_}));
    must(gemm(runtime_, {.a = c_, .b = b_, .c = d_}));         // read after write
    must(fill(runtime_, {.destination = c_, .value = 1}));     // write after read
    return copy(runtime_, {.source = e_, .destination = c_});  // write after write
  }

  Runtime runtime_ = must(Runtime::open({.backend = Backend::Metal}));
  Tensor a_ = square(1), b_ = square(2), c_ = square(0), d_ = square(0), e_ = square(3);
};

TEST_F(MetalBarriers, IndependentCallsHaveNone) {
  EXPECT_EQ(barriers([&] { return independent(); }), 0);
  Graph graph = must(capture(runtime_, [&] { return independent(); }));
  EXPECT_EQ(barriers([&] { return graph.replay(); }), 0);
  must(runtime_.synchronize());
  emulator::ignore_barriers(true);
  must(independent());
  EXPECT_TRUE(succeeded(runtime_.synchronize()));  // and none is missing
}

TEST_F(MetalBarriers, DependentCallsHaveOneEach) {
  EXPECT_EQ(barriers([&] { return dependent(); }), 3);
  Graph graph = must(capture(runtime_, [&] { return dependent(); }));
  EXPECT_EQ(barriers([&] { return graph.replay(); }), 3);
  must(runtime_.synchronize());
  EXPECT_EQ(floats_of(runtime_, d_), std::vector<float>(64, 256.0F));
}

TEST_F(MetalBarriers, OneThatIsMissingIsFound) {
  must(runtime_.synchronize());
  for (const bool is_replayed : {false, true}) {
    Graph graph = must(capture(runtime_, [&] { return dependent(); }));
    emulator::ignore_barriers(true);
    if (is_replayed) {
      must(graph.replay());
    } else {
      must(dependent());
    }
    EXPECT_TRUE(refused(runtime_.synchronize(), Code::DeviceFailed, "hazard"));
    emulator::ignore_barriers(false);
    const std::vector<std::string> findings = emulator::take_findings();
    ASSERT_FALSE(findings.empty());
    EXPECT_NE(findings[0].find("hazard"), std::string::npos) << findings[0];
    must(runtime_.recover());
  }
}

TEST_F(MetalBarriers, PartsOfOneProductAreOrdered) {
  const Tensor a = must(runtime_.tensor({8, 4096}, DType::F32));
  const GemmDesc split{.a = a, .b = a.transposed(), .c = c_, .precision = Precision::Tf32};
  ASSERT_GT(must(plan(runtime_, split)).split_k, 1);
  must(prepare(runtime_, std::vector<OpDesc>{split}));
  // Two operands rounded at once, the product of the slices, their sum.
  EXPECT_GE(barriers([&] { return gemm(runtime_, split); }), 2);
}

}  // namespace
}  // namespace girih::testing
