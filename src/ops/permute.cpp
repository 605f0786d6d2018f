#include "ops/permute.hpp"

#include <limits>

#include "core/error.hpp"
#include "core/storage.hpp"
#include "ops/routing_rules.hpp"

namespace girih::inline v0 {

using detail::TensorAccess;

namespace {

double element_bytes(DType type) noexcept {
  return bit_width(type) / 8.0;
}

const std::int32_t* indices_of(const Operand& operand) noexcept {
  return reinterpret_cast<const std::int32_t*>(TensorAccess::address(operand.tensor()));
}

}  // namespace

double PermuteProblem::bytes() const noexcept {
  const auto moved = static_cast<double>(rows) * static_cast<double>(columns);
  return 2 * moved * element_bytes(x.dtype) + 4.0 * static_cast<double>(rows);
}

double UnpermuteProblem::bytes() const noexcept {
  const auto pairs = static_cast<double>(tokens) * static_cast<double>(k);
  const auto width = static_cast<double>(columns);
  return pairs * (width * element_bytes(x.dtype) + (weights ? 8 : 4)) +
         static_cast<double>(tokens) * width * element_bytes(y.dtype);
}

double UnpermuteProblem::flops() const noexcept {
  return (weights ? 2.0 : 1.0) * static_cast<double>(tokens) * static_cast<double>(k) *
         static_cast<double>(columns);
}

/// The rules of both operations.
struct PermuteChecker {
  /// Kernels tell the place of a bad index in 32 bits.
  static Status check_count(const NamedTensor& indices) noexcept {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    const std::int64_t count = indices.tensor->size();
    if (count <= kMost) return {};
    return error(Code::RoutingShapeMismatch, "{} has {} elements, must have 2^31 - 1 at most",
                 indices.name, count);
  }

  static Result<PermuteProblem> run(const PermuteDesc& desc, const CheckContext& context) noexcept {
    const NamedTensor y{&desc.y.tensor(), "y"};
    const std::array<NamedTensor, 2> read{
        {{&desc.x.tensor(), "x"}, {&desc.sources.tensor(), "sources"}}};
    GIRIH_TRY(check_tensors({&y, 1}, read, context));
    GIRIH_TRY(check_type(read[1], {DType::I32}));
    GIRIH_TRY(check_type(read[0], {DType::F32, DType::BF16, DType::F16, DType::I32, DType::F8E4M3,
                                   DType::F8E5M2, DType::I8, DType::U8}));
    GIRIH_TRY(check_type(y, {desc.x.tensor().dtype()}));
    GIRIH_TRY(check_rank(read[0], 2));
    GIRIH_TRY(check_rank(read[1], 1));
    GIRIH_TRY(check_count(read[1]));
    const Tensor& x = desc.x.tensor();
    GIRIH_TRY(check_shape(y, {desc.sources.tensor().extent(0), x.extent(1)}));
    GIRIH_TRY(check_apart({&y, 1}, read));
    PermuteProblem problem;
    problem.tokens = x.extent(0);
    problem.rows = desc.y.tensor().extent(0);
    problem.columns = x.extent(1);
    problem.x = rows_layout(x);
    problem.sources = rows_layout(desc.sources.tensor());
    problem.y = rows_layout(desc.y.tensor());
    return problem;
  }

