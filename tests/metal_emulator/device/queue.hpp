#pragma once

#include <cstdint>

#include "device/resources.hpp"

namespace girih::inline v0::emulator {

/// Does what was committed, in order, until the event has the value or nothing is left.
void run_until(SharedEvent& event, std::uint64_t value);

}  // namespace girih::inline v0::emulator
