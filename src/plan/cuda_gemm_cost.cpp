#include "plan/cuda_gemm_cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/checked.hpp"
#include "plan/cuda_f32_cost.hpp"
#include "plan/cuda_fast_f32.hpp"
#include "plan/cuda_gemm_finish.hpp"
#include "plan/cuda_gemm_layout.hpp"
#include "plan/cuda_gemm_tuned.hpp"
#include "plan/cuda_mma.hpp"
#include "plan/cuda_skinny.hpp"

namespace girih::inline v0 {
namespace {

using cuda::Major;
using cuda::TileConfig;
using cuda::TileForm;

/// Times in microseconds, cycles of one multiprocessor at the clock that it holds under load.
/// Fitted to 5200 timings of 60 shapes on an H200 (132 multiprocessors, 60 MB of L2): the choice is
/// 2.7 % behind the best measured plan on average.
constexpr double kGigahertz = 1.75;
constexpr double kLaunch = 2.14;            // an empty main loop, without the epilogue
constexpr double kStageCycles = 42.4;       // barrier work a stage
constexpr double kLeastColumns = 59;        // a narrower product takes as long
constexpr double kIngress = 84;             // bytes a cycle into one shared memory
constexpr double kBoxCycles = 1.55;         // the copy engine, a row of a box, whatever its width
constexpr double kEpilogueFixed = 535;      // cycles
constexpr double kStoreBytes = 40.6;        // a cycle, out of one multiprocessor, box stores
constexpr double kGeneralBytes = 8;         // the same through the general epilogue
constexpr double kUnitCycles = 658;         // from one unit to the next
constexpr double kL2 = 14.2e6;              // bytes a us out of L2, a multicast counted once
constexpr double kMemoryShare = 0.854;      // of the nominal bandwidth that reads reach
constexpr double kMemoryLaunch = 1.03;      // what a memory-bound launch adds to its bytes
constexpr double kSustained = 968e6 / 132;  // flops a us and multiprocessor that power leaves
constexpr double kPingPong = 0.934;         // main loop of a ping-pong tile, relative
constexpr double kPingPongPower = 1.035;    // sustained rate of tiles whose products never pause
constexpr double kReduce = 2.16;            // the second kernel of a split product
constexpr double kReduceBytes = 4.15e6;     // a us: partials, written and read
constexpr double kFinishElements =
    2.2e11;                        // a s: elements of the product that a second kernel finishes
constexpr double kExchange = 2.0;  // a cluster that splits K: two synchronisations
constexpr double kExchangeBytes = 39.7;  // a cycle, between the memories of a cluster
// Main loop of a cluster that splits K, relative: 1.1 measured at 2048 x 512 x 2560, 1.7 to 2.2 at
// 2048 x 328 x 10240.
constexpr double kSplitLoop = 1.5;
constexpr double kCluster = 0.05;
constexpr double kClusterStage = 60.3;   // cycles a stage more where blocks wait for one another
constexpr double kTrafficPower = 27.2;   // what operand traffic takes from the power for products
constexpr double kSharedPower = 1.22;    // of an operand that a cluster multicasts, relative
constexpr double kShortRows = 0.113;     // what 128-byte pieces of a row cost memory
constexpr double kSustainedTf32 = 0.47;  // the rate that power leaves, of cuBLASLt's products
// Power holds products of 8-bit types at this clock, whatever the tile: 1.30 to 1.40 at 4096 cubed,
// where the units of different tiles were busy for 0.69 to 0.91 of the time.
constexpr double kGigahertzOfEighths = 1.31;
constexpr double kPromotion = 40;    // cycles a stage: two consumers add in turns
constexpr double kBlockScales = 60;  // cycles a stage: their loads and products
constexpr double kPackLaunch = 2;    // a copy before or after the product

constexpr std::int64_t kMaxCount = std::numeric_limits<std::int32_t>::max() - 1024;  // and a tile
constexpr std::int64_t kPartialLimit = std::int64_t{256} << 20;
constexpr std::int64_t kMaxSplitUnits = 1056;  // more tiles than that fill the device without one
constexpr int kSplits[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32};
constexpr double kRounding = 1 - 1e-9;  // of a bound that is added up in another order

/// One way to launch a product on one tile.
struct Form {
  int cluster_rows = 1, cluster_columns = 1;
  int cluster_split = 1;
  int splits = 1;
  bool swapped = false;
};

/// Where tiles leave through boxes or whole sectors, see the kernels' StoreMode.
bool has_fast_epilogue(const GemmProblem& problem, const TileConfig& tile) noexcept {
  const MatrixLayout& c = problem.c;
  if (problem.reads_c() || problem.residual) return false;
  const bool scaled = (problem.a_scale && !problem.a_scale->is_blocked) ||
                      (problem.b_scale && !problem.b_scale->is_blocked);
  if (scaled && !(scales_in_boxes(tile) && bit_width(c.dtype) == 16)) return false;
  const std::int64_t step = bit_width(c.dtype) == 32 ? 2 : 8;  // elements of a piece
  const bool rows = problem.m <= 1 || c.column_stride != 1 || c.row_stride % step == 0;
  return rows && c.alignment >= step * bit_width(c.dtype) / 8 &&
         (step == 2 || problem.c_columns() % 8 == 0);
}

/// A product as a tile sees it.
class TileModel {
 public:
  TileModel(const GemmProblem& problem, const KernelInfo& kernel, const DeviceInfo& device) noexcept
      : TileModel(problem, kernel, device, cuda_operand_a(problem).major,
                  cuda_operand_b(problem).major) {}
  TileModel(const GemmProblem& problem, const KernelInfo& kernel, const DeviceInfo& device, Major a,
            Major b) noexcept
      : problem_(problem),
        device_(device),
        tile_(tile_of(kernel)),
        a_(a),
        b_(b),
        stages_(ceil_div(problem.k, tile_.depth)),
        out_bytes_(bit_width(problem.c.dtype) / 8.0),
        fast_epilogue_(has_fast_epilogue(problem, tile_)),
        sides_{side(false), side(true)} {}

