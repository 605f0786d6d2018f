#pragma once

#include "device/object.hpp"
#include "emulator/kernel.hpp"

namespace girih::inline v0::emulator {

struct Pipeline final : Object {
  explicit Pipeline(const Kernel& compiled) noexcept
      : Object("MTLComputePipelineState"), kernel(compiled) {}
  const Kernel& kernel;
};

}  // namespace girih::inline v0::emulator
