#include "verify/bound_elementwise.hpp"

#include <algorithm>
#include <cstring>

#include <girih/elementwise.hpp>

#include "core/error.hpp"
#include "reference/elementwise.hpp"
#include "verify/random.hpp"

namespace girih::inline v0::verify {
namespace {

/// Sets the bits of every element: all patterns of 8 and 16 bits in turn, else random ones.
void set_bits(GuardedTensor& tensor, Random random, std::uint64_t variant) {
  const std::int64_t bytes = bit_width(tensor.tensor().dtype()) / 8;
  std::byte* first = tensor.host_address();
  Geometry geometry = tensor.host().geometry;
  geometry.offset = 0;
  std::uint64_t pattern = variant * 7919;
  for (const std::int64_t offset : element_offsets(geometry)) {
    const std::uint64_t bits = bytes < 4 ? pattern++ : random.bits();
    std::memcpy(first + offset * bytes, &bits, static_cast<std::size_t>(bytes));
  }
}

}  // namespace

Result<BoundElementwise> BoundElementwise::make(Runtime& runtime,
                                                const ElementwiseCase& elementwise_case) {
  BoundElementwise result;
  result.case_ = elementwise_case;
  const ElementwiseCase& x = elementwise_case;
  if (x.op != Op::Fill) {
    auto source = GuardedTensor::make(runtime, x.source_type, x.shape,
                                      strides_of(x.shape, x.source), x.source.offset);
    if (!source) return source.error();
    result.source_ = *std::move(source);
  }
  auto destination = GuardedTensor::make(runtime, x.destination_type, x.shape,
                                         strides_of(x.shape, x.destination), x.destination.offset);
  if (!destination) return destination.error();
  result.destination_ = *std::move(destination);
  auto problem = result.checked(runtime);
  if (!problem) return problem.error();
  result.problem_ = *problem;
  return result;
}

Result<ElementwiseProblem> BoundElementwise::checked(Runtime& runtime) const {
  const CheckContext context{.runtime = runtime.id()};
  const Tensor& to = destination_->tensor();
  if (case_.op == Op::Fill) return check(FillDesc{to, case_.value}, context);
  if (case_.op == Op::Cast) return check(CastDesc{source_->tensor(), to}, context);
  return check(CopyDesc{source_->tensor(), to}, context);
}

Result<Plan> BoundElementwise::plan(Runtime& runtime) const {
  const Tensor& to = destination_->tensor();
  if (case_.op == Op::Fill) return girih::plan(runtime, FillDesc{to, case_.value});
  if (case_.op == Op::Cast) return girih::plan(runtime, CastDesc{source_->tensor(), to});
  return girih::plan(runtime, CopyDesc{source_->tensor(), to});
}

Status BoundElementwise::launch(Runtime& runtime) const {
  const Tensor& to = destination_->tensor();
  if (case_.op == Op::Fill) return girih::fill(runtime, {to, case_.value});
  if (case_.op == Op::Cast) return cast(runtime, {source_->tensor(), to});
  return copy(runtime, {source_->tensor(), to});
}

void BoundElementwise::fill(std::uint64_t variant) {
  if (source_) set_bits(*source_, Random(case_.seed, case_.index * 2 + variant), variant);
}

Status BoundElementwise::upload(Runtime& runtime) const {
  if (source_) GIRIH_TRY(source_->upload(runtime));
  return destination_->upload(runtime);
}

Status BoundElementwise::observe(Runtime& runtime) {
  if (source_) GIRIH_TRY(source_->observe(runtime));
  return destination_->observe(runtime);
}

std::string BoundElementwise::damage() const {
  std::string found = destination_->damage();
  if (!found.empty()) return "destination: " + found;
  if (source_) found = source_->change();
  return found.empty() ? found : "source: " + found;
}

Comparison BoundElementwise::judge() const {
  GuardedTensor want = *destination_;
  reference_elementwise(*problem_,
                        {source_ ? source_->host_address() : nullptr, want.host_address()});
  return compare_exact(want.host(), destination_->observed(),
                       case_.op == Op::Copy ? NanRule::SameBits : NanRule::SameSign);
}

CaseReport run_case(Runtime& runtime, const ElementwiseCase& elementwise_case, Mode mode) {
  return run_case(runtime, BoundElementwise::make(runtime, elementwise_case), mode);
}

}  // namespace girih::inline v0::verify