  [[nodiscard]] bool allows(const Form& form) const noexcept {
    const std::int64_t rows = ceil_div(form.swapped ? problem_.n : problem_.m, tile_.rows);
    const std::int64_t columns = ceil_div(form.swapped ? problem_.m : problem_.n, tile_.cols);
    if (form.swapped && problem_.has_block_scales()) return false;
    if (form.cluster_rows > 1 && rows < 2) return false;
    if (form.cluster_columns > 1 && columns < 2) return false;
    const std::int64_t slices = std::int64_t{form.splits} * form.cluster_split;
    const auto units = checked_mul(rows * columns, problem_.batch * slices);
    if (!units || *units >= kMaxCount) return false;
    // A slice keeps at least four stages, and what splits has too few tiles for the device.
    if (slices > 1 && (stages_ < 4 * slices || *units > kMaxSplitUnits)) return false;
    if (form.cluster_split > 1 && !cuda::cluster_split_fits(tile_, form.cluster_split))
      return false;
    return form.splits == 1 || partial_bytes(form) <= static_cast<double>(kPartialLimit);
  }

  /// Microseconds.
  [[nodiscard]] double predict(const Form& form) const noexcept {
    const int blocks = form.cluster_rows * form.cluster_columns;
    const std::int64_t slices = std::int64_t{form.splits} * form.cluster_split;
    const auto units = static_cast<double>(
        ceil_div(form.swapped ? problem_.n : problem_.m, tile_.rows * form.cluster_rows) *
        ceil_div(form.swapped ? problem_.m : problem_.n, tile_.cols * form.cluster_columns) *
        problem_.batch * slices);
    const auto depth_stages = static_cast<double>(ceil_div(stages_, slices));
    const double width = std::max<double>(tile_.cols, kLeastColumns);
    const double stage = side_of(form).stage_cycles + (blocks > 1 ? kClusterStage : 0);
    const double loop =
        (depth_stages * stage + kUnitCycles) * (form.cluster_split > 1 ? kSplitLoop : 1.0);
    const double end = epilogue(form);
    const double slots = cluster_slots(blocks * form.cluster_split) * form.cluster_split;
    const double turns = std::ceil(units / slots);
    const bool overlaps = tile_.form == TileForm::PingPong;
    double cycles = overlaps ? turns * std::max(loop, end / 2) + end : turns * (loop + end);
    if (form.cluster_split > 1) {
      cycles += 4.0 * tile_.rows * tile_.cols * (form.cluster_split - 1) / form.cluster_split /
                kExchangeBytes;
    }
    const double depth = depth_stages * tile_.depth;
    const double padded = 2 * units * blocks * tile_.rows * width * depth;
    const double loaded = units * depth * tile_.bytes *
                          (tile_.rows * form.cluster_rows + tile_.cols * form.cluster_columns);
    double us = cycles / (gigahertz() * 1e3);
    us = std::max(us, sustained(padded) * (1 + kTrafficPower * traffic(form)));
    us = std::max(us, loaded / kL2);
    us = std::max(us, memory(form));
    us += kLaunch + (blocks > 1 ? kCluster : 0) + (form.cluster_split > 1 ? kExchange : 0);
    return us + reduce(form);
  }

