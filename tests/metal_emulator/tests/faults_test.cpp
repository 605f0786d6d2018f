#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "tests/small_floats.hpp"
#include "tests/support.hpp"

// Every seeded fault is reported, with the kernel's file and line. The findings do not depend on
// the order of lanes.

namespace girih::inline v0::emulator {
namespace {

struct Fault {
  const char* kernel;  ///< also the mark in the source
  const char* kind;
};
void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.kernel;
}
std::string fault_name(const ::testing::TestParamInfo<Fault>& info) {
  return info.param.kernel;
}

class SoftmaxFaults : public ::testing::TestWithParam<Fault> {};

TEST_P(SoftmaxFaults, AreFoundInEveryOrder) {
  struct Arguments {
    unsigned columns, stride;
    float scale;
  };
  const ConfigScope scope;
  for (const Order order : {Order::Forward, Order::Reverse, Order::Random, Order::Greedy}) {
    config().order = order;
    const bool no_mask = false;
    for (const FunctionConstant& constant : function_constants("softmax")) {
      std::memcpy(constant.value, &no_mask, constant.bytes);
    }
    const unsigned columns = 100, rows = 2;
    const DeviceArray x(std::vector<float>(rows * columns, 0.5F), "x"), y(rows * columns * 4, "y");
    const DeviceArray arguments(std::vector<Arguments>{{columns, columns, 1}}, "arguments");
    const auto finding = run("softmax", GetParam().kernel, {&x, &y, &arguments}, {rows}, {128});
    EXPECT_TRUE(found_at(finding, GetParam().kind, "softmax.metal", GetParam().kernel));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Softmax, SoftmaxFaults,
    ::testing::Values(Fault{"kNoBarrier", "race uninitialised"}, Fault{"kWriteBeforeRead", "race"},
                      Fault{"kWrongFlag", "race"}, Fault{"kSimdBarrier", "race uninitialised"},
                      Fault{"kReadsPastEnd", "bounds"}, Fault{"kUnwritten", "uninitialised"},
                      Fault{"kReturnsEarly", "divergence"}),
    fault_name);

struct Product {
  int m, n, k;
};

template <class T>
std::optional<Finding> run_product(const char* kernel, const Product& p, Dim3 groups,
                                   std::vector<float>* result = nullptr) {
  const auto count = [](int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  };
  // Halves are for matmul2d, whose rows are padded.
  const auto stride = [](int columns) { return sizeof(T) == 2 ? (columns + 7) / 8 * 8 : columns; };
  const DeviceArray a(std::vector<T>(count(p.m, stride(p.k)), T(1)), "A");
  const DeviceArray b(std::vector<T>(count(p.k, stride(p.n)), T(1)), "B");
  const DeviceArray c(count(p.m, p.n) * 4, "C");
  const DeviceArray arguments(std::vector<Product>{p}, "arguments");
  auto finding = run("products", kernel, {&a, &b, &c, &arguments}, groups, {128});
  if (result != nullptr) *result = c.values<float>();
  return finding;
}

class SimdgroupFaults : public ::testing::TestWithParam<Fault> {};
TEST_P(SimdgroupFaults, AreFound) {
  const auto finding = run_product<float>(GetParam().kernel, {45, 37, 50}, {2, 2});
  EXPECT_TRUE(found_at(finding, GetParam().kind, "products.metal", GetParam().kernel));
}
INSTANTIATE_TEST_SUITE_P(Products, SimdgroupFaults,
                         ::testing::Values(Fault{"kLoadsPastEnd", "bounds"}), fault_name);

TEST(SimdgroupFaults, ABarrierMissingInALoopIsARace) {
  const auto finding = run_product<float>("kNoBarrierInLoop", {45, 37, 50}, {2, 2});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->kind, "race");
  EXPECT_NE(finding->text.find("products.metal:"), std::string::npos) << finding->text;
}

TEST(SimdgroupFaults, AStorePastTheRowMeetsTheNextThreadgroupOrTheEnd) {
  // The elements belong to another threadgroup: which of the two is caught depends on who is first.
  const auto inner = run_product<float>("kStoresPastEnd", {45, 37, 50}, {2, 2});
  EXPECT_TRUE(found_at(inner, "race", "products.metal", "kStoresPastEnd"));
  const auto last = run_product<float>("kStoresPastEnd", {1, 37, 50}, {2, 1});
  EXPECT_TRUE(found_at(last, "bounds", "products.metal", "kStoresPastEnd"));
}

class TensorFaults : public ::testing::TestWithParam<Fault> {};
TEST_P(TensorFaults, AreFound) {
  const auto finding = run_product<Half>(GetParam().kernel, {70, 45, 40}, {2, 2});
  EXPECT_TRUE(found_at(finding, GetParam().kind, "products.metal", GetParam().kernel));
}
INSTANTIATE_TEST_SUITE_P(
    Products, TensorFaults,
    ::testing::Values(Fault{"kStaticDepth", "matmul"}, Fault{"kWrongScope", "matmul"},
                      Fault{"kDifferentOperands", "matmul"}, Fault{"kWrongDepth", "matmul"},
                      Fault{"kUsesInvalidSlot", "bounds"}, Fault{"kPastCapacity", "bounds"},
                      Fault{"kFarRows", "matmul"}, Fault{"kRaggedRows", "matmul"}),
    fault_name);

TEST(TensorFaults, AnAssumedLayoutGivesWrongNumbers) {
  std::vector<float> c;
  EXPECT_FALSE(run_product<Half>("kAssumesLayout", {64, 32, 16}, {1, 1}, &c));
  const auto wrong = std::count_if(c.begin(), c.end(), [](float x) { return x != 16; });
  EXPECT_GT(wrong, 0);  // slots that hold nothing are among those it stored
}

class MemoryRules : public ::testing::Test {
 protected:
  DeviceArray y_{256 * 4, "y"};
};

TEST_F(MemoryRules, ThreadgroupsMayNotWriteTheSameElement) {
  EXPECT_TRUE(found_at(run("rules", "neighbours_write", {&y_}, {2}, {32}), "race", "rules.metal",
                       "neighbours_write"));
  EXPECT_FALSE(run("rules", "neighbours_write", {&y_}, {1}, {32}));
}

TEST_F(MemoryRules, LanesMayNotWriteTheSameElement) {
  EXPECT_TRUE(found_at(run("rules", "lanes_write", {&y_}, {1}, {32}), "race", "rules.metal",
                       "lanes_write"));
}

TEST_F(MemoryRules, NeighbouringBytesAreDifferentElements) {
  EXPECT_FALSE(run("rules", "bytes_write", {&y_}, {1}, {256}));
}

TEST_F(MemoryRules, AnOverrunArrayIsOutOfBounds) {
  EXPECT_TRUE(found_at(run("rules", "array_overrun", {&y_}, {1}, {32}), "bounds", "rules.metal",
                       "array_overrun"));
}

TEST_F(MemoryRules, AnAddressInNoBufferIsOutOfBounds) {
  EXPECT_TRUE(found_at(run("rules", "wild_pointer", {&y_}, {1}, {32}), "bounds", "rules.metal",
                       "wild_pointer"));
}

TEST_F(MemoryRules, AtomicsDoNotConflictAndPlainReadsDo) {
  const DeviceArray count(std::vector<unsigned>{0}, "count");
  EXPECT_FALSE(run("rules", "counts", {&count}, {3}, {64}));
  EXPECT_EQ(count.values<unsigned>()[0], 3U * 64);
  EXPECT_TRUE(found_at(run("rules", "reads_a_count", {&count, &y_}, {1}, {64}), "race",
                       "rules.metal", "reads_a_count"));
}

TEST_F(MemoryRules, DispatchesAreOrderedByBarriersAlone) {
  const DeviceArray x(std::vector<float>(64, 1), "x"), z(64 * 4, "z");
  const Kernel& copies = *find_kernel(*find_library_named("rules"), "copies");
  Arguments first, second;
  first.buffers[0] = x.data();
  first.buffers[1] = second.buffers[0] = y_.data();
  second.buffers[1] = z.data();
  const auto chain = [&](bool with_barrier) -> std::string {
    try {
      order_dispatches();
      dispatch(copies, first, {1}, {64});
      if (with_barrier) order_dispatches();
      dispatch(copies, second, {1}, {64});
    } catch (const Finding& finding) {
      return finding.kind + " " + finding.text;
    }
    return "";
  };
  EXPECT_EQ(chain(true), "");
  const std::string found = chain(false);
  EXPECT_NE(found.find("hazard"), std::string::npos) << found;
  EXPECT_NE(found.find("rules.metal:"), std::string::npos) << found;
  EXPECT_EQ(z.values<float>(), std::vector<float>(64, 1));
}

TEST_F(MemoryRules, MemoryThatIsNotResidentMayNotBeTouched) {
  const DeviceArray x(64 * 4, "x");
  set_resident(x.data(), false);
  const auto finding = run("rules", "copies", {&x, &y_}, {1}, {64});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->kind, "residency");
  EXPECT_NE(finding->text.find("of x"), std::string::npos) << finding->text;
}

