#pragma once

#include <cstdint>

namespace girih::inline v0::testing {

/// Calls of operator new in this process so far; 0 for ever where a sanitizer owns it.
std::uint64_t heap_allocations() noexcept;

}  // namespace girih::inline v0::testing
