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
  bool is_device;
};

bool is_ordered(const Access& earlier, const Access& now, bool is_device) noexcept {
  if (earlier.dispatch == 0) return true;
  const Execution& run = execution();
  if (earlier.dispatch != now.dispatch) {
    return !is_device || run.hazard_epochs[earlier.dispatch] != run.hazard_epoch;
  }
  if (earlier.threadgroup != now.threadgroup) return !is_device;
  if (earlier.lane == now.lane) return true;
  if (earlier.group_barriers != now.group_barriers) return true;
  return earlier.lane / kSimdWidth == now.lane / kSimdWidth &&
         earlier.simd_barriers != now.simd_barriers;
}

[[noreturn]] void fail_race(const Access& earlier, const char* what, bool is_write,
                            const Where& where, const Site& site) {
  const Access& now = execution().lane->place;
  std::string text = std::string(is_write ? "write" : "read") + " of " + where.memory +
                     " at byte " + std::to_string(where.offset) + ", " + describe(site);
  if (earlier.dispatch != now.dispatch) {
    fail("hazard", text + ", after a " + what + " by an earlier dispatch with no barrier between");
  }
  text += std::string(", and a ") + what + " by ";
  text += "simdgroup " + std::to_string(earlier.lane / kSimdWidth) + ", lane " +
          std::to_string(earlier.lane % kSimdWidth);
  if (earlier.threadgroup != now.threadgroup) text += " of another threadgroup";
  fail("race", text + " are not ordered by a barrier");
}

void note_read_in(Cell& cell, const Access& now) noexcept {
  Access& last = cell.reads[0];
  const bool same_group = last.dispatch == now.dispatch && last.threadgroup == now.threadgroup;
  if (!same_group || last.lane / kSimdWidth != now.lane / kSimdWidth) {
    cell.reads[2] = last;
    cell.reads[1] = {};
  } else if (last.lane != now.lane) {
    cell.reads[1] = last;
  }
  last = now;
}

void check_cell(Cell& cell, const Access& now, bool is_write, const Where& where,
                const Site& site) {
  const bool was_written_here =
      cell.write.dispatch == now.dispatch && cell.write.threadgroup == now.threadgroup;
  if (!where.is_device && !is_write && !was_written_here) {
    fail("uninitialised", "read of threadgroup memory that nobody wrote, " + describe(site));
  }
  const auto conflicts = [&](const Access& earlier) {
    return !(now.is_atomic && earlier.is_atomic) && !is_ordered(earlier, now, where.is_device);
  };
  if (conflicts(cell.write)) fail_race(cell.write, "write", is_write, where, site);
  if (is_write) {
    for (const Access& read : cell.reads) {
      if (conflicts(read)) fail_race(read, "read", is_write, where, site);
    }
    cell.write = now;
  }
  if (!is_write || now.is_atomic) note_read_in(cell, now);
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
      check_cell(cells.first[i], now, is_write, {"threadgroup memory", offset, false}, site);
    }
    return;
  }
  fail("bounds",
       access_text(is_write, bytes) + " outside every threadgroup array, " + describe(site));
}

void check_device_access(Buffer& buffer, const std::byte* address, std::size_t bytes, bool is_write,
                         const Access& now, const Site& site) {
  const std::ptrdiff_t offset = address - buffer.data;
  if (address < buffer.data || address + bytes > buffer.data + buffer.bytes) {
    fail("bounds", access_text(is_write, bytes) + " at byte " + std::to_string(offset) + " of " +
                       buffer.label + ", which has " + std::to_string(buffer.bytes) + ", " +
                       describe(site));
  }
  if (!buffer.is_resident) {
    fail("residency", access_text(is_write, bytes) + " of " + buffer.label +
                          ", which is in no residency set of the queue, " + describe(site));
  }
  const auto first = static_cast<std::size_t>(offset);
  const Shadow::Cells cells = buffer.shadow.at(first, bytes);
  for (std::size_t i = 0; i < cells.count; ++i) {
    check_cell(cells.first[i], now, is_write, {buffer.label.c_str(), first, true}, site);
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
  now.is_atomic = is_atomic;
  if (in_threadgroup) return check_threadgroup_access(at, bytes, is_write, now, site);
  if (Buffer* const buffer = find_buffer(address)) {
    return check_device_access(*buffer, at, bytes, is_write, now, site);
  }
  if (is_program_memory(address)) return;
  char place[32];
  std::snprintf(place, sizeof(place), "%p", address);
  fail("bounds", access_text(is_write, bytes) + " at " + place + ", which is in no buffer, " +
                     describe(site));
}

}  // namespace girih::inline v0::emulator
