#include "backends/metal/self_check.hpp"

#include <gtest/gtest.h>
#include <set>
#include <string>

#include <girih/girih.hpp>

#include "device/control.hpp"
#include "support/expect.hpp"

// The check of the binding against a run time that lacks a method, or has another one.

namespace girih::testing {
namespace {

struct Row {
  std::string owner, selector;
};
const Row kRows[] = {
#define GIRIH_METAL_METHOD(space, name, owner, selector, ...) {owner, selector},
#include "backends/metal/methods.inc"
#undef GIRIH_METAL_METHOD
};

/// Objects that the check does not have, and what it needs itself to get that far.
bool is_asked_for(const Row& row) {
  static const std::set<std::string> later = {
      "MTLComputePipelineState",      "MTL4CommitFeedback", "MTLLibrary",
      "MTLComputePipelineReflection", "MTLBinding",         "MTLBufferBinding"};
  static const std::set<std::string> before = {
      "alloc", "init", "retain", "release", "respondsToSelector:", "supportsFamily:"};
  return !later.contains(row.owner) && !before.contains(row.selector);
}

Status open() {
  const Result<Runtime> runtime = Runtime::open({.backend = Backend::Metal});
  return runtime ? Status{} : runtime.error();
}

TEST(MetalSelfCheck, EveryMethodThatIsMissingIsNamed) {
  int asked = 0;
  for (const Row& row : kRows) {
    if (!is_asked_for(row)) continue;
    // Fake objects have themselves what their parents declare.
    const std::string owner = row.owner == "MTL4CommandEncoder" ? "MTL4ComputeCommandEncoder"
                              : row.owner == "MTL4PipelineDescriptor"
                                  ? "MTL4ComputePipelineDescriptor"
                                  : row.owner;
    emulator::forget_method(owner, row.selector, true);
    EXPECT_TRUE(refused(open(), Code::BackendUnavailable, row.selector)) << row.owner;
    emulator::forget_method(owner, row.selector, false);
    ++asked;
  }
  EXPECT_GT(asked, 50);
  EXPECT_TRUE(succeeded(open()));
}

TEST(MetalSelfCheck, AMethodThatTakesSomethingElseIsNamed) {
  const auto expect_refused = [](const char* owner, const char* selector, const char* encoding) {
    const std::string before = emulator::exchange_encoding(owner, selector, encoding);
    EXPECT_TRUE(refused(open(), Code::BackendUnavailable, selector)) << encoding;
    emulator::exchange_encoding(owner, selector, before);
  };
  expect_refused("MTL4CommandQueue", "signalEvent:value:", "v28@0:8@16I24");
  expect_refused("MTL4CommandQueue", "signalEvent:value:", "v24@0:8@16");
  expect_refused("MTL4CommandQueue", "signalEvent:value:", "B32@0:8@16Q24");
  expect_refused("MTL4ComputeCommandEncoder", "dispatchThreadgroups:threadsPerThreadgroup:",
                 "v48@0:8{_NSRange=QQ}16{_NSRange=QQ}32");
  // The same in the run time's own words.
  for (const char* const encoding : {"v32@0:8@16Q24", "Vv32@0:8r^{Event=qq}16Q24", "v@:@\?Q"}) {
    const std::string before =
        emulator::exchange_encoding("MTL4CommandQueue", "signalEvent:value:", encoding);
    EXPECT_TRUE(succeeded(open())) << encoding;
    emulator::exchange_encoding("MTL4CommandQueue", "signalEvent:value:", before);
  }
}

}  // namespace
}  // namespace girih::testing
