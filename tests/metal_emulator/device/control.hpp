#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

// What a test may ask of, and do to, the Metal 4 device of this program. There is one, and
// MTLCreateSystemDefaultDevice returns it.

namespace girih::inline v0::emulator {

struct DeviceProperties {
  bool is_there = true;
  bool has_metal4 = true;
  std::string name = "Emulated M5";
  std::string architecture = "applegpu_g17s";
  std::uint64_t working_set = std::uint64_t{4} << 30;
  unsigned long longest_buffer = 1UL << 31;
};
DeviceProperties& device_properties() noexcept;

/// Rules broken since the last call: misuse of the API ("api: ...") and what kernels did.
std::vector<std::string> take_findings();
/// Objects that the host has not released, by class.
std::map<std::string, int> live_objects();

/// The library of this name fails to compile with `text`; "" lets it compile again.
void fail_library(const std::string& name, const std::string& text);
/// No pipeline is made of functions whose name begins so, for the reason `text`; "" ends it.
void fail_pipelines(const std::string& prefix, const std::string& text);
/// The next command buffer fails with a code of MTL4CommandQueueError, and does nothing.
void fail_next_commit(long code, const std::string& text);
/// When a command buffer's feedback comes.
enum class FeedbackTime : std::uint8_t {
  BeforeEvents,  ///< of those that are signalled behind it
  Late,          ///< a while after them, on a thread of its own
  Never,
};
/// Waits for feedback that is under way.
void set_feedback_time(FeedbackTime time);
/// The run time does not know a method any more, or knows it again.
void forget_method(const std::string& owner, const std::string& selector, bool is_forgotten);
/// What a method is said to take and give; returns what it was said before.
std::string exchange_encoding(const std::string& owner, const std::string& selector,
                              const std::string& encoding);
/// Barriers that encoders were given so far; those that come do nothing if `ignores_barriers`.
int encoded_barriers() noexcept;
void ignore_barriers(bool ignores_barriers) noexcept;
/// Allocations that were added to residency sets or removed, and commits of them, so far.
int residency_changes() noexcept;
/// Command buffers that were committed so far; those that come do nothing if `skips_work`, and
/// succeed.
int commits() noexcept;
void skip_work(bool skips_work) noexcept;
/// Work is never done: whoever waits runs out of patience.
void stall(bool is_stalled) noexcept;

}  // namespace girih::inline v0::emulator
