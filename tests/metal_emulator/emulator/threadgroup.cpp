#include "emulator/threadgroup.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "emulator/execution.hpp"

namespace girih::inline v0::emulator {
namespace {

Meeting& meeting_of(Scope scope, const Lane& lane) noexcept {
  Execution& run = execution();
  return scope == Scope::Threadgroup ? run.group : run.simd_groups[lane.ids.simd_group];
}

bool same_site(const Site& a, const Site& b) noexcept {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0) &&
         (a.what == b.what || std::strcmp(a.what, b.what) == 0);
}

[[noreturn]] void fail_apart(const Site& a, const Site& b) {
  fail("divergence",
       [&] { return "lanes of one scope are at " + describe(a) + " and at " + describe(b); });
}

/// Lanes of the SIMD group that take part have passed the same sites, and begin anew.
void end_trail(Meeting& group, const Site& site) {
  Execution& run = execution();
  const auto end = group.trail_begin + static_cast<std::uint32_t>(group.trail.size());
  for (unsigned i = 0; i < group.payloads.size(); ++i) {
    const Lane& lane = run.lanes[group.first + i];
    if (lane.state == LaneState::Done || lane.passed == end) continue;
    fail_apart(group.trail[lane.passed - group.trail_begin], site);
  }
  group.trail_begin = end;
  group.trail.clear();
}
void end_trails(Scope scope, const Meeting& meeting, const Site& site) {
  if (scope == Scope::Simd) {
    end_trail(execution().simd_groups[meeting.first / kSimdWidth], site);
  } else {
    for (Meeting& group : execution().simd_groups) end_trail(group, site);
  }
}

void release(Meeting& meeting) noexcept {
  Execution& run = execution();
  for (unsigned i = 0; i < meeting.payloads.size(); ++i) {
    Lane& lane = run.lanes[meeting.first + i];
    if (lane.state == LaneState::Waiting) lane.state = LaneState::Ready;
    meeting.payloads[i] = nullptr;
  }
  meeting.arrived = 0;
}

void meet(Scope scope, const Site& site, void* payload, Leader leader, bool is_barrier) {
  static char present;  // stands for a payload that is null
  Lane& lane = *execution().lane;
  Meeting& meeting = meeting_of(scope, lane);
  ++statistics().rendezvous;
  if (is_barrier && meeting.alive != meeting.payloads.size()) {
    fail("divergence",
         [&] { return describe(site) + " is reached after lanes of the scope have returned"; });
  }
  if (meeting.arrived > 0 && !same_site(meeting.site, site)) {
    fail_apart(meeting.site, site);
  }
  meeting.site = site;
  meeting.is_barrier = is_barrier;
  meeting.payloads[lane.ids.linear - meeting.first] = payload != nullptr ? payload : &present;
  if (++meeting.arrived == meeting.alive) {
    end_trails(scope, meeting, site);
    if (leader != nullptr) {
      leader(meeting.payloads.data(), static_cast<unsigned>(meeting.payloads.size()));
    }
    release(meeting);
    return;
  }
  lane.waiting_at = site;
  lane.state = LaneState::Waiting;
  ++statistics().switches;
  lane.fiber.yield();
}

std::string position(const LaneIds& lane) {
  const Dim3& group = lane.threadgroup;
  return "threadgroup (" + std::to_string(group.x) + ", " + std::to_string(group.y) + ", " +
         std::to_string(group.z) + "), simdgroup " + std::to_string(lane.simd_group) + ", lane " +
         std::to_string(lane.simd_lane);
}

}  // namespace

LaneIds ids() noexcept {
  return execution().lane->ids;
}

unsigned simd_lane() noexcept {
  return execution().lane->ids.simd_lane;
}

unsigned linear_lane() noexcept {
  return execution().lane->ids.linear;
}

unsigned simd_groups() noexcept {
  return execution().lane->ids.simd_groups;
}

void rendezvous(Scope scope, const Site& site, void* payload, Leader leader) {
  meet(scope, site, payload, leader, false);
}

