#pragma once

#include <girih/export.hpp>
#include <girih/operand.hpp>
#include <girih/plan.hpp>
#include <girih/runtime.hpp>

namespace girih::inline v0 {

/// destination = source, of equal shape and type, any strides: with `source.transposed()` this is
/// the transpose. The two must not overlap, unless they are the same view (a no-op).
struct CopyDesc {
  Operand source;
  Output destination;
};

/// destination = source converted, of equal shape, between f32, bf16, f16, f8e4m3 and f8e5m2.
/// Rounds to nearest even; NaN stays NaN; out of range gives infinity (f8e4m3: NaN). The two must
/// not overlap. Equal types are a copy's business and are refused here.
struct CastDesc {
  Operand source;
  Output destination;
};

/// Every element of destination = value, rounded to its type (integers: must be exact).
struct FillDesc {
  Output destination;
  double value = 0;
};

GIRIH_API Status copy(Runtime& runtime, const CopyDesc& desc) noexcept;
GIRIH_API Status cast(Runtime& runtime, const CastDesc& desc) noexcept;
GIRIH_API Status fill(Runtime& runtime, const FillDesc& desc) noexcept;
GIRIH_API Result<Plan> plan(Runtime& runtime, const CopyDesc& desc) noexcept;
GIRIH_API Result<Plan> plan(Runtime& runtime, const CastDesc& desc) noexcept;
GIRIH_API Result<Plan> plan(Runtime& runtime, const FillDesc& desc) noexcept;

}  // namespace girih::inline v0
