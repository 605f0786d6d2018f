#pragma once

#include <span>
#include <variant>

#include <girih/elementwise.hpp>
#include <girih/export.hpp>
#include <girih/gemm.hpp>
#include <girih/grouped.hpp>
#include <girih/routing.hpp>

namespace girih::inline v0 {

/// Any operation's descriptor.
using OpDesc = std::variant<GemmDesc, CopyDesc, CastDesc, FillDesc, GroupedGemmDesc, RouteDesc,
                            PermuteDesc, UnpermuteDesc>;

/// Loads, compiles and sizes all that these calls need, and queues nothing: afterwards such calls,
/// and others of the same shapes, types and layouts, reach the system for nothing. Fails as the
/// first of them that would fail, with its place in the message; what was loaded for those before
/// it stays.
GIRIH_API Status prepare(Runtime& runtime, std::span<const OpDesc> calls) noexcept;

}  // namespace girih::inline v0
