#include <gtest/gtest.h>

#include "suites/raw_device.hpp"

// What the emulated device says to a host that breaks Metal 4's rules. The messages are sent
// through the backend's own binding.

namespace girih::inline v0::metal {
namespace {

class Misuse : public RawDevice {};

TEST_F(Misuse, RightUseIsNotReported) {
  begin();
  dispatch();
  encoder::barrier(encoder_.get(), kStages, kStages, kVisibleToDevice);
  dispatch();
  commit();
  finish();
  begin();
  dispatch();
  commit();
  finish();
  EXPECT_EQ(all_found(), std::vector<std::string>{});
}

TEST_F(Misuse, TwoDispatchesNeedABarrierBetweenThem) {
  begin();
  dispatch();
  dispatch();
  commit();
  finish();
  EXPECT_TRUE(found("hazard"));
}

TEST_F(Misuse, ABarrierWithoutVisibilityOrdersNoMemory) {
  begin();
  dispatch();
  encoder::barrier(encoder_.get(), kStages, kStages, 0);
  dispatch();
  commit();
  finish();
  EXPECT_TRUE(found("hazard"));
}

TEST_F(Misuse, BuffersMustBeResidentWhenTheWorkIsCommitted) {
  residency_set::remove(set_.get(), source_.get());
  residency_set::commit(set_.get());
  begin();
  dispatch();
  commit();
  residency_set::add(set_.get(), source_.get());
  residency_set::commit(set_.get());  // too late
  finish();
  EXPECT_TRUE(found("residency"));
}

TEST_F(Misuse, AnAllocatorInFlightIsNotReset) {
  begin();
  dispatch();
  commit();
  allocator::reset(allocator_.get());
  EXPECT_TRUE(found("reset while the GPU"));
}

TEST_F(Misuse, ACommandBufferIsEndedBeforeItIsCommitted) {
  begin();
  const id commands[] = {commands_.get()};
  queue::commit(queue_.get(), commands, 1, nullptr);
  EXPECT_TRUE(found("not ended"));
  command_buffer::end(commands_.get());
  EXPECT_TRUE(found("open encoder"));
}

TEST_F(Misuse, ADispatchNeedsAPipelineAndATable) {
  begin();
  encoder::dispatch(encoder_.get(), Size{1, 1, 1}, Size{32, 1, 1});
  EXPECT_TRUE(found("without a pipeline"));
  encoder::set_pipeline(encoder_.get(), pipeline_.get());
  encoder::dispatch(encoder_.get(), Size{1, 1, 1}, Size{32, 1, 1});
  EXPECT_TRUE(found("without an argument table"));
  encoder::end(encoder_.get());
  encoder::dispatch(encoder_.get(), Size{1, 1, 1}, Size{32, 1, 1});
  EXPECT_TRUE(found("after endEncoding"));
}

TEST_F(Misuse, AFillCountsInWords) {
  begin();
  encoder::fill(encoder_.get(), destination_.get(), Range{0, 6}, 0);
  EXPECT_TRUE(found("6 bytes from 0 on: both must be multiples of 4"));
  encoder::fill(encoder_.get(), destination_.get(), Range{2, 4}, 0);
  EXPECT_TRUE(found("4 bytes from 2 on"));
  encoder::fill(encoder_.get(), destination_.get(), Range{4, 8}, 0);
  EXPECT_EQ(all_found(), std::vector<std::string>{});
  commit();
}

TEST_F(Misuse, ATableHasTheRoomThatWasAskedFor) {
  argument_table::set_address(table_.get(), 0, 3);
  EXPECT_TRUE(found("index 3 of 3"));
}

TEST_F(Misuse, AHostAddressIsNoAddressOfTheGpu) {
  argument_table::set_address(table_.get(),
                              reinterpret_cast<std::uint64_t>(buffer::contents(source_.get())), 0);
  begin();
  dispatch();
  commit();
  finish();
  EXPECT_TRUE(found("in no buffer"));
}

TEST_F(Misuse, CommandBuffersKeepNothingAlive) {
  begin();
  dispatch();
  commit();
  residency_set::remove(set_.get(), source_.get());
  source_ = Ref();
  finish();
  EXPECT_TRUE(found("in no buffer"));
}

TEST_F(Misuse, NothingRunsUntilSomebodyWaits) {
  auto* const bytes = static_cast<std::uint8_t*>(buffer::contents(destination_.get()));
  static_cast<std::uint8_t*>(buffer::contents(source_.get()))[0] = 0x21;
  begin();
  dispatch();
  commit();
  EXPECT_EQ(bytes[0], 0xFF);  // a host that forgot to wait reads this
  finish();
  EXPECT_EQ(bytes[0], 0x21);
}

TEST_F(Misuse, ReleasedObjectsAnswerNothing) {
  const id table = table_.get();
  object::retain(table);
  object::release(table);
  table_ = Ref();
  argument_table::set_address(table, 0, 0);
  EXPECT_TRUE(found("to a released MTL4ArgumentTable"));
  object::release(table);
  EXPECT_TRUE(found("to a released MTL4ArgumentTable"));
}

TEST_F(Misuse, UnknownMessagesAreReported) {
  const Method<void> unknown{"MTLDevice", "makeItFaster"};
  unknown(device_.get());
  EXPECT_TRUE(found("makeItFaster"));
}

}  // namespace
}  // namespace girih::inline v0::metal
