#pragma once

namespace girih::inline v0 {

/// Cores that this process may use: those of its affinity mask, hardware threads of one core
/// counted once, capped by the control group's CPU quota (v1 and v2, rounded down). At least 1.
int usable_cores() noexcept;

}  // namespace girih::inline v0
