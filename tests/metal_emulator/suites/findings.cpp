#include <gtest/gtest.h>

#include "device/control.hpp"

// Every test of this program also fails if the emulator found a broken rule, on the host's side or
// in a kernel.

namespace girih::inline v0::emulator {
namespace {

class Findings final : public ::testing::EmptyTestEventListener {
  void OnTestEnd(const ::testing::TestInfo&) override {
    for (const std::string& finding : take_findings()) ADD_FAILURE() << finding;
  }
};

const bool is_installed = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new Findings);
  return true;
}();

}  // namespace
}  // namespace girih::inline v0::emulator
