#pragma once

#include "device/object.hpp"
#include "emulator/kernel.hpp"

namespace girih::inline v0::emulator {

struct Pipeline final : Object {
  Pipeline(const Kernel& compiled, bool indirect, bool is_reflected) noexcept
      : Object("MTLComputePipelineState"),
        kernel(compiled),
        is_indirect(indirect),
        reflects(is_reflected) {}
  const Kernel& kernel;
  const bool is_indirect;  ///< may be used in indirect command buffers
  const bool reflects;     ///< was asked to keep what it binds
};

}  // namespace girih::inline v0::emulator