  /// Microseconds that no form with these sides takes less than, whatever its clusters and as many
  /// slices or more: all multiprocessors multiply whole tiles to the end, nothing waits.
  [[nodiscard]] double least(const Form& form) const noexcept {
    return (std::max(side_of(form).least, memory(form)) + kLaunch + reduce(form)) * kRounding;
  }

  /// The same of this many slices and no more, which one turn of a tile takes.
  [[nodiscard]] double one_turn(const Form& form) const noexcept {
    const double stages = static_cast<double>(stages_) / (form.splits * form.cluster_split);
    const double cycles = stages * side_of(form).stage_cycles + kUnitCycles;
    return (cycles / (kGigahertz * 1e3) + kLaunch + reduce(form)) * kRounding;
  }

  /// Slices of a plain launch that give every multiprocessor a tile.
  [[nodiscard]] Form even(bool swapped, int most_splits) const noexcept {
    Form form{.swapped = swapped};
    const double slices = device_.multiprocessors / side_of(form).tiles;
    for (const int splits : kSplits) {
      if (splits <= std::min<double>(slices, most_splits)) form.splits = splits;
    }
    while (form.splits > 1 && !allows(form)) form.splits /= 2;
    return form;
  }

 private:
  /// What all forms with the same sides share.
  struct Side {
    double tiles;
    double stage_cycles;
    double least;  ///< microseconds of products alone
  };
  [[nodiscard]] Side side(bool swapped) const noexcept {
    const double tiles =
        static_cast<double>(ceil_div(swapped ? problem_.n : problem_.m, tile_.rows)) *
        static_cast<double>(ceil_div(swapped ? problem_.m : problem_.n, tile_.cols)) *
        static_cast<double>(problem_.batch);
    const double width = std::max<double>(tile_.cols, kLeastColumns);
    const double cycles = stage_cycles(swapped ? b_ : a_, swapped ? a_ : b_, width);
    const double stages = tiles * static_cast<double>(stages_);
    const double work =
        stages * cycles / std::max(device_.multiprocessors, 1) / (gigahertz() * 1e3);
    const double power = sustained(2 * stages * tile_.rows * width * tile_.depth);
    return {tiles, cycles, std::max(work, power * (1 + kTrafficPower * traffic(Form{})))};
  }
  [[nodiscard]] const Side& side_of(const Form& form) const noexcept {
    return sides_[form.swapped ? 1 : 0];
  }