void pass(const Site& site) {
  Execution& run = execution();
  Lane& lane = *run.lane;
  Meeting& group = run.simd_groups[lane.ids.simd_group];
  const std::size_t at = lane.passed++ - group.trail_begin;
  if (at == group.trail.size()) {
    group.trail.push_back(site);
  } else if (!same_site(group.trail[at], site)) {
    fail_apart(group.trail[at], site);
  }
}

void barrier(Scope scope, const Site& site, unsigned flags) {
  meet(scope, site, nullptr, nullptr, true);
  Lane& lane = *execution().lane;
  const bool whole = scope == Scope::Threadgroup;
  if ((flags & kThreadgroupMemory) != 0) {
    ++(whole ? lane.place.group_barriers : lane.place.simd_barriers);
  }
  if ((flags & kDeviceMemory) != 0) {
    ++(whole ? lane.device_place.group_barriers : lane.device_place.simd_barriers);
  }
}

void* threadgroup_array(const Site& site, std::size_t bytes) {
  constexpr std::size_t kGap = 64;  // between arrays, so that an overrun meets nothing
  Execution& run = execution();
  const unsigned index = run.lane->arrays++;
  if (index < run.arrays.size()) {
    const ThreadgroupArray& array = run.arrays[index];
    if (!same_site(array.site, site) || array.bytes != bytes) {
      fail("divergence", [&] {
        return "lanes declare different threadgroup arrays: " + describe(array.site) + " and " +
               describe(site);
      });
    }
    return array.data;
  }
  const std::size_t used = run.array_bytes - kGap * run.arrays.size();
  if (used + bytes > config().threadgroup_memory || run.array_bytes + bytes > kArenaBytes) {
    fail("limits", [&] {
      return std::to_string(used + bytes) + " bytes of threadgroup memory, the device has " +
             std::to_string(config().threadgroup_memory) + ", " + describe(site);
    });
  }
  // Shadows are kept from one threadgroup to the next: what they hold is told apart by its number.
  static std::map<std::size_t, Shadow> shadows;
  Shadow& shadow = shadows.try_emplace(run.array_bytes, kArenaBytes).first->second;
  std::byte* const data = the_arenas.threadgroup + run.array_bytes;
  run.arrays.push_back({site, data, bytes, &shadow});
  run.array_bytes += (bytes + 15) / 16 * 16 + kGap;
  std::memset(data, 0xFF, bytes);
  return data;
}

void note_read(const void* address, std::size_t bytes, const Site& site) {
  if (config().checks_accesses && !is_lane_stack(address))
    check_access(address, bytes, false, false, site);
}

void note_write(const void* address, std::size_t bytes, const Site& site) {
  if (config().checks_accesses && !is_lane_stack(address))
    check_access(address, bytes, true, false, site);
}

void note_atomic(const void* address, std::size_t bytes, bool is_write, const Site& site) {
  if (config().checks_accesses && !is_lane_stack(address))
    check_access(address, bytes, is_write, true, site);
}

void note_finding(const char* kind, const std::string& text) {
  Execution& run = execution();
  if (run.lane == nullptr) throw Finding{kind, text};
  if (run.finding) return;
  run.finding = Finding{kind, std::string("kernel ") + run.kernel->name + ": " + text + " [" +
                                  position(run.lane->ids) + "]"};
}

void leave_dispatch() {
  for (;;) {
    execution().lane->state = LaneState::Done;
    execution().lane->fiber.yield();
  }
}

void fail_at(const char* kind, const char* text, const Site& site) {
  fail(kind, [&] { return std::string(text) + ", " + describe(site); });
}

void fail_at(const char* kind, const char* text, int a, int b, const Site& site) {
  fail(kind, [&] {
    return std::string(text) + ": " + std::to_string(a) + " and " + std::to_string(b) + ", " +
           describe(site);
  });
}

void fail_binding(const char* what, unsigned index) {
  fail("binding", [&] {
    return std::string("nothing is bound to ") + what + "(" + std::to_string(index) + ")";
  });
}

}  // namespace girih::inline v0::emulator
