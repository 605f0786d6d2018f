#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <random>
#include <sys/mman.h>

#include "emulator/execution.hpp"
#include "emulator/memory.hpp"
#include "emulator/threadgroup.hpp"

namespace girih::inline v0::emulator {
namespace {

std::byte* map_memory(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

Dim3 position_of(unsigned index, const Dim3& extents) noexcept {
  return {index % extents.x, index / extents.x % extents.y, index / extents.x / extents.y};
}

void require_threads(const Kernel& kernel, const Dim3& threads) {
  const std::uint64_t count = threads.count();
  if (count == 0 || count > kernel.max_threads) {
    throw Finding{"limits", std::string("kernel ") + kernel.name + ": " + std::to_string(count) +
                                " threads a threadgroup, the pipeline allows 1.." +
                                std::to_string(kernel.max_threads)};
  }
}

/// Lanes, meetings and threadgroup arguments of the threadgroup at `position`.
void set_up(const Dim3& position, const Dim3& groups, const Dim3& threads, Arguments& arguments) {
  Execution& run = execution();
  run.arrays.clear();
  run.array_bytes = 0;
  const unsigned count = run.lane_count;
  const unsigned simd_groups = (count + kSimdWidth - 1) / kSimdWidth;
  run.group.first = 0;
  run.group.alive = count;
  run.group.arrived = 0;
  run.group.payloads.assign(count, nullptr);
  run.simd_groups.resize(simd_groups);
  for (unsigned i = 0; i < simd_groups; ++i) {
    Meeting& meeting = run.simd_groups[i];
    meeting.first = i * kSimdWidth;
    meeting.alive = std::min(kSimdWidth, count - meeting.first);
    meeting.arrived = 0;
    meeting.payloads.assign(meeting.alive, nullptr);
    meeting.trail.clear();
    meeting.trail_begin = 0;
  }
  for (unsigned i = 0; i < count; ++i) {
    Lane& lane = run.lanes[i];
    const Dim3 thread = position_of(i, threads);
    lane.fiber.prepare(&run_lane);
    lane.state = LaneState::Ready;
    lane.place = {};
    lane.place.simd_group = run.threadgroup + i / kSimdWidth;
    lane.place.lane = i % kSimdWidth;
    lane.device_place = lane.place;
    lane.arrays = 0;
    lane.passed = 0;
    lane.products = 0;
    lane.ids = {
        .thread = thread,
        .threadgroup = position,
        .thread_in_grid = {position.x * threads.x + thread.x, position.y * threads.y + thread.y,
                           position.z * threads.z + thread.z},
        .threads_per_threadgroup = threads,
        .threadgroups_per_grid = groups,
        .threads_per_grid = {groups.x * threads.x, groups.y * threads.y, groups.z * threads.z},
        .linear = i,
        .simd_lane = i % kSimdWidth,
        .simd_group = i / kSimdWidth,
        .simd_groups = simd_groups};
  }
  for (unsigned i = 0; i < kMaxBuffers; ++i) {
    if (arguments.threadgroup_bytes[i] == 0) continue;
    run.lane = &run.lanes[0];
    arguments.threadgroup[i] =
        threadgroup_array({"threadgroup argument", "", i}, arguments.threadgroup_bytes[i]);
    run.lane = nullptr;
  }
  for (Lane& lane : run.lanes) lane.arrays = static_cast<unsigned>(run.arrays.size());
}

/// "no lane can run: 96 wait at threadgroup_barrier, softmax.metal:31"
Finding deadlock() {
  const Execution& run = execution();
  std::map<std::string, int> places;
  for (unsigned i = 0; i < run.lane_count; ++i) {
    if (run.lanes[i].state == LaneState::Waiting) ++places[describe(run.lanes[i].waiting_at)];
  }
  std::string text = std::string("kernel ") + run.kernel->name + ": no lane can run";
  const char* separator = ": ";
  for (const auto& [place, count] : places) {
    text += separator + std::to_string(count) + " wait at " + place;
    separator = ", ";
  }
  return {"divergence", text};
}

bool is_greedy(Order order) noexcept {
  return order == Order::Greedy || order == Order::GreedyReverse;
}

std::vector<unsigned> ordered(std::uint64_t count, std::mt19937_64& random) {
  std::vector<unsigned> order(count);
  for (unsigned i = 0; i < order.size(); ++i) order[i] = i;
  const Order wanted = config().order;
  if (wanted == Order::Reverse || wanted == Order::GreedyReverse) std::ranges::reverse(order);
  if (wanted == Order::Random) std::ranges::shuffle(order, random);
  return order;
}

/// Before the last lane of a SIMD group returns: each passed what the others did.
void require_same_passes(const Meeting& group) {
  const Execution& run = execution();
  for (unsigned i = 0; i < group.payloads.size(); ++i) {
    const std::uint32_t passed = run.lanes[group.first + i].passed;
    if (passed == run.lane->passed) continue;
    const std::uint32_t first = std::min(passed, run.lane->passed);
    const bool is_known = first >= group.trail_begin;
    fail("divergence", [&] {
      return "lanes have returned before others of their SIMD group came to " +
             (is_known ? describe(group.trail[first - group.trail_begin])
                       : std::string("a function that needs all of them"));
    });
  }
}

}  // namespace

Config the_config;
Statistics the_statistics;
Execution the_execution;
Arenas the_arenas;

void order_dispatches() noexcept {
  Execution& run = execution();
  run.first_unordered = run.threadgroup + kNumbersPerThreadgroup;
}

void reserve_lanes(unsigned count) {
  Execution& run = execution();
  run.lanes.reserve(kMaxThreads);
  while (run.lanes.size() < count) {
    run.lanes.emplace_back(the_arenas.stacks + run.lanes.size() * Fiber::kStackStride);
  }
  run.lane_count = count;
}

void run_lane() {
  Execution& run = execution();
  run.lane->fiber.started();
  run.kernel->call(*run.arguments, run.lane->ids);
  Lane& lane = *run.lane;
  Meeting& group = run.simd_groups[lane.ids.simd_group];
  if (group.alive == 1) require_same_passes(group);
  lane.state = LaneState::Done;
  for (Meeting* meeting : {&group, &run.group}) {
    --meeting->alive;
    if (meeting->arrived > 0 && meeting->arrived == meeting->alive) {
      fail("divergence", [&] {
        return "a lane returns while all others of its scope wait at " + describe(meeting->site);
      });
    }
  }
  for (;;) lane.fiber.yield();
}

void schedule(std::vector<unsigned>& order, std::uint64_t seed) {
  Execution& run = execution();
  std::mt19937_64 random(seed);
  const Order wanted = config().order;
  for (unsigned done = 0; done < run.lane_count;) {
    if (wanted == Order::Random) std::ranges::shuffle(order, random);
    bool ran = false;
    done = 0;
    for (unsigned position = 0; position < run.lane_count; ++position) {
      Lane& lane = run.lanes[order[position]];
      if (lane.state == LaneState::Ready) {
        run.lane = &lane;
        lane.fiber.resume();
        run.lane = nullptr;
        ran = true;
        if (run.finding) return;
      }
      if (lane.state == LaneState::Done) ++done;
      // Greedy: as long as a SIMD group gets on, no later one does.
      const bool ends_simd_group = position % kSimdWidth == kSimdWidth - 1;
      if (ran && is_greedy(wanted) && ends_simd_group) break;
    }
    if (!ran && done < run.lane_count) {
      run.finding = deadlock();
      return;
    }
  }
}

void dispatch(const Kernel& kernel, Arguments arguments, Dim3 threadgroups, Dim3 threads) {
  require_threads(kernel, threads);
  const BufferLock lock;
  if (the_arenas.stacks == nullptr) {
    the_arenas = {map_memory(kMaxThreads * Fiber::kStackStride), map_memory(kArenaBytes)};
  }
  Execution& run = execution();
  reserve_lanes(static_cast<unsigned>(threads.count()));
  run.kernel = &kernel;
  run.arguments = &arguments;
  run.finding.reset();
  run.first_of_dispatch = run.threadgroup + kNumbersPerThreadgroup;
  ++statistics().dispatches;
  std::mt19937_64 random(config().seed);
  std::vector<unsigned> lanes = ordered(run.lane_count, random);
  for (const unsigned group : ordered(threadgroups.count(), random)) {
    ++statistics().threadgroups;
    run.threadgroup += kNumbersPerThreadgroup;
    if (run.threadgroup == 0) throw Finding{"limits", "2^27 threadgroups have run"};
    set_up(position_of(group, threadgroups), threadgroups, threads, arguments);
    schedule(lanes, config().seed + group);
    if (run.finding) {
      const Finding finding = *run.finding;
      run.finding.reset();
      throw finding;
    }
  }
}

}  // namespace girih::inline v0::emulator
