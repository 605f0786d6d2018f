#include <cstdio>
#include <link.h>
#include <vector>

#include "emulator/execution.hpp"
#include "emulator/memory.hpp"
#include "emulator/threadgroup.hpp"

// The rules of memory. Two accesses of which one writes must be ordered: by a barrier for their
// kind of memory between lanes of a threadgroup, by a barrier of the encoder between dispatches, by
// nothing between threadgroups of one dispatch. A finding does not depend on the order in which
// lanes ran.

namespace girih::inline v0::emulator {
namespace {

struct Where {
  const char* memory;  ///< "threadgroup memory", or the buffer's label
  std::size_t offset;
};

/// Of an earlier access in the same threadgroup.
bool is_ordered_within(const Access& earlier, const Access& now) noexcept {
  if (earlier.group_barriers != now.group_barriers) return true;
  if (earlier.simd_group != now.simd_group) return false;
  return earlier.lane == now.lane || earlier.simd_barriers != now.simd_barriers;
}

template <bool kIsDevice>
bool is_ordered(const Access& earlier, const Access& now) noexcept {
  if (earlier.is_of_threadgroup(now)) return is_ordered_within(earlier, now);
  return !kIsDevice || earlier.simd_group < execution().first_unordered;
}

std::string race_text(const Access& earlier, const char* what, bool is_write, const Where& where,
                      const Site& site) {
  const Execution& run = execution();
  std::string text = std::string(is_write ? "write" : "read") + " of " + where.memory +
                     " at byte " + std::to_string(where.offset) + ", " + describe(site);
  if (earlier.simd_group < run.first_of_dispatch) {
    return text + ", after a " + what + " by an earlier dispatch with no barrier between";
  }
  text += std::string(", and a ") + what + " by ";
  text += "simdgroup " + std::to_string(earlier.simd_group % kNumbersPerThreadgroup) + ", lane " +
          std::to_string(earlier.lane);
  if (!earlier.is_of_threadgroup(run.lane->place)) text += " of another threadgroup";
  return text + " are not ordered by a barrier";
}

[[noreturn]] void fail_race(const Access& earlier, const char* what, bool is_write,
                            const Where& where, const Site& site) {
  const bool is_hazard = earlier.simd_group < execution().first_of_dispatch;
  fail(is_hazard ? "hazard" : "race",
       [&] { return race_text(earlier, what, is_write, where, site); });
}

void note_read_in(Cell& cell, const Access& now) noexcept {
  Access& last = cell.reads[0];
  if (last.simd_group != now.simd_group) {
    cell.reads[2] = last;
    cell.reads[1] = {};
  } else if (last.lane != now.lane) {
    cell.reads[1] = last;
  }
  last = now;
}

template <bool kIsDevice>
[[gnu::noinline]] void fail_cell(const Cell& cell, const Access& now, bool is_write,
                                 const Where& where, const Site& site) {
  if (!kIsDevice && !is_write && !cell.write.is_of_threadgroup(now)) {
    fail("uninitialised",
         [&] { return "read of threadgroup memory that nobody wrote, " + describe(site); });
  }
  const auto conflicts = [&](const Access& earlier) {
    const bool are_atomic = now.is_atomic != 0 && earlier.is_atomic != 0;
    return !are_atomic && !is_ordered<kIsDevice>(earlier, now);
  };
  if (conflicts(cell.write)) fail_race(cell.write, "write", is_write, where, site);
  for (const Access& read : cell.reads) {
    if (is_write && conflicts(read)) fail_race(read, "read", is_write, where, site);
  }
}

/// The usual case is a plain access that nothing forbids: all else goes the long way.
template <bool kIsDevice>
void check_cell(Cell& cell, const Access& now, bool is_write, const Where& where,
                const Site& site) {
  if (!is_write) {
    const bool is_allowed = cell.write.is_of_threadgroup(now)
                                ? is_ordered_within(cell.write, now)
                                : kIsDevice && is_ordered<true>(cell.write, now);
    if (!is_allowed) fail_cell<kIsDevice>(cell, now, false, where, site);
    if (!cell.reads[0].is_same(now)) note_read_in(cell, now);
    return;
  }
  bool is_allowed = is_ordered<kIsDevice>(cell.write, now);
  for (const Access& read : cell.reads) is_allowed = is_allowed && is_ordered<kIsDevice>(read, now);
  if (!is_allowed) fail_cell<kIsDevice>(cell, now, true, where, site);
  cell.write = now;
  if (now.is_atomic != 0) note_read_in(cell, now);
}

/// Segments of the program and its libraries: tables of constants, function constants.
bool is_program_memory(const void* address) {
  struct Range {
    std::uintptr_t first, end;
  };
  static const std::vector<Range> ranges = [] {
    std::vector<Range> found;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto& segment = info->dlpi_phdr[i];
            if (segment.p_type != PT_LOAD) continue;
            const std::uintptr_t first = info->dlpi_addr + segment.p_vaddr;
            static_cast<std::vector<Range>*>(out)->push_back({first, first + segment.p_memsz});
          }
          return 0;
        },
        &found);
    return found;
  }();
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const Range& range : ranges) {
    if (at >= range.first && at < range.end) return true;
  }
  return false;
}

