#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace girih::inline v0::metal {

/// Memory that a dispatch uses: addresses on the host of the whole buffer, which is all that the
/// queue knows.
struct Use {
  std::uintptr_t begin = 0, end = 0;
  bool writes = false;
};

/// What the dispatches since the last barrier use. Dispatches of one encoder run at once unless a
/// barrier stands between them; one is needed only before a dispatch that reads what another wrote,
/// or writes what another used.
class Hazards {
 public:
  /// Notes a dispatch. True if a barrier must stand before it, or too much was noted.
  bool add(std::span<const Use> uses) noexcept {
    const bool is_needed = count_ + uses.size() > uses_.size() || conflicts(uses);
    if (is_needed) clear();
    for (const Use& use : uses) uses_[count_++] = use;
    return is_needed;
  }
  void clear() noexcept { count_ = 0; }

 private:
  static constexpr std::size_t kMost = 64;

  [[nodiscard]] bool conflicts(std::span<const Use> uses) const noexcept {
    for (const Use& next : uses) {
      for (const Use& earlier : std::span(uses_).first(count_)) {
        const bool overlaps = next.begin < earlier.end && earlier.begin < next.end;
        if (overlaps && (next.writes || earlier.writes)) return true;
      }
    }
    return false;
  }

  std::array<Use, kMost> uses_{};
  std::size_t count_ = 0;
};

}  // namespace girih::inline v0::metal
