#include "backends/cpu/grouped.hpp"

#include "backends/cpu/gemm.hpp"
#include "backends/cpu/parallel.hpp"

// Long groups run one after the other, each on all threads. Short ones run side by side, one a
// thread: they are claimed one by one, so that what differs in length still ends together.

namespace girih::inline v0::cpu {
namespace {

class Groups {
 public:
  explicit Groups(const GroupedGemmCall& call) noexcept : call_(call) {}

  /// Nothing of C belongs to the group.
  [[nodiscard]] bool is_void(GroupRows rows) const noexcept {
    return call_.problem.extent == GroupedExtent::Rows && rows.size() == 0;
  }
  [[nodiscard]] bool is_short(GroupRows rows) const noexcept {
    return rows.size() <= call_.selection.alone_rows;
  }
  [[nodiscard]] GroupRows rows_of(std::int64_t group) const noexcept {
    return rows_of_group(call_.problem, call_.operands.offsets, group);
  }
  [[nodiscard]] std::int64_t count() const noexcept { return call_.problem.groups(); }
  [[nodiscard]] std::int64_t count_short() const noexcept {
    std::int64_t count = 0;
    for (std::int64_t g = 0; g < this->count(); ++g) {
      const GroupRows rows = rows_of(g);
      count += !is_void(rows) && is_short(rows) ? 1 : 0;
    }
    return count;
  }

  Status run(std::int64_t group, const GemmSelection& selection, Executor& executor,
             std::byte* scratch) const {
    const GroupProduct own =
        product_of_group(call_.problem, call_.operands.product, group, rows_of(group));
    const GemmCall product{own.problem, own.operands, selection, scratch};
    return run_product(product, executor, selection.threads, 0, scratch);
  }

 private:
  const GroupedGemmCall& call_;
};

}  // namespace

Status run(const GroupedGemmCall& call, Executor& executor) {
  const GroupedGemmSelection& selection = call.selection;
  if (call.problem.is_empty()) return {};
  GIRIH_TRY(check_code(*selection.kernel));
  GIRIH_TRY(check_offsets(call.problem, call.operands.offsets));
  const Groups groups(call);
  const bool alone = selection.runs_alone(groups.count_short());
  if (alone) {
    const std::int64_t share = selection.alone.workspace_bytes;
    GIRIH_TRY(parallel_tasks(executor, selection.concurrent_groups, groups.count(),
                             [&](std::int64_t group, std::int64_t slot) noexcept {
                               const GroupRows rows = groups.rows_of(group);
                               if (groups.is_void(rows) || !groups.is_short(rows)) return;
                               static_cast<void>(groups.run(group, selection.alone, executor,
                                                            call.scratch + slot * share));
                             }));
  }
  for (std::int64_t g = 0; g < groups.count(); ++g) {
    const GroupRows rows = groups.rows_of(g);
    if (groups.is_void(rows) || (alone && groups.is_short(rows))) continue;
    GIRIH_TRY(groups.run(g, selection.together, executor, call.scratch));
  }
  return {};
}

}  // namespace girih::inline v0::cpu
