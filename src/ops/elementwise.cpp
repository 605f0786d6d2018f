#include "ops/elementwise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "core/storage.hpp"

namespace girih::inline v0 {

using detail::TensorAccess;

bool ElementwiseProblem::is_empty() const noexcept {
  return std::any_of(extents.begin(), extents.begin() + rank,
                     [](std::int64_t extent) { return extent == 0; });
}

std::int64_t ElementwiseProblem::size() const noexcept {
  std::int64_t size = 1;
  for (int i = 0; i < rank; ++i) size *= extents[static_cast<std::size_t>(i)];
  return size;
}

double ElementwiseProblem::bytes() const noexcept {
  const int bits = bit_width(destination_type) + (op == Op::Fill ? 0 : bit_width(source_type));
  return static_cast<double>(size()) * bits / 8.0;
}

/// Rules shared by the three operations, and the normal form of their geometry.
struct ElementwiseChecker {
  static Status check_destination(const Tensor& tensor, const CheckContext& context) noexcept {
    GIRIH_TRY(check_tensor(tensor, context, "destination"));
    const Geometry geometry = TensorAccess::geometry(tensor);
    if (overlaps_itself(geometry)) {
      return error(Code::InvalidShape, "destination: its strides let two elements share memory");
    }
    return check_packed(geometry, "destination");
  }

  /// Nibbles have no addresses of their own, so only whole runs of them move.
  static Status check_packed(const Geometry& geometry, const char* what) noexcept {
    if (geometry.dtype == DType::I4 && !is_contiguous(geometry)) {
      return error(Code::UnsupportedConversion, "{}: i4 views must be contiguous", what);
    }
    return {};
  }

  static Status check_pair(const Tensor& source, const Tensor& destination,
                           const CheckContext& context) noexcept {
    GIRIH_TRY(check_tensor(source, context, "source"));
    GIRIH_TRY(check_destination(destination, context));
    GIRIH_TRY(check_packed(TensorAccess::geometry(source), "source"));
    if (source.shape() != destination.shape()) {
      try {
        return error(Code::InvalidShape, "source is {}, destination is {}",
                     describe(source.shape()), describe(destination.shape()));
      } catch (...) {
        return error(Code::InvalidShape, "source and destination differ in shape");
      }
    }
    if (!same_view(source, destination) && may_overlap(source, destination)) {
      return error(Code::InvalidShape, "destination overlaps source in memory");
    }
    return {};
  }

