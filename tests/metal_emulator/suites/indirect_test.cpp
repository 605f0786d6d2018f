#include <gtest/gtest.h>

#include "suites/raw_device.hpp"

// Indirect command buffers of the emulated device. The backend replays argument tables instead, so
// the messages are sent here alone.

namespace girih::inline v0::metal {
namespace {

const Method<id, id, UInt, UInt> new_commands{
    "MTLDevice", "newIndirectCommandBufferWithDescriptor:maxCommandCount:options:"};
const Method<void, UInt> set_types{"MTLIndirectCommandBufferDescriptor", "setCommandTypes:"};
const Method<void, bool> set_inherit{"MTLIndirectCommandBufferDescriptor", "setInheritBuffers:"};
const Method<id, UInt> command_at{"MTLIndirectCommandBuffer", "indirectComputeCommandAtIndex:"};
const Method<void, id> set_pipeline{"MTLIndirectComputeCommand", "setComputePipelineState:"};
const Method<void, id, UInt, UInt> set_buffer{"MTLIndirectComputeCommand",
                                              "setKernelBuffer:offset:atIndex:"};
const Method<void> set_barrier{"MTLIndirectComputeCommand", "setBarrier"};
const Method<void, Size, Size> set_dispatch{
    "MTLIndirectComputeCommand", "concurrentDispatchThreadgroups:threadsPerThreadgroup:"};
const Method<void, id, Range> execute{"MTL4ComputeCommandEncoder",
                                      "executeCommandsInBuffer:withRange:"};

constexpr UInt kConcurrentDispatch = 1UL << 5;

class IndirectMisuse : public RawDevice {
 protected:
  IndirectMisuse() {
    const Ref descriptor = make("MTLIndirectCommandBufferDescriptor");
    set_types(descriptor.get(), kConcurrentDispatch);
    set_inherit(descriptor.get(), false);
    indirect_ = Ref(new_commands(device_.get(), descriptor.get(), 2, 0));
    residency_set::add(set_.get(), indirect_.get());
    residency_set::commit(set_.get());
  }
  void fill_in(UInt index, id pipeline, const Ref& from, const Ref& to) {
    const id command = command_at(indirect_.get(), index);
    set_pipeline(command, pipeline);
    set_buffer(command, from.get(), 0, 0);
    set_buffer(command, to.get(), 0, 1);
    set_buffer(command, constants_.get(), 0, 2);
    set_dispatch(command, Size{1, 1, 1}, Size{32, 1, 1});
  }
  void run(Range range) {
    begin();
    execute(encoder_.get(), indirect_.get(), range);
    commit();
    finish();
  }
  Ref indirect_;
};

TEST_F(IndirectMisuse, IndirectCommandsRun) {
  const Ref pipeline = make_pipeline("nibble_walk", true);
  const Ref last(device::new_buffer(device_.get(), kElements / 2, kStorageShared));
  residency_set::add(set_.get(), last.get());
  residency_set::commit(set_.get());
  static_cast<std::uint8_t*>(buffer::contents(source_.get()))[3] = 0x47;
  fill_in(0, pipeline.get(), source_, destination_);
  fill_in(1, pipeline.get(), destination_, last);
  set_barrier(command_at(indirect_.get(), 1));
  run({0, 2});
  EXPECT_EQ(all_found(), std::vector<std::string>{});
  EXPECT_EQ(static_cast<std::uint8_t*>(buffer::contents(last.get()))[3], 0x47);
}

TEST_F(IndirectMisuse, IndirectCommandsWithoutABarrierAreNotOrdered) {
  const Ref pipeline = make_pipeline("nibble_walk", true);
  fill_in(0, pipeline.get(), source_, destination_);
  fill_in(1, pipeline.get(), source_, destination_);
  run({0, 2});
  EXPECT_TRUE(found("hazard"));
}

TEST_F(IndirectMisuse, IndirectCommandBuffersHaveRules) {
  fill_in(0, pipeline_.get(), source_, destination_);
  EXPECT_TRUE(found("not made for indirect"));
  EXPECT_EQ(command_at(indirect_.get(), 2), nullptr);
  EXPECT_TRUE(found("command 2 of"));
  begin();
  execute(encoder_.get(), indirect_.get(), Range{1, 2});
  EXPECT_TRUE(found("range past"));
  commit();
  finish();
  residency_set::remove(set_.get(), indirect_.get());
  residency_set::commit(set_.get());
  run({0, 1});
  EXPECT_TRUE(found("indirect command buffer is in no residency set"));
}

}  // namespace
}  // namespace girih::inline v0::metal
