#pragma once

#include <cstdint>

namespace girih::inline v0::cuda {

enum class FindingKind : std::int32_t { None, Offset, Source, Row };

/// What a kernel found wrong with values that only the device knows: the first since the host last
/// looked. In pinned memory; `kind` is written last. Plain C++.
struct Finding {
  FindingKind kind = FindingKind::None;
  std::int64_t index = 0;  ///< of the offset, the source, or the row: token * `per` + slot
  std::int64_t value = 0;
  std::int64_t before = 0;  ///< offset: the one before it
  std::int64_t limit = 0;   ///< rows that there are
  std::int64_t per = 1;     ///< row: slots of a token
};

}  // namespace girih::inline v0::cuda