  [[nodiscard]] double gigahertz() const noexcept {
    return tile_.bytes == 1 ? kGigahertzOfEighths : kGigahertz;
  }
  /// Microseconds for `flops` as long as power lasts; 0 where that is in the clock.
  [[nodiscard]] double sustained(double flops) const noexcept {
    if (tile_.bytes == 1) return 0;
    const bool ping_pong = tile_.form == TileForm::PingPong;
    return flops / (kSustained * sustained_rate() * device_.multiprocessors *
                    (ping_pong ? kPingPongPower : 1.0));
  }
  /// Of the second kernel, if there is one.
  [[nodiscard]] double reduce(const Form& form) const noexcept {
    return form.splits > 1 ? kReduce + 2 * partial_bytes(form) / kReduceBytes : 0;
  }
  /// What power leaves, relative to 16-bit operands.
  [[nodiscard]] double sustained_rate() const noexcept {
    return tile_.bytes == 4 ? kSustainedTf32 : 1.0;
  }
  [[nodiscard]] double stage_cycles(Major rows, Major columns, double width) const noexcept {
    double products = tile_.rows * width * tile_.depth * tile_.bytes / 4096.0 *
                      (tile_.form == TileForm::PingPong ? kPingPong : 1.0);
    if (tile_.scales_blocks) products += kBlockScales;
    // Two consumers add two sets of sums under one another's products.
    const bool hides = tile_.consumers == 2 && cuda::promotes_in_turns(tile_);
    if (tile_.promotes && !hides) products += kPromotion * (tile_.consumers == 1 ? 2 : 1);
    const auto box_rows_of = [this](Major major, int extent) {
      return cuda::loaded_extent(major, extent) * tile_.depth /
             cuda::box_width(major, extent, tile_.bytes);
    };
    const double box_rows = box_rows_of(rows, tile_.rows) + box_rows_of(columns, tile_.cols);
    const double copies =
        std::max(cuda::stage_bytes(tile_, rows, columns) / kIngress, box_rows * kBoxCycles);
    return std::max(products, copies) + kStageCycles;
  }

  [[nodiscard]] double epilogue(const Form& form) const noexcept {
    const bool fast = form.splits > 1 || fast_epilogue_;
    const double bytes = form.splits > 1 ? 4 : out_bytes_;
    return kEpilogueFixed + tile_.rows * tile_.cols * bytes / form.cluster_split /
                                (fast ? kStoreBytes : kGeneralBytes);
  }

  /// Clusters that run at once. One stays inside a group of 16 or 18 multiprocessors, some of which
  /// are switched off: 32 clusters of 4 took two turns on an H200.
  [[nodiscard]] double cluster_slots(int blocks) const noexcept {
    const int sms = device_.multiprocessors;
    return std::max(1, blocks <= 2 ? sms / blocks : sms * 17 / 20 / blocks);
  }

  [[nodiscard]] double traffic(const Form& form) const noexcept {
    return (form.cluster_columns > 1 ? kSharedPower : 1.0) / tile_.rows +
           (form.cluster_rows > 1 ? kSharedPower : 1.0) / tile_.cols;
  }

  [[nodiscard]] double partial_bytes(const Form& form) const noexcept {
    if (form.splits == 1) return 0;
    return 4.0 * static_cast<double>(problem_.batch) * form.splits *
           static_cast<double>(problem_.m) * static_cast<double>(problem_.n);
  }

  [[nodiscard]] double memory(const Form& form) const noexcept {
    const auto m = static_cast<double>(problem_.m), n = static_cast<double>(problem_.n);
    const auto k = static_cast<double>(problem_.k);
    const double moved =
        static_cast<double>(problem_.batch) * (tile_.bytes * (m * k + k * n) + out_bytes_ * m * n);
    const double rate = device_.memory_gb_per_s * 1e3 * kMemoryShare;
    return (moved + partial_bytes(form) / 2) / rate *
               (1 + kShortRows * 128 / (tile_.depth * tile_.bytes)) +
           kMemoryLaunch;
  }

