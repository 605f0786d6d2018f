#include "girih/replay.hpp"

#include <array>
#include <gtest/gtest.h>
#include <optional>

#include "core/error.hpp"
#include "support/expect.hpp"

// What a replay amounts to. The commands' own tests run lines; none of girih's kernels is wrong, so
// a wrong one is made here.

namespace girih::testing {
namespace {

using cli::Replay;
using cli::ReplayedLine;

ReplayedLine replayed(Status status, std::optional<verify::Comparison> comparison = {}) {
  return {CallLine{.status = Code::GemmAliasing}, Replay{.kernel = "k",
                                                         .status = std::move(status),
                                                         .runs = 1,
                                                         .seconds = 1e-6,
                                                         .comparison = std::move(comparison)}};
}

/// A result of 1 and 2 against an oracle that says 1 and `want`.
verify::Comparison compared(double want) {
  const std::array<float, 2> got = {1, 2};
  return verify::compare(std::array<double, 2>{1, want}, std::array<double, 2>{0.1, 0.1},
                         {{DType::F32, {2}, {1}, 0}, reinterpret_cast<const std::byte*>(&got)});
}

TEST(Replays, OfWrongResultsAreFailures) {
  const ReplayedLine wrong = replayed({}, compared(3));
  EXPECT_EQ(outcome_of(wrong), "WRONG");
  EXPECT_TRUE(refused(judge(wrong), Code::DeviceFailed, "1 of 2 wrong"));
  EXPECT_EQ(outcome_of(replayed({}, compared(2))), "verified");
  EXPECT_TRUE(succeeded(judge(replayed({}, compared(2)))));
  EXPECT_EQ(outcome_of(replayed({})), "ok");
}

TEST(Replays, OfRefusalsAreFailuresUnlessRecorded) {
  const ReplayedLine same = replayed(error(Code::GemmAliasing, "as before"));
  EXPECT_EQ(outcome_of(same), "GemmAliasing");
  EXPECT_TRUE(succeeded(judge(same)));
  const ReplayedLine other = replayed(error(Code::GemmNoKernel, "not as before"));
  EXPECT_TRUE(refused(judge(other), Code::GemmNoKernel, "not as before"));
}

TEST(Replays, ThatCouldNotBeAreFailures) {
  const ReplayedLine unread{{}, error(Code::FileFormat, "no line")};
  EXPECT_EQ(outcome_of(unread), "not read");
  EXPECT_TRUE(refused(judge(unread), Code::FileFormat, "no line"));
  const ReplayedLine untried{CallLine{}, error(Code::OutOfMemory, "too large")};
  EXPECT_EQ(outcome_of(untried), "not tried");
  EXPECT_TRUE(refused(judge(untried), Code::OutOfMemory, "too large"));
}

}  // namespace
}  // namespace girih::testing
