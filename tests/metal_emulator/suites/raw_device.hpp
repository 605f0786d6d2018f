#pragma once

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "backends/metal/metal4.hpp"
#include "device/control.hpp"
#include "emulator/kernel.hpp"

namespace girih::inline v0::metal {

constexpr std::uint64_t kElements = 64;

/// A queue and what one kernel of the backend needs; each step can be left out by a test.
class RawDevice : public ::testing::Test {
 protected:
  RawDevice() {
    id failure = nullptr;
    const Ref set_descriptor = make("MTLResidencySetDescriptor");
    set_ = Ref(device::new_residency_set(device_.get(), set_descriptor.get(), &failure));
    queue::add_residency_set(queue_.get(), set_.get());
    const Ref table_descriptor = make("MTL4ArgumentTableDescriptor");
    argument_table_descriptor::set_most_buffers(table_descriptor.get(), 3);
    table_ = Ref(device::new_argument_table(device_.get(), table_descriptor.get(), &failure));
    pipeline_ = make_pipeline("nibble_walk");
    for (const Ref* buffer : {&source_, &destination_, &constants_}) {
      residency_set::add(set_.get(), buffer->get());
    }
    residency_set::commit(set_.get());
    auto* const words = static_cast<std::uint32_t*>(buffer::contents(constants_.get()));
    words[0] = kElements;  // NibbleParams: count, is_fill, pattern
    words[1] = words[2] = words[3] = 0;
    bind(source_, destination_);
  }
  ~RawDevice() override {
    finish();
    (void)emulator::take_findings();
  }

  Ref make_pipeline(const char* name, bool is_indirect = false) {
    id failure = nullptr;
    const Ref compiler_descriptor = make("MTL4CompilerDescriptor");
    const Ref compiler(device::new_compiler(device_.get(), compiler_descriptor.get(), &failure));
    const Ref options = make("MTLCompileOptions");
    compile_options::set_language_version(options.get(), kLanguageMsl4);
    const Ref text = make("MTL4LibraryDescriptor");
    const emulator::Library* const library = emulator::find_library_named("elementwise");
    library_descriptor::set_source(text.get(), to_string(library->text));
    library_descriptor::set_options(text.get(), options.get());
    const Ref compiled(compiler::new_library(compiler.get(), text.get(), &failure));
    const Ref function = make("MTL4LibraryFunctionDescriptor");
    function_descriptor::set_library(function.get(), compiled.get());
    function_descriptor::set_name(function.get(), to_string(name));
    const Ref descriptor = make("MTL4ComputePipelineDescriptor");
    pipeline_descriptor::set_function(descriptor.get(), function.get());
    const Method<void, Int> set_indirect{"MTL4ComputePipelineDescriptor",
                                         "setSupportIndirectCommandBuffers:"};
    set_indirect(descriptor.get(), is_indirect ? 1 : 0);
    return Ref(compiler::new_pipeline(compiler.get(), descriptor.get(), nullptr, &failure));
  }
  void bind(const Ref& from, const Ref& to) {
    argument_table::set_address(table_.get(), buffer::gpu_address(from.get()), 0);
    argument_table::set_address(table_.get(), buffer::gpu_address(to.get()), 1);
    argument_table::set_address(table_.get(), buffer::gpu_address(constants_.get()), 2);
  }
  void begin() {
    allocator::reset(allocator_.get());
    command_buffer::begin(commands_.get(), allocator_.get());
    encoder_ = Ref::retained(command_buffer::compute_encoder(commands_.get()));
    encoder::queue_barrier(encoder_.get(), kStages, kStages, kVisibleToDevice);
  }
  void dispatch() {
    encoder::set_table(encoder_.get(), table_.get());
    encoder::set_pipeline(encoder_.get(), pipeline_.get());
    encoder::dispatch(encoder_.get(), Size{1, 1, 1}, Size{32, 1, 1});
  }
  void commit() {
    encoder::end(encoder_.get());
    encoder_ = Ref();
    command_buffer::end(commands_.get());
    const id commands[] = {commands_.get()};
    queue::commit(queue_.get(), commands, 1, nullptr);
  }
  void finish() {
    queue::signal(queue_.get(), event_.get(), ++value_);
    (void)event::wait(event_.get(), value_, 1000);
  }
  static ::testing::AssertionResult found(const std::string& words) {
    const std::vector<std::string> findings = emulator::take_findings();
    std::string all;
    for (const std::string& finding : findings) {
      if (finding.find(words) != std::string::npos) return ::testing::AssertionSuccess();
      all += finding + "\n";
    }
    return ::testing::AssertionFailure() << "not found: " << words << "\n" << all;
  }
  static std::vector<std::string> all_found() { return emulator::take_findings(); }

  const Pool pool_;
  Ref device_{MTLCreateSystemDefaultDevice()};
  Ref queue_{device::new_queue(device_.get())};
  Ref allocator_{device::new_allocator(device_.get())};
  Ref commands_{device::new_command_buffer(device_.get())};
  Ref event_{device::new_shared_event(device_.get())};
  Ref source_{device::new_buffer(device_.get(), kElements / 2, kStorageShared)};
  Ref destination_{device::new_buffer(device_.get(), kElements / 2, kStorageShared)};
  Ref constants_{device::new_buffer(device_.get(), 64, kStorageShared)};
  Ref set_, table_, pipeline_, encoder_;
  std::uint64_t value_ = 0;
};

}  // namespace girih::inline v0::metal