TEST_F(MemoryRules, FreshMemoryIsNan) {
  for (const float value : y_.values<float>()) EXPECT_TRUE(std::isnan(value));
}

TEST_F(MemoryRules, ThreadgroupMemoryOfArgumentsIsChecked) {
  EXPECT_FALSE(run("rules", "argument_memory", {&y_}, {1}, {32}, 32 * 4));
  const auto finding = run("rules", "argument_memory", {&y_}, {1}, {32}, 31 * 4);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->kind, "bounds");
  const auto unset = run("rules", "argument_memory", {&y_}, {1}, {32});
  ASSERT_TRUE(unset);
  EXPECT_EQ(unset->kind, "binding");
}

TEST_F(MemoryRules, LimitsHold) {
  EXPECT_TRUE(found_at(run("rules", "too_much_memory", {&y_}, {1}, {32}), "limits", "rules.metal",
                       "too_much_memory"));
  EXPECT_EQ(run("rules", "small_groups", {&y_}, {1}, {65})->kind, "limits");
  EXPECT_EQ(run("rules", "small_groups", {&y_}, {1}, {0})->kind, "limits");
  EXPECT_FALSE(run("rules", "small_groups", {&y_}, {1}, {64}));
  EXPECT_EQ(run("rules", "copies", {nullptr, &y_}, {1}, {32})->kind, "binding");
}

TEST_F(MemoryRules, AFaultIsNotFoundWithTheChecksOff) {
  const ConfigScope scope;
  config().checks_accesses = false;
  EXPECT_FALSE(run("rules", "lanes_write", {&y_}, {1}, {32}));
}

class ControlFlow : public MemoryRules {};

TEST_F(ControlFlow, LanesMustMeetAtOneBarrier) {
  EXPECT_TRUE(found_at(run("rules", "different_barriers", {&y_}, {1}, {32}), "divergence",
                       "rules.metal", "different_barriers"));
  EXPECT_TRUE(found_at(run("rules", "waits_for_nobody", {&y_}, {1}, {64}), "divergence",
                       "rules.metal", "waits_for_nobody"));
}

TEST_F(ControlFlow, AShuffleNeedsItsSource) {
  EXPECT_TRUE(found_at(run("rules", "absent_lane", {&y_}, {1}, {32}), "divergence", "rules.metal",
                       "absent_lane"));
}

}  // namespace
}  // namespace girih::inline v0::emulator
