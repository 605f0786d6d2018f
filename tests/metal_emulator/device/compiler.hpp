#pragma once

#include "device/object.hpp"
#include "emulator/kernel.hpp"

namespace girih::inline v0::emulator {

struct Pipeline final : Object {
  Pipeline(const Kernel& compiled, bool indirect) noexcept
      : Object("MTLComputePipelineState"), kernel(compiled), is_indirect(indirect) {}
  const Kernel& kernel;
  const bool is_indirect;  ///< may be used in indirect command buffers
};

}  // namespace girih::inline v0::emulator
