#pragma once

#include <cstddef>
#include <span>

// overlay_kernels.cu, compiled three ways.

namespace girih::inline v0::testing {

std::span<const std::byte> cubin_image();
std::span<const std::byte> fatbin_image();
std::span<const std::byte> ptx_image();

}  // namespace girih::inline v0::testing