  static Result<UnpermuteProblem> run(const UnpermuteDesc& desc,
                                      const CheckContext& context) noexcept {
    const NamedTensor y{&desc.y.tensor(), "y"};
    const std::array<NamedTensor, 3> read{{{&desc.x.tensor(), "x"},
                                           {&desc.rows.tensor(), "rows"},
                                           {desc.weights ? &*desc.weights : nullptr, "weights"}}};
    GIRIH_TRY(check_tensors({&y, 1}, read, context));
    GIRIH_TRY(check_type(read[0], {DType::F32, DType::BF16, DType::F16}));
    GIRIH_TRY(check_type(read[1], {DType::I32}));
    if (desc.weights) GIRIH_TRY(check_type(read[2], {DType::F32}));
    GIRIH_TRY(check_type(y, {DType::F32, DType::BF16, DType::F16}));
    GIRIH_TRY(check_rank(read[0], 2));
    GIRIH_TRY(check_rank(read[1], 2));
    GIRIH_TRY(check_count(read[1]));
    const Tensor &x = desc.x.tensor(), &rows = desc.rows.tensor();
    if (desc.weights) GIRIH_TRY(check_shape(read[2], rows.shape()));
    GIRIH_TRY(check_shape(y, {rows.extent(0), x.extent(1)}));
    GIRIH_TRY(check_apart({&y, 1}, read));
    UnpermuteProblem problem;
    problem.tokens = rows.extent(0);
    problem.k = rows.extent(1);
    problem.rows = x.extent(0);
    problem.columns = x.extent(1);
    problem.x = rows_layout(x);
    problem.indices = rows_layout(rows);
    problem.y = rows_layout(desc.y.tensor());
    if (desc.weights) problem.weights = rows_layout(*desc.weights);
    return problem;
  }
};

Result<PermuteProblem> check(const PermuteDesc& desc, const CheckContext& context) noexcept {
  return PermuteChecker::run(desc, context);
}
Result<UnpermuteProblem> check(const UnpermuteDesc& desc, const CheckContext& context) noexcept {
  return PermuteChecker::run(desc, context);
}

PermuteOperands bind(const PermuteDesc& desc) noexcept {
  return {.x = TensorAccess::address(desc.x.tensor()),
          .sources = indices_of(desc.sources),
          .y = TensorAccess::address(desc.y.tensor())};
}
UnpermuteOperands bind(const UnpermuteDesc& desc) noexcept {
  return {.x = TensorAccess::address(desc.x.tensor()),
          .indices = indices_of(desc.rows),
          .weights = desc.weights
                         ? reinterpret_cast<const float*>(TensorAccess::address(*desc.weights))
                         : nullptr,
          .y = TensorAccess::address(desc.y.tensor())};
}

std::array<const Tensor*, 3> tensors_of(const PermuteDesc& desc) noexcept {
  return {&desc.x.tensor(), &desc.sources.tensor(), &desc.y.tensor()};
}
std::array<const Tensor*, 4> tensors_of(const UnpermuteDesc& desc) noexcept {
  return {&desc.x.tensor(), &desc.rows.tensor(), &desc.y.tensor(),
          desc.weights ? &*desc.weights : nullptr};
}

Error bad_source(std::int64_t place, std::int64_t source, std::int64_t tokens) noexcept {
  return error(Code::RoutingIndex, "source {} is {}, x has {} rows", place, source, tokens);
}
Error bad_row(std::int64_t token, std::int64_t slot, std::int64_t row, std::int64_t rows) noexcept {
  return error(Code::RoutingIndex, "row [{}, {}] is {}, x has {} rows", token, slot, row, rows);
}

Status check_indices(const PermuteProblem& problem, const std::int32_t* sources) noexcept {
  for (std::int64_t r = 0; r < problem.rows; ++r) {
    const std::int64_t source = sources[problem.sources.at(r, 0)];
    if (source >= 0 && source < problem.tokens) continue;
    return bad_source(r, source, problem.tokens);
  }
  return {};
}

Status check_indices(const UnpermuteProblem& problem, const std::int32_t* indices) noexcept {
  for (std::int64_t t = 0; t < problem.tokens; ++t) {
    for (std::int64_t s = 0; s < problem.k; ++s) {
      const std::int64_t row = indices[problem.indices.at(t, s)];
      if (row >= 0 && row < problem.rows) continue;
      return bad_row(t, s, row, problem.rows);
    }
  }
  return {};
}

}  // namespace girih::inline v0
