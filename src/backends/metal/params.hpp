#pragma once

#include <cstdint>

#include <girih/dtype.hpp>

namespace girih::inline v0::metal {

using Index = std::int64_t;
using Word = std::uint32_t;

#include "backends/metal/kernels/params.h"

Word code_of(DType dtype) noexcept;

}  // namespace girih::inline v0::metal