  const GemmProblem& problem_;
  const DeviceInfo& device_;
  TileConfig tile_;
  Major a_, b_;
  std::int64_t stages_;
  double out_bytes_;
  bool fast_epilogue_;
  Side sides_[2];
};

/// Calls offer(form) for every form of a launch whose side passes, in a fixed order.
template <class Side, class Offer>
void for_each_form(int max_splits, const Side& passes,
                   const Offer& offer) noexcept(noexcept(offer(Form{}))) {
  for (const bool swapped : {false, true}) {
    if (!passes(Form{.swapped = swapped})) continue;
    for (int split = 2; split <= std::min(8, max_splits); split *= 2) {
      if (!offer(Form{.cluster_split = split, .swapped = swapped})) continue;
    }
    for (const auto& [rows, columns] : {std::pair{1, 1}, {2, 1}, {1, 2}}) {
      for (const int splits : kSplits) {
        if (splits > max_splits) break;
        const Form form{
            .cluster_rows = rows, .cluster_columns = columns, .splits = splits, .swapped = swapped};
        if (!offer(form)) break;  // more slices are refused for the same reason
      }
    }
  }
}

/// Copies before and after the product, in seconds.
double copy_seconds(const CudaGemmLayout& layout, const GemmProblem& problem,
                    const DeviceInfo& device) noexcept {
  const int copies = layout.a.packed + layout.b.packed + layout.packs_residual + layout.packs_bias +
                     layout.stages_c * (problem.reads_c() ? 2 : 1);
  if (copies == 0) return 0;
  const double bytes = 2 * static_cast<double>(layout.bytes);
  return copies * kPackLaunch * 1e-6 + bytes / (device.memory_gb_per_s * 1e9 * kMemoryShare);
}

bool counts_fit(const GemmProblem& problem) noexcept {
  return problem.m <= kMaxCount && problem.n <= kMaxCount && problem.k <= kMaxCount &&
         problem.batch <= kMaxCount;
}

/// A split changes the order of a sum, which integers do not mind.
int most_splits(const GemmProblem& problem) noexcept {
  if (problem.a.dtype == DType::I8) return 32;
  return problem.reproducibility == Reproducibility::RowInvariant ? 1 : 32;
}

int default_band(const KernelInfo& kernel, const Form& form) noexcept {
  return kernel.tile_m * form.cluster_rows >= 256 ? 4 : 8;
}

/// What follows from the form of a launch.
void set_form(const GemmProblem& problem, const KernelInfo& kernel, const DeviceInfo& device,
              const Form& form, double microseconds, GemmSelection& choice) noexcept {
  choice.kernel = &kernel;
  choice.cluster_rows = form.cluster_rows;
  choice.cluster_columns = form.cluster_columns;
  choice.split_k = form.splits * form.cluster_split;
  choice.split_kind = form.splits > 1          ? SplitKind::Workspace
                      : form.cluster_split > 1 ? SplitKind::Cluster
                                               : SplitKind::None;
  choice.swaps_sides = form.swapped;
  if (problem.is_empty()) return;
  const CudaGemmLayout layout = cuda_gemm_layout(problem, 1);  // partial sums are no copies
  choice.workspace_bytes = cuda_gemm_pieces(problem, form.splits).bytes;
  choice.predicted_seconds = microseconds * 1e-6 + copy_seconds(layout, problem, device);
}

bool takes(const GemmProblem& problem, const KernelInfo& kernel) noexcept {
  // A stage of 256 of K would take factors from beyond the last ones.
  const bool has_factors =
      !problem.has_block_scales() || round_up(problem.k, kScaledDepth) % kernel.tile_k == 0;
  return counts_fit(problem) && has_factors;
}

/// The measured launch, if there is one that may be used.
const CudaTunedRow* tuned_row(const GemmProblem& problem, const KernelInfo& kernel,
                              const DeviceInfo& device) noexcept {
  const CudaTunedRow* const row = find_tuned(problem, kernel, device);
  const bool splits = row != nullptr && (row->splits > 1 || row->cluster_split > 1);
  const bool invariant = problem.reproducibility == Reproducibility::RowInvariant;
  return splits && invariant ? nullptr : row;
}

/// Leaves out launches of more than `enough` microseconds.
GemmSelection wgmma_candidate(const GemmProblem& problem, const KernelInfo& kernel,
                              const DeviceInfo& device, double enough) noexcept {
  GemmSelection choice;
  if (!takes(problem, kernel)) return choice;
  const TileModel model(problem, kernel, device);
  Form best;
  double microseconds = std::numeric_limits<double>::infinity();
  if (problem.is_empty() || problem.skips_product()) {
    microseconds = kReduce;
  } else if (const CudaTunedRow* row = tuned_row(problem, kernel, device)) {
    best = {row->cluster_rows, row->cluster_columns, row->cluster_split, row->splits,
            row->swaps_sides};
    microseconds = model.predict(best);
    choice.is_tuned = true;
    choice.band = row->band;
    choice.traversal = row->band_columns ? Traversal::ColumnMajor : Traversal::RowMajor;
  } else {
    const auto may_win = [&](const Form& form) noexcept {
      return model.least(form) <= std::min(microseconds, enough);
    };
    for_each_form(most_splits(problem), may_win, [&](const Form& form) noexcept {
      if (!may_win(form) || !model.allows(form)) return false;
      if (model.one_turn(form) > std::min(microseconds, enough)) return true;
      const double time = model.predict(form);
      if (time < microseconds) {
        microseconds = time;
        best = form;
      }
      return true;
    });
    choice.band = default_band(kernel, best);
  }
  if (microseconds == std::numeric_limits<double>::infinity()) return choice;
  set_form(problem, kernel, device, best, microseconds, choice);
  return choice;
}

GemmSelection simt_candidate(const GemmProblem& problem, const KernelInfo& kernel,
                             const SelectionContext& context) noexcept {
  const DeviceInfo& device = *context.device;
  GemmSelection choice;
  // A 16-bit product comes here when its extents leave the matrix rows, which would change a row's
  // bits with M.
  const bool is_substitute = problem.path == Path::Auto && problem.a.dtype != DType::F32 &&
                             problem.a.dtype != DType::I8 && context.forced_kernel.empty() &&
                             !counts_fit(problem);
  if (is_substitute && problem.reproducibility == Reproducibility::RowInvariant) return choice;
  choice.kernel = &kernel;
  const auto tiles = [](std::int64_t extent, std::int64_t tile) {
    return std::ceil(static_cast<double>(extent) / static_cast<double>(tile));
  };
  const double units = tiles(problem.m, kernel.tile_m) * tiles(problem.n, kernel.tile_n) *
                       static_cast<double>(problem.batch);
  const double unit_flops = 2.0 * static_cast<double>(kernel.tile_m * kernel.tile_n) *
                            static_cast<double>(problem.skips_product() ? 0 : problem.k);
  const double sms = std::max(1, device.multiprocessors);
  const double rate = kernel.flops_per_cycle * device.clock_ghz * 1e9 * 0.4;
  choice.predicted_seconds =
      std::max(std::ceil(units / sms) * unit_flops / rate,
               problem.bytes() / (device.memory_gb_per_s * 1e9 * kMemoryShare)) +
      3e-6;
  return choice;
}

/// One launch, whose epilogue has the gate; no kernel where it cannot.
GemmSelection joined_candidate(const GemmProblem& problem, const KernelInfo& kernel,
                               const DeviceInfo& device) noexcept {
  GemmSelection choice;
  if (!cuda_gate_halves(problem, kernel) || !counts_fit(problem)) return choice;
  const TileModel model(problem, kernel, device);
  const Form form;
  if (!model.allows(form)) return choice;
  choice.band = default_band(kernel, form);
  choice.joins_halves = true;
  set_form(problem, kernel, device, form, model.predict(form), choice);
  return choice;
}

/// The launch of A.B into f32 sums, and a pass over them; or one launch for both.
GemmSelection finished_candidate(const GemmProblem& problem, const KernelInfo& kernel,
                                 const SelectionContext& context, double enough) noexcept {
  GemmSelection choice = cuda_gemm_candidate(cuda_finish_product(problem, problem.batch, problem.m),
                                             kernel, context, enough);
  const GemmSelection joined = joined_candidate(problem, kernel, *context.device);
  if (choice.kernel == nullptr) return joined;
  if (problem.is_empty()) return choice;
  const int splits = choice.split_kind == SplitKind::Workspace ? choice.split_k : 1;
  choice.workspace_bytes = cuda_finish_parts(problem, kernel, splits).bytes;
  const double elements = static_cast<double>(problem.m) * static_cast<double>(problem.n) *
                          static_cast<double>(problem.batch);
  const double result_bytes =
      static_cast<double>(bit_width(problem.c.dtype)) / (problem.gate ? 16 : 8);
  choice.predicted_seconds +=
      kReduce * 1e-6 + elements / kFinishElements +
      elements * (4 + result_bytes) / (context.device->memory_gb_per_s * 1e9 * kMemoryShare);
  const bool is_faster = joined.predicted_seconds < choice.predicted_seconds;
  return joined.kernel != nullptr && is_faster ? joined : choice;
}

}  // namespace

GemmSelection cuda_gemm_candidate(const GemmProblem& problem, const KernelInfo& kernel,
                                  const SelectionContext& context, double enough) noexcept {
  if (cuda_has_finish(problem)) return finished_candidate(problem, kernel, context, enough);
  if (kernel.skinny) return cuda_skinny_candidate(problem, kernel, context);
  if (kernel.splits_f32) return cuda_fast_candidate(problem, kernel, context);
  if (kernel.mma) return cuda_mma_candidate(problem, kernel, *context.device);
  if (cuda_f32_tile(kernel) >= 0) return cuda_f32_candidate(problem, kernel, *context.device);
  return kernel.form == TileForm::None ? simt_candidate(problem, kernel, context)
                                       : wgmma_candidate(problem, kernel, *context.device, enough);
}

double cuda_gemm_enough(const GemmProblem& asked, const Demand& demand,
                        const SelectionContext& context) noexcept {
  double enough = std::numeric_limits<double>::infinity();
  if (asked.is_empty() || asked.skips_product()) return enough;
  const DeviceInfo& device = *context.device;
  const GemmProblem problem =
      cuda_has_finish(asked) ? cuda_finish_product(asked, asked.batch, asked.m) : asked;
  const Major a = cuda_operand_a(problem).major, b = cuda_operand_b(problem).major;
  for (const KernelInfo& kernel : context.kernels) {
    if (kernel.form == TileForm::None || kernel.splits_f32 || !kernel.serves(demand.op) ||
        obstacle(demand, kernel, context) != Obstacle::None || !takes(problem, kernel)) {
      continue;
    }
    if (tuned_row(problem, kernel, device) != nullptr) return 0;
    const TileModel model(problem, kernel, device, a, b);
    for (const bool swapped : {false, true}) {
      const Form form = model.even(swapped, most_splits(problem));
      if (model.allows(form)) enough = std::min(enough, model.predict(form));
    }
  }
  return enough;
}

std::vector<GemmSelection> cuda_gemm_launches(const GemmProblem& problem, const KernelInfo& kernel,
                                              const DeviceInfo& device) {
  std::vector<GemmSelection> launches;
  if (kernel.form == TileForm::None || kernel.splits_f32 || problem.is_empty() ||
      problem.skips_product() || !counts_fit(problem)) {
    return launches;
  }
  const TileModel model(problem, kernel, device);
  const auto any_side = [](const Form&) { return true; };
  for_each_form(most_splits(problem), any_side, [&](const Form& form) {
    if (!model.allows(form)) return false;
    GemmSelection& launch = launches.emplace_back();
    launch.band = default_band(kernel, form);
    set_form(problem, kernel, device, form, model.predict(form), launch);
    return true;
  });
  std::stable_sort(launches.begin(), launches.end(),
                   [](const GemmSelection& a, const GemmSelection& b) {
                     return a.predicted_seconds < b.predicted_seconds;
                   });
  return launches;
}

}  // namespace girih::inline v0
