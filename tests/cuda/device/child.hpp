#pragma once

#include <string>

namespace girih::inline v0::testing {

/// Runs one test of this program, which is switched off by its name, in a process of its own; gives
/// its exit status, or -1. A kernel that faults ends the context for its whole process.
int run_alone(const std::string& test);

}  // namespace girih::inline v0::testing
