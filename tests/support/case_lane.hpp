#pragma once

#include <gtest/gtest.h>
#include <vector>

#include "support/backends.hpp"
#include "verify/case.hpp"

namespace girih::inline v0::testing {

/// Types of a product's operands and of its result.
struct ProductTypes {
  DType operands, output;
};

/// Where an operation has kernels.
enum class Kernels : std::uint8_t { Everywhere, NotOnMetal };

/// A suite of cases to verify, on every backend in every mode.
template <class Case, Kernels kWhere = Kernels::Everywhere>
class CaseLaneTest : public LaneTest {
 protected:
  /// The case passes, or is refused for want of kernels by a backend that has none.
  void expect(const Case& x) {
    const bool has_kernels = kWhere == Kernels::Everywhere || runtime_.backend() != Backend::Metal;
    const verify::CaseReport report = run_case(runtime_, x, mode());
    EXPECT_EQ(report.outcome, has_kernels ? verify::CaseReport::Outcome::Passed
                                          : verify::CaseReport::Outcome::Refused)
        << x.to_string() << "\n  on " << report.kernel << ": " << report.detail;
  }
};

/// For suites about rows of other backends: metal, whose rows other suites replay, runs them
/// eagerly alone. In every mode these took the emulator 5 minutes more.
inline std::vector<Lane> lanes_of_rows_off_metal() {
  std::vector<Lane> lanes = all_lanes();
  std::erase_if(lanes, [](const Lane& lane) {
    return lane.backend == Backend::Metal && lane.mode != verify::Mode::Eager;
  });
  return lanes;
}

}  // namespace girih::inline v0::testing
