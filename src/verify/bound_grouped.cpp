#include "verify/bound_grouped.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/format.hpp"

namespace girih::inline v0::verify {
namespace {

/// NaN in the slices [0, begin) and [end, ...) of one dimension of a matrix.
void spoil_outside(GuardedTensor& matrix, int dimension, std::int64_t begin, std::int64_t end) {
  if (!is_float(matrix.tensor().dtype())) return;
  const std::int64_t columns = matrix.tensor().extent(1);
  for (std::int64_t i = 0; i < matrix.size(); ++i) {
    const std::int64_t at = dimension == 0 ? i / columns : i % columns;
    if (at < begin || at >= end) matrix.set(i, std::numeric_limits<double>::quiet_NaN());
  }
}

}  // namespace

Result<BoundGrouped> BoundGrouped::make(Runtime& runtime, const GroupedCase& grouped_case,
                                        GroupedLauncher launcher) {
  BoundGrouped result;
  result.case_ = grouped_case;
  result.launcher_ = std::move(launcher);
  result.backend_ = runtime.backend();
  auto offsets = GuardedTensor::make(runtime, DType::I32, {grouped_case.product.products() + 1},
                                     {grouped_case.offset_stride}, 1);
  if (!offsets) return offsets.error();
  result.offsets_ = *std::move(offsets);
  auto product = BoundGemm::place(
      runtime, grouped_case.product, [&](const GemmDesc& desc) -> Result<GemmProblem> {
        auto problem =
            check(grouped_desc(desc, result.offsets_->tensor()), {.runtime = runtime.id()});
        if (!problem) return problem.error();
        result.problem_ = *problem;
        return problem->product;
      });
  if (!product) return product.error();
  result.product_ = *std::move(product);
  return result;
}

GroupedGemmDesc BoundGrouped::desc() const {
  return grouped_desc(product_->desc(), offsets_->tensor());
}

Result<Plan> BoundGrouped::plan(Runtime& runtime) const {
  return girih::plan(runtime, desc());
}

bool BoundGrouped::may_refuse(const Error& error) const {
  const bool has_rows = backend_ != Backend::Metal;
  // On cuda matrix rows pack nothing, and decline what tensor copies cannot read; none rounds to
  // tf32. No backend groups products of 8-bit floats.
  const GemmCase& product = case_.product;
  const bool is_eighth = product.operands == DType::F8E4M3 || product.operands == DType::F8E5M2;
  const bool declines = backend_ == Backend::Cuda &&
                        (product.path == Path::Matrix || product.precision == Precision::Tf32);
  return error.code == Code::GemmNoKernel &&
         (!has_rows || is_eighth || declines || product_->may_refuse(error));
}

void BoundGrouped::fill(std::uint64_t variant) {
  product_->fill_operands(variant);
  const std::vector<std::int64_t> offsets = case_.offsets(variant);
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    offsets_->set(static_cast<std::int64_t>(i), static_cast<double>(offsets[i]));
  }
  const bool by_rows = case_.extent == GroupedExtent::Rows;
  spoil_outside(product_->a(), by_rows ? 0 : 1, offsets.front(), offsets.back());
  if (!by_rows) spoil_outside(product_->b(), 0, offsets.front(), offsets.back());
  reference_ = reference_grouped_gemm(
      *problem_,
      {product_->host_operands(), reinterpret_cast<const std::int32_t*>(offsets_->host_address())},
      product_->backend());
}

Status BoundGrouped::upload(Runtime& runtime) const {
  GIRIH_TRY(offsets_->upload(runtime));
  return product_->upload(runtime);
}

Status BoundGrouped::observe(Runtime& runtime) {
  GIRIH_TRY(offsets_->observe(runtime));
  return product_->observe(runtime);
}

std::vector<std::byte> BoundGrouped::result(const WrittenTensor& output) const {
  std::vector<std::byte> elements = output.tensor->observed_elements();
  const auto bytes = static_cast<std::size_t>(bit_width(output.tensor->tensor().dtype()) / 8);
  for (std::size_t i = 0; i < reference_.is_written.size(); ++i) {
    if (!reference_.is_written[i])
      std::fill_n(elements.begin() + std::ptrdiff_t(i * bytes), bytes, std::byte{0});
  }
  return elements;
}

std::string BoundGrouped::damage() const {
  std::string found = product_->damage();
  if (!found.empty()) return found;
  found = offsets_->change();
  if (!found.empty()) return "offsets: " + found;
  const GuardedTensor& c = product_->c();
  const HostView meant = c.host(), got = c.observed();
  const std::vector<std::int64_t> meant_at = element_offsets(meant.geometry);
  const std::vector<std::int64_t> got_at = element_offsets(got.geometry);
  const auto bytes = static_cast<std::size_t>(bit_width(c.tensor().dtype()) / 8);
  for (std::size_t i = 0; i < reference_.is_written.size(); ++i) {
    if (reference_.is_written[i]) continue;
    if (std::memcmp(meant.data + static_cast<std::size_t>(meant_at[i]) * bytes,
                    got.data + static_cast<std::size_t>(got_at[i]) * bytes, bytes) == 0) {
      continue;
    }
    return formatted("C: {} is in no group and was written",
                     index_of(c.tensor().shape(), static_cast<std::int64_t>(i)));
  }
  return {};
}

Comparison BoundGrouped::judge() const {
  std::vector<double> bound = reference_.bound;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    // `damage` compares the others bit for bit.
    if (!reference_.is_written[i]) bound[i] = std::numeric_limits<double>::infinity();
  }
  return compare(reference_.value, bound, product_->c().observed());
}

CaseReport run_case(Runtime& runtime, const GroupedCase& grouped_case, Mode mode,
                    GroupedLauncher launcher, Refusals refusals) {
  return run_case(runtime, BoundGrouped::make(runtime, grouped_case, std::move(launcher)), mode,
                  refusals);
}

}  // namespace girih::inline v0::verify
