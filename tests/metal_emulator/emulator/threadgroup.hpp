#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "emulator/launch.hpp"

// What the shim's functions are made of: a lane's place, meeting points, threadgroup memory.

namespace girih::inline v0::emulator {

enum class Scope : std::uint8_t { Simd, Threadgroup };
enum MemoryFlags : unsigned { kNoMemory = 0, kDeviceMemory = 1, kThreadgroupMemory = 2 };

/// Of the lane that is running.
LaneIds ids() noexcept;
unsigned simd_lane() noexcept;
unsigned linear_lane() noexcept;
unsigned simd_groups() noexcept;

/// Called by the last lane to arrive: `payloads` has one pointer a lane of the scope, null for a
/// lane that has returned.
using Leader = void (*)(void** payloads, unsigned count);

/// All live lanes of the scope must come to the same site; the last one runs `leader`.
void rendezvous(Scope scope, const Site& site, void* payload, Leader leader);
/// For a function of a SIMD group whose effect on a lane needs no other lane: nobody waits, and
/// that all came to the same sites in the same order is seen when they meet next, or return.
void pass(const Site& site);
/// The same as `rendezvous` for a barrier, which no lane may have missed; it orders memory as
/// `flags` say.
void barrier(Scope scope, const Site& site, unsigned flags);

/// An array declared in a kernel's body: all lanes declare the same ones in the same order.
void* threadgroup_array(const Site& site, std::size_t bytes);

/// An access by the running lane that the compiler did not instrument.
void note_read(const void* address, std::size_t bytes, const Site& site);
void note_write(const void* address, std::size_t bytes, const Site& site);
void note_atomic(const void* address, std::size_t bytes, bool is_write, const Site& site);

/// Keeps the dispatch's first finding, which names kernel, threadgroup, SIMD group and lane.
void note_finding(const char* kind, const std::string& text);
/// Ends the running lane where it is.
[[noreturn]] void leave_dispatch();
/// Ends the dispatch with a finding whose text `say()` gives. A lane's stack is left as it is: what
/// owns memory must be gone from it by then, so texts are made inside `say`.
template <class Say>
[[noreturn]] void fail(const char* kind, const Say& say) {
  note_finding(kind, say());
  leave_dispatch();
}

/// For code whose accesses are checked, which may build no text: "TEXT, SITE" or "TEXT: A and B,
/// SITE".
[[noreturn]] void fail_at(const char* kind, const char* text, const Site& site);
[[noreturn]] void fail_at(const char* kind, const char* text, int a, int b, const Site& site);

/// Element of slot `slot` of `lane` in a cooperative tensor of `elements` over `lanes` lanes with
/// `capacity` slots each; -1 for an invalid slot. Each element has one slot.
int cooperative_element(unsigned elements, unsigned lanes, unsigned capacity, unsigned lane,
                        unsigned slot);

/// Memory for the arithmetic of a leader, valid until the next call with the same `which` (0..2).
void* leader_memory(unsigned which, std::size_t bytes);
/// c[m][n] += sum_k a[m][k] b[k][n], row-major, in f32 over k = 0, 1, ... or in i32.
void multiply(const float* a, const float* b, float* c, int m, int n, int k) noexcept;
void multiply(const std::int32_t* a, const std::int32_t* b, std::int32_t* c, int m, int n,
              int k) noexcept;

}  // namespace girih::inline v0::emulator
