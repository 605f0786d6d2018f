#include "backends/cpu/permute.hpp"

#include <algorithm>
#include <cstring>

#include "backends/cpu/convert.hpp"
#include "backends/cpu/parallel.hpp"
#include "core/checked.hpp"

namespace girih::inline v0::cpu {
namespace {

/// Elements of a task, about: 64 KiB of f32.
constexpr std::int64_t kTaskElements = 16384;

/// Calls `body(row)` for rows [0, rows) of so many elements each, on up to `threads` threads.
template <class Body>
Status for_each_row(Executor& executor, int threads, std::int64_t rows, std::int64_t elements,
                    const Body& body) {
  const std::int64_t share = std::max<std::int64_t>(kTaskElements / elements, 1);
  return parallel_tasks(executor, threads, ceil_div(rows, share),
                        [&](std::int64_t task, std::int64_t) noexcept {
                          const std::int64_t end = std::min(rows, (task + 1) * share);
                          for (std::int64_t row = task * share; row < end; ++row) body(row);
                        });
}

/// A row of elements of the unsigned type T.
template <class T>
void copy_row(const std::byte* source, std::int64_t source_stride, std::byte* destination,
              std::int64_t destination_stride, std::int64_t count) noexcept {
  if (source_stride == 1 && destination_stride == 1) {
    std::memcpy(destination, source, static_cast<std::size_t>(count) * sizeof(T));
    return;
  }
  const T* const from = reinterpret_cast<const T*>(source);
  T* const to = reinterpret_cast<T*>(destination);
  for (std::int64_t i = 0; i < count; ++i) to[i * destination_stride] = from[i * source_stride];
}

using CopyRow = decltype(&copy_row<std::uint8_t>);
CopyRow copy_row_of(std::int64_t bytes) noexcept {
  return bytes == 1   ? copy_row<std::uint8_t>
         : bytes == 2 ? copy_row<std::uint16_t>
                      : copy_row<std::uint32_t>;
}

/// `count` <= kConvertBlock columns of one token, from column `begin` on.
void add_rows(const UnpermuteCall& call, std::int64_t token, std::int64_t begin,
              std::int64_t count) noexcept {
  const UnpermuteProblem& problem = call.problem;
  const UnpermuteOperands& operands = call.operands;
  const std::int64_t bytes = bit_width(problem.x.dtype) / 8;
  float sum[kConvertBlock] = {}, row[kConvertBlock];
  for (std::int64_t s = 0; s < problem.k; ++s) {
    const std::int64_t index = operands.indices[problem.indices.at(token, s)];
    widen_block(operands.x + problem.x.at(index, begin) * bytes, problem.x.dtype,
                problem.x.column_stride, count, row);
    const float weight = problem.weights ? operands.weights[problem.weights->at(token, s)] : 1.0F;
    for (std::int64_t i = 0; i < count; ++i) sum[i] += weight * row[i];
  }
  narrow_block(sum, count, problem.y.dtype, problem.y.column_stride,
               operands.y + problem.y.at(token, begin) * (bit_width(problem.y.dtype) / 8));
}

}  // namespace

Status run(const PermuteCall& call, Executor& executor) {
  const PermuteProblem& problem = call.problem;
  if (problem.is_empty()) return {};
  GIRIH_TRY(check_indices(problem, call.operands.sources));
  const std::int64_t bytes = bit_width(problem.x.dtype) / 8;
  const CopyRow copy = copy_row_of(bytes);
  return for_each_row(
      executor, call.selection.threads, problem.rows, problem.columns,
      [&](std::int64_t row) noexcept {
        const std::int64_t source = call.operands.sources[problem.sources.at(row, 0)];
        copy(call.operands.x + problem.x.at(source, 0) * bytes, problem.x.column_stride,
             call.operands.y + problem.y.at(row, 0) * bytes, problem.y.column_stride,
             problem.columns);
      });
}

Status run(const UnpermuteCall& call, Executor& executor) {
  const UnpermuteProblem& problem = call.problem;
  if (problem.is_empty()) return {};
  GIRIH_TRY(check_indices(problem, call.operands.indices));
  const std::int64_t work = problem.columns * std::max<std::int64_t>(problem.k, 1);
  return for_each_row(executor, call.selection.threads, problem.tokens, work,
                      [&](std::int64_t token) noexcept {
                        for (std::int64_t i = 0; i < problem.columns; i += kConvertBlock) {
                          add_rows(call, token, i, std::min(kConvertBlock, problem.columns - i));
                        }
                      });
}

}  // namespace girih::inline v0::cpu
