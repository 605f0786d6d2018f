#include "girih/verify_cases.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>

#include "girih/commands.hpp"
#include "support/expect.hpp"

namespace girih::testing {
namespace {

using namespace cli;

class VerifyCases : public ::testing::Test {
 protected:
  /// Doubles every product.
  static Status wrong_gemm(Runtime& runtime, const GemmDesc& desc) {
    GemmDesc wrong = desc;
    wrong.alpha = desc.alpha.on_device() ? ScalarArg<float>(3.0F) : 2 * desc.alpha.value();
    return gemm(runtime, wrong);
  }
  std::string report(const VerifyTally& tally, int& code) {
    ::testing::internal::CaptureStdout();
    code = report_cases(options_, tally, 0.5);
    std::fflush(stdout);
    return ::testing::internal::GetCapturedStdout();
  }

  Runtime runtime_ = must(Runtime::open({.backend = Backend::Cpu}));
  VerifyOptions options_ = [] {
    VerifyOptions options;
    options.cases = 10;
    options.seed = 3;
    options.backend = Backend::Cpu;
    options.threads = 2;
    return options;
  }();
};

TEST_F(VerifyCases, AWrongProductFailsAndPrintsTheCommandThatReplaysIt) {
  const VerifyTally tally = verify_cases(runtime_, options_, wrong_gemm);
  ASSERT_GT(tally.failed, 0);
  EXPECT_EQ(tally.cases, 10);
  EXPECT_EQ(tally.passed + tally.refused + tally.failed, 10);
  int code = 0;
  const std::string text = report(tally, code);
  EXPECT_EQ(code, kFailed);
  const VerifyFailure& first = tally.failures.front();
  const std::string command = "girih verify --op gemm --seed 3 --case " +
                              std::to_string(first.index) + " --backend cpu --threads 2";
  EXPECT_EQ(first.command, command);
  EXPECT_NE(text.find("again: " + command), std::string::npos) << text;
  EXPECT_NE(text.find(first.description), std::string::npos);
  options_.json = true;
  const auto json = nlohmann::json::parse(report(tally, code));
  EXPECT_EQ(code, kFailed);
  EXPECT_EQ(json["failures"][0]["command"], command);
  EXPECT_EQ(json["failed"], tally.failed);
}

TEST_F(VerifyCases, TheReplayedCaseIsTheOneThatFailed) {
  const VerifyTally all = verify_cases(runtime_, options_, wrong_gemm);
  ASSERT_FALSE(all.failures.empty());
  options_.only = all.failures.front().index;
  const VerifyTally one = verify_cases(runtime_, options_, wrong_gemm);
  ASSERT_FALSE(one.failures.empty());
  EXPECT_EQ(one.cases, 1);
  EXPECT_EQ(one.failures.front().description, all.failures.front().description);
  EXPECT_EQ(one.failures.front().report.detail, all.failures.front().report.detail);
  EXPECT_EQ(verify_cases(runtime_, options_).failed, 0);
}

TEST_F(VerifyCases, NothingButRefusalsIsNoSuccess) {
  VerifyTally tally;
  tally.cases = tally.refused = 3;
  int code = 0;
  report(tally, code);
  EXPECT_EQ(code, kUnsupported);
  tally.passed = 1;
  report(tally, code);
  EXPECT_EQ(code, kDone);
}

}  // namespace
}  // namespace girih::testing