std::string access_text(bool is_write, std::size_t bytes) {
  return std::string(is_write ? "write" : "read") + " of " + std::to_string(bytes) + " bytes";
}

void check_threadgroup_access(const std::byte* address, std::size_t bytes, bool is_write,
                              const Access& now, const Site& site) {
  for (const ThreadgroupArray& array : execution().arrays) {
    if (address < array.data || address + bytes > array.data + array.bytes) continue;
    const auto offset = static_cast<std::size_t>(address - array.data);
    const Shadow::Cells cells = array.shadow->at(offset, bytes);
    for (std::size_t i = 0; i < cells.count; ++i) {
      check_cell<false>(cells.first[i], now, is_write, {"threadgroup memory", offset}, site);
    }
    return;
  }
  fail("bounds", [&] {
    return access_text(is_write, bytes) + " outside every threadgroup array, " + describe(site);
  });
}

void check_device_access(Buffer& buffer, const std::byte* address, std::size_t bytes, bool is_write,
                         const Access& now, const Site& site) {
  const std::ptrdiff_t offset = address - buffer.data;
  if (address < buffer.data || address + bytes > buffer.data + buffer.bytes) {
    fail("bounds", [&] {
      return access_text(is_write, bytes) + " at byte " + std::to_string(offset) + " of " +
             buffer.label + ", which has " + std::to_string(buffer.bytes) + ", " + describe(site);
    });
  }
  if (!buffer.is_resident) {
    fail("residency", [&] {
      return access_text(is_write, bytes) + " of " + buffer.label +
             ", which is in no residency set of the queue, " + describe(site);
    });
  }
  const auto first = static_cast<std::size_t>(offset);
  const Shadow::Cells cells = buffer.shadow.at(first, bytes);
  for (std::size_t i = 0; i < cells.count; ++i) {
    check_cell<true>(cells.first[i], now, is_write, {buffer.label.c_str(), first}, site);
  }
}

}  // namespace

void check_access(const void* address, std::size_t bytes, bool is_write, bool is_atomic,
                  const Site& site) {
  Lane* const lane = execution().lane;
  if (lane == nullptr || bytes == 0) return;
  ++statistics().accesses;
  const auto* const at = static_cast<const std::byte*>(address);
  const bool in_threadgroup = is_threadgroup_memory(address);
  Access now = in_threadgroup ? lane->place : lane->device_place;
  if (is_atomic) now.is_atomic = 1;  // else it stays in a register: no partial store is waited for
  if (in_threadgroup) return check_threadgroup_access(at, bytes, is_write, now, site);
  if (Buffer* const buffer = find_buffer(address)) {
    return check_device_access(*buffer, at, bytes, is_write, now, site);
  }
  if (is_program_memory(address)) return;
  char place[32];
  std::snprintf(place, sizeof(place), "%p", address);
  fail("bounds", [&] {
    return access_text(is_write, bytes) + " at " + place + ", which is in no buffer, " +
           describe(site);
  });
}

}  // namespace girih::inline v0::emulator