  /// Drops dimensions of extent 1, orders the rest by falling destination stride and merges
  /// neighbours that both sides walk without a gap.
  static ElementwiseProblem normalise(Op op, const Geometry& source,
                                      const Geometry& destination) noexcept {
    struct Dimension {
      std::int64_t extent, source, destination;
    };
    ElementwiseProblem problem;
    problem.op = op;
    problem.source_type = source.dtype;
    problem.destination_type = destination.dtype;
    for (const std::int64_t extent : destination.shape) {
      if (extent == 0) problem.rank = 1;  // no element, and strides that need not fit
    }
    if (problem.rank == 1) return problem;
    std::array<Dimension, kMaxRank> dimensions{};
    std::size_t count = 0;
    for (int i = 0; i < destination.shape.rank(); ++i) {
      const auto d = static_cast<std::size_t>(i);
      if (destination.shape[i] == 1) continue;
      const Dimension next{destination.shape[i], source.strides[d], destination.strides[d]};
      std::size_t slot = count++;
      for (; slot > 0 && dimensions[slot - 1].destination < next.destination; --slot) {
        dimensions[slot] = dimensions[slot - 1];
      }
      dimensions[slot] = next;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Dimension& inner = dimensions[i];
      const auto last = static_cast<std::size_t>(std::max(problem.rank - 1, 0));
      const bool merges = problem.rank > 0 &&
                          problem.source_strides[last] == inner.source * inner.extent &&
                          problem.destination_strides[last] == inner.destination * inner.extent;
      const std::size_t slot = merges ? last : static_cast<std::size_t>(problem.rank++);
      problem.extents[slot] = merges ? problem.extents[slot] * inner.extent : inner.extent;
      problem.source_strides[slot] = inner.source;
      problem.destination_strides[slot] = inner.destination;
    }
    return problem;
  }
};

Result<ElementwiseProblem> check(const CopyDesc& desc, const CheckContext& context) noexcept {
  const Tensor& source = desc.source.tensor();
  const Tensor& destination = desc.destination.tensor();
  GIRIH_TRY(ElementwiseChecker::check_pair(source, destination, context));
  if (source.dtype() != destination.dtype()) {
    return error(Code::UnsupportedConversion, "copy from {} to {}: cast converts, copy does not",
                 name(source.dtype()), name(destination.dtype()));
  }
  ElementwiseProblem problem = ElementwiseChecker::normalise(
      Op::Copy, TensorAccess::geometry(source), TensorAccess::geometry(destination));
  if (same_view(source, destination)) {
    problem.rank = 1;
    problem.extents[0] = 0;
  }
  return problem;
}

Result<ElementwiseProblem> check(const CastDesc& desc, const CheckContext& context) noexcept {
  const Tensor& source = desc.source.tensor();
  const Tensor& destination = desc.destination.tensor();
  GIRIH_TRY(ElementwiseChecker::check_pair(source, destination, context));
  const auto convertible = [](DType type) { return is_float(type) && type != DType::F64; };
  if (!convertible(source.dtype()) || !convertible(destination.dtype()) ||
      source.dtype() == destination.dtype()) {
    return error(Code::UnsupportedConversion,
                 "cast from {} to {}: casts are between two different floats of up to 32 bits",
                 name(source.dtype()), name(destination.dtype()));
  }
  return ElementwiseChecker::normalise(Op::Cast, TensorAccess::geometry(source),
                                       TensorAccess::geometry(destination));
}

Result<ElementwiseProblem> check(const FillDesc& desc, const CheckContext& context) noexcept {
  const Tensor& destination = desc.destination.tensor();
  GIRIH_TRY(ElementwiseChecker::check_destination(destination, context));
  const DType type = destination.dtype();
  if (!is_float(type)) {
    const bool is_signed = type != DType::U8;
    const double high = std::ldexp(1.0, bit_width(type) - (is_signed ? 1 : 0)) - 1;
    const double low = is_signed ? -high - 1 : 0;
    if (!(desc.value >= low && desc.value <= high) || desc.value != std::trunc(desc.value)) {
      return error(Code::InvalidOption, "fill value {} is no {}", desc.value, name(type));
    }
  }
  const Geometry geometry = TensorAccess::geometry(destination);
  ElementwiseProblem problem = ElementwiseChecker::normalise(Op::Fill, geometry, geometry);
  problem.value = desc.value;
  return problem;
}

ElementwiseOperands bind(const CopyDesc& desc) noexcept {
  return {TensorAccess::address(desc.source.tensor()),
          TensorAccess::address(desc.destination.tensor())};
}
ElementwiseOperands bind(const CastDesc& desc) noexcept {
  return {TensorAccess::address(desc.source.tensor()),
          TensorAccess::address(desc.destination.tensor())};
}
ElementwiseOperands bind(const FillDesc& desc) noexcept {
  return {nullptr, TensorAccess::address(desc.destination.tensor())};
}

std::array<const Tensor*, 2> tensors_of(const CopyDesc& desc) noexcept {
  return {&desc.source.tensor(), &desc.destination.tensor()};
}
std::array<const Tensor*, 2> tensors_of(const CastDesc& desc) noexcept {
  return {&desc.source.tensor(), &desc.destination.tensor()};
}
std::array<const Tensor*, 2> tensors_of(const FillDesc& desc) noexcept {
  return {nullptr, &desc.destination.tensor()};
}

}  // namespace girih::inline v0
