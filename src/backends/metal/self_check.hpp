#pragma once

#include <girih/status.hpp>

#include "backends/metal/objc.hpp"

namespace girih::inline v0::metal {

/// Asks the run time for every method of methods.inc before one is called: whether it is there, and
/// takes and gives what the binding says. An unknown message would end the program. Needs a device
/// with Metal 4; makes one object of each kind. What a compiler, a pipeline's reflection or a
/// commit's feedback answers is not asked: those objects come later.
/// BackendUnavailable names the first method that differs.
Status check_binding(id device) noexcept;

}  // namespace girih::inline v0::metal
