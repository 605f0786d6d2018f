#pragma once

#include <bit>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <girih/runtime.hpp>

#include "ops/op.hpp"
#include "plan/kernel_info.hpp"
#include "verify/case.hpp"

// What the conformance suites run on. They know no backend: a new one is added here.

namespace girih::inline v0::testing {

/// Backends that this build and this machine can run, in order.
std::vector<Backend> tested_backends();
/// A runtime that a test may rely on; the test ends if there is none.
Runtime open(Backend backend, RuntimeOptions options = {});

/// How often to repeat what is the same each time: `count`, but a tenth of it on metal, whose
/// emulator takes a millisecond where a device takes one launch.
constexpr int repeats(Backend backend, int count) {
  return backend == Backend::Metal ? count / 10 : count;
}
/// Rows at which a product of few, or of one more than many, takes another path: all up to 5, and
/// the neighbours of powers of two.
constexpr bool is_near_tile_edge(std::int64_t m) {
  const auto up = static_cast<std::uint64_t>(m);
  return m <= 5 || std::has_single_bit(up - 1) || std::has_single_bit(up) ||
         std::has_single_bit(up + 1);
}

/// A row of a kernel table that this build and this machine can run.
struct UsableKernel {
  Backend backend;
  KernelInfo info;
};
/// One that a row serves.
inline Precision precision_of(const KernelInfo& row) {
  return row.precision.value_or(row.multiplies_tf32 || row.splits_f32 ? Precision::Fast
                                                                      : Precision::Exact);
}
std::vector<UsableKernel> usable_kernels(Backend backend, Op op);
/// "cpu_gemm_f32_6x16_avx2", as a test's parameter prints.
void PrintTo(const UsableKernel& kernel, std::ostream* out);

/// One backend in one mode.
struct Lane {
  Backend backend;
  verify::Mode mode;
};
std::vector<Lane> all_lanes();
void PrintTo(const Lane& lane, std::ostream* out);
/// "cpu_captured"
std::string lane_name(const ::testing::TestParamInfo<Lane>& info);

/// A suite that runs on every backend in every mode.
class LaneTest : public ::testing::TestWithParam<Lane> {
 protected:
  [[nodiscard]] verify::Mode mode() const { return GetParam().mode; }

  Runtime runtime_ = open(GetParam().backend);
};

/// A suite that runs once a backend.
class BackendTest : public ::testing::TestWithParam<Backend> {
 protected:
  Runtime runtime_ = open(GetParam());
};
std::string backend_name(const ::testing::TestParamInfo<Backend>& info);

}  // namespace girih::inline v0::testing

#define GIRIH_FOR_ALL_LANES(Suite)                                                           \
  INSTANTIATE_TEST_SUITE_P(Lanes, Suite, ::testing::ValuesIn(::girih::testing::all_lanes()), \
                           ::girih::testing::lane_name)
#define GIRIH_FOR_ALL_BACKENDS(Suite)                                                \
  INSTANTIATE_TEST_SUITE_P(Backends, Suite,                                          \
                           ::testing::ValuesIn(::girih::testing::tested_backends()), \
                           ::girih::testing::backend_name)
