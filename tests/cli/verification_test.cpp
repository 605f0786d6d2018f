#include <gtest/gtest.h>

#include "girih/gemm_report.hpp"
#include "unit/io/scratch.hpp"

namespace girih::testing {
namespace {

using namespace cli;

class Verification : public Scratch {
 protected:
  Verification() {
    const std::vector<float> a{1, 2, 3, 4, 5, 6};
    const std::vector<float> b{1, -1, 2, -2, 3, -3};
    EXPECT_TRUE(write_npy(path("a.npy"), view_of(DType::F32, {2, 3}, a)));
    EXPECT_TRUE(write_npy(path("b.npy"), view_of(DType::F32, {3, 2}, b)));
    options_.a = OperandFile{path("a.npy"), {}, false};
    options_.b = OperandFile{path("b.npy"), {}, false};
    options_.out = OperandFile{path("c.npy"), {}, false};
    options_.verify = true;
  }

  /// The outcome of the product with `fault` applied to its bytes, compared and concluded.
  Result<int> conclude_with(const std::function<void(std::vector<std::byte>&)>& fault) {
    const auto inputs = load_inputs(options_);
    if (!inputs) return inputs.error();
    Progress progress;
    auto outcome = run_gemm(options_, *inputs, progress);
    if (!outcome) return outcome.error();
    EXPECT_TRUE(outcome->comparison->passed());
    fault(outcome->result.bytes);
    outcome->comparison = compare_with_reference(*inputs, *outcome);
    return conclude(options_, *outcome, progress);
  }

  GemmOptions options_;
};

TEST_F(Verification, PassesWhatIsRight) {
  const auto code = conclude_with([](auto&) {});
  ASSERT_TRUE(code) << code.error().message;
  EXPECT_EQ(*code, 0);
  const auto result = read_npy(path("c.npy"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(bytes_of(*result), bytes_of(std::vector<float>{14, -14, 32, -32}));
}

TEST_F(Verification, OneWrongElementFailsItAndWritesNothing) {
  const auto code = conclude_with([](std::vector<std::byte>& bytes) {
    bytes[5] ^= std::byte{1};  // element 1, by 2^-12 of its value
  });
  ASSERT_FALSE(code);
  expect_error(code.error(), Code::DeviceFailed, "verification failed", "[0, 1]");
  EXPECT_EQ(files(), (std::vector<std::string>{"a.npy", "b.npy"}));
}

TEST_F(Verification, AFailureKeepsTheOldOutput) {
  write("c.npy", "old");
  const auto code = conclude_with([](std::vector<std::byte>& bytes) {
    bytes[3] = std::byte{0x7F};  // NaN
    bytes[2] = std::byte{0xC0};
  });
  ASSERT_FALSE(code);
  EXPECT_EQ(read("c.npy"), "old");
}

}  // namespace
}  // namespace girih::testing
