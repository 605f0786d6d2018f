#include "girih/bench_moves.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include <girih/routing.hpp>

#include "core/error.hpp"
#include "core/format.hpp"
#include "core/storage.hpp"
#include "girih/bench_clock.hpp"
#include "girih/bench_values.hpp"
#include "measure/rounds.hpp"
#include "reference/element.hpp"

namespace girih::cli {
namespace {

constexpr double kFilled = 1;
/// Of the rows of a pair: their products are exact, and so are the sums that are checked.
constexpr std::array<float, 2> kWeights = {1, 0.5};
/// Elements from one that is checked to the next: a prime, so that all rows and columns are met.
constexpr std::int64_t kCheckStep = 1009;

std::int64_t width(DType dtype) {
  return bit_width(dtype) / 8;
}

class MoveExperiment {
 public:
  MoveExperiment(Runtime& runtime, const MovesOptions& options, const MoveCase& bench)
      : runtime_(runtime), options_(options), case_(bench) {}

  Status prepare(MovesRow& row) {
    std::mt19937_64 generator(1);
    const std::int64_t size = case_.side * case_.side;
    host_ = random_elements(size, case_.source(), generator);
    GIRIH_TRY(make(Shape{case_.side, case_.side}, case_.source(), source_));
    GIRIH_TRY(make(Shape{case_.rows(), case_.side}, case_.destination(), destination_));
    GIRIH_TRY(runtime_.upload(*source_, std::span<const std::byte>(host_)));
    GIRIH_TRY(make_views());
    if (gathers()) GIRIH_TRY(make_order(generator));
    const Result<Plan> chosen = explain();
    if (!chosen) return chosen.error();
    row.kernel = chosen->kernel;
    return prepare_peer();
  }

  Status check() {
    GIRIH_TRY(fill(runtime_, {.destination = *destination_, .value = 0}));
    GIRIH_TRY(run());
    const std::int64_t side = case_.side, bytes = width(case_.destination());
    std::vector<std::byte> got(static_cast<std::size_t>(case_.rows() * side * bytes));
    GIRIH_TRY(runtime_.download(*destination_, std::span(got)));
    std::vector<std::byte> wanted(8);
    for (std::int64_t i = 0; i < case_.rows() * case_.columns(); i += kCheckStep) {
      const std::int64_t row = i / case_.columns(), column = i % case_.columns();
      const std::int64_t to = row * side + column + (case_.kind == MoveKind::CopyRows ? 2 : 0);
      const double value = wanted_at(row, column);
      store_element(wanted.data(), case_.destination(), 0, value);
      if (std::memcmp(wanted.data(), got.data() + to * bytes, static_cast<std::size_t>(bytes)) !=
          0) {
        return error(Code::DeviceFailed, "girih is wrong: row {}, column {} of {} {}", row, column,
                     name(case_.kind), girih::name(case_.dtype));
      }
    }
    return {};
  }

  Status time(MovesRow& row, Progress& progress) {
    const auto finish = [this] { return runtime_.synchronize(); };
    std::vector<Contender> contenders = {
        {"girih", [this](std::int64_t) { return run(); }, finish},
        {"control", [this](std::int64_t) { return run(); }, finish},
        {"memcpy", [this](std::int64_t) { return peer_(); }, finish}};
    for (Contender& contender : contenders) {
      Result<StreamClock> clock = clock_of(runtime_);
      if (!clock) return clock.error();
      use_clock(contender, *std::move(clock));
    }
    const RoundOptions rounds = {
        .rounds = options_.rounds,
        .round_seconds = options_.round_seconds,
        .warm_up_seconds = 1,
        .progress = [&](int done) {
          progress.stage(formatted("{} {}: round {} of {}", name(case_.kind),
                                   girih::name(case_.dtype), done, options_.rounds));
        }};
    const Result<std::vector<Times>> times = run_rounds(contenders, rounds);
    if (!times) return times.error();
    const std::vector<double>&ours = (*times)[0].seconds, &again = (*times)[1].seconds,
          &theirs = (*times)[2].seconds;
    row.seconds = median_interval(ours);
    row.control = paired_ratio(again, ours);
    row.control_verdict = judge_control(row.control);
    row.peer_seconds = median_interval(theirs);
    row.ratio = paired_ratio(theirs, ours);
    row.verdict = judge(row.ratio, row.control);
    return {};
  }

 private:
  /// What the destination shall hold, before it is rounded to its type.
  [[nodiscard]] double wanted_at(std::int64_t row, std::int64_t column) const {
    const auto source = [&](std::int64_t r, std::int64_t c) {
      return load_element(host_.data(), case_.source(), r * case_.side + c);
    };
    const auto ordered = [&](std::int64_t r) { return source(order_[std::size_t(r)], column); };
    switch (case_.kind) {
      case MoveKind::Fill:
        return kFilled;
      case MoveKind::Transpose:
        return source(column, row);
      case MoveKind::CopyRows:
        return source(row, column + 1);
      case MoveKind::Permute:
        return ordered(row);
      case MoveKind::Unpermute:
        return static_cast<float>(kWeights[0] * ordered(2 * row) +
                                  kWeights[1] * ordered(2 * row + 1));
      default:
        return source(row, column);
    }
  }

  Status make(const Shape& shape, DType dtype, std::optional<Tensor>& tensor) {
    Result<Tensor> made = runtime_.tensor(shape, dtype);
    if (!made) return made.error();
    tensor = *std::move(made);
    return {};
  }

  Status make_views() {
    from_ = case_.kind == MoveKind::Transpose ? source_->transposed() : *source_;
    to_ = *destination_;
    if (case_.kind != MoveKind::CopyRows) return {};
    const Result<Tensor> from = source_->slice(1, 1, case_.columns() + 1);
    const Result<Tensor> to = destination_->slice(1, 2, case_.columns() + 2);
    if (!from) return from.error();
    if (!to) return to.error();
    from_ = *from;
    to_ = *to;
    return {};
  }

  /// Each row of the source once, in a random order.
  Status make_order(std::mt19937_64& generator) {
    order_.resize(static_cast<std::size_t>(case_.side / 2 * 2));
    std::iota(order_.begin(), order_.end(), 0);
    std::shuffle(order_.begin(), order_.end(), generator);
    const bool is_pairs = case_.kind == MoveKind::Unpermute;
    const std::int64_t rows = case_.rows();
    order_.resize(static_cast<std::size_t>(is_pairs ? 2 * rows : rows));
    GIRIH_TRY(make(is_pairs ? Shape{rows, 2} : Shape{rows}, DType::I32, indices_));
    GIRIH_TRY(runtime_.upload(*indices_, std::span<const std::int32_t>(order_)));
    if (!is_pairs) return {};
    std::vector<float> weights(order_.size());
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = kWeights[i % 2];
    GIRIH_TRY(make(Shape{rows, 2}, DType::F32, weights_));
    return runtime_.upload(*weights_, std::span<const float>(weights));
  }

  [[nodiscard]] bool gathers() const {
    return case_.kind == MoveKind::Permute || case_.kind == MoveKind::Unpermute;
  }
  [[nodiscard]] PermuteDesc permutation() const {
    return {.x = *from_, .sources = *indices_, .y = *to_};
  }
  [[nodiscard]] UnpermuteDesc pairs() const {
    return {.x = *from_, .rows = *indices_, .y = *to_, .weights = weights_};
  }
  [[nodiscard]] bool casts() const {
    return case_.kind == MoveKind::Narrow || case_.kind == MoveKind::Widen;
  }
  Status run() {
    if (case_.kind == MoveKind::Fill)
      return fill(runtime_, {.destination = *to_, .value = kFilled});
    if (case_.kind == MoveKind::Permute) return permute(runtime_, permutation());
    if (case_.kind == MoveKind::Unpermute) return unpermute(runtime_, pairs());
    if (casts()) return cast(runtime_, {.source = *from_, .destination = *to_});
    return copy(runtime_, {.source = *from_, .destination = *to_});
  }
  Result<Plan> explain() {
    if (case_.kind == MoveKind::Fill)
      return plan(runtime_, FillDesc{.destination = *to_, .value = kFilled});
    if (case_.kind == MoveKind::Permute) return plan(runtime_, permutation());
    if (case_.kind == MoveKind::Unpermute) return plan(runtime_, pairs());
    if (casts()) return plan(runtime_, CastDesc{.source = *from_, .destination = *to_});
    return plan(runtime_, CopyDesc{.source = *from_, .destination = *to_});
  }

  Status prepare_peer() {
    const std::int64_t bytes = case_.bytes() / 2;
    Result<Tensor> from = runtime_.tensor(Shape(bytes), DType::U8);
    Result<Tensor> to = runtime_.tensor(Shape(bytes), DType::U8);
    if (!from) return from.error();
    if (!to) return to.error();
    peer_from_ = *std::move(from);
    peer_to_ = *std::move(to);
    const std::byte* const source = detail::TensorAccess::address(*peer_from_);
    std::byte* const destination = detail::TensorAccess::address(*peer_to_);
    const auto count = static_cast<std::size_t>(bytes);
    if (runtime_.backend() == Backend::Cpu) {
      peer_ = [source, destination, count]() -> Status {
        std::memcpy(destination, source, count);
        return {};
      };
      return {};
    }
    if (runtime_.backend() != Backend::Cuda) {
      return error(Code::BackendLacks, "backend {} has no peer to copy with",
                   girih::name(runtime_.backend()));
    }
    const Result<void*> stream = runtime_.native_handle(NativeObject::CudaStream);
    if (!stream) return stream.error();
    peer_ = [stream = *stream, source, destination, count] {
      return stream_copy(stream, destination, source, count);
    };
    return {};
  }

  Runtime& runtime_;
  const MovesOptions& options_;
  const MoveCase case_;
  std::vector<std::byte> host_;
  std::vector<std::int32_t> order_;
  std::optional<Tensor> source_, destination_, from_, to_, indices_, weights_, peer_from_, peer_to_;
  std::function<Status()> peer_;
};

}  // namespace

std::string_view name(MoveKind kind) noexcept {
  switch (kind) {
    case MoveKind::Copy:
      return "copy";
    case MoveKind::CopyRows:
      return "copy-rows";
    case MoveKind::Transpose:
      return "transpose";
    case MoveKind::Narrow:
      return "narrow";
    case MoveKind::Widen:
      return "widen";
    case MoveKind::Fill:
      return "fill";
    case MoveKind::Permute:
      return "permute";
    case MoveKind::Unpermute:
      return "unpermute";
  }
  return "unknown_move";
}

std::int64_t MoveCase::bytes() const noexcept {
  const std::int64_t read = kind == MoveKind::Fill ? 0 : width(source()) * side * columns();
  const std::int64_t indices = kind == MoveKind::Permute     ? 4 * rows()
                               : kind == MoveKind::Unpermute ? 16 * rows()  // and weights
                                                             : 0;
  return read + indices + rows() * columns() * width(destination());
}

Result<MovesRow> bench_move(Runtime& runtime, const MovesOptions& options, const MoveCase& bench,
                            Progress& progress) {
  MovesRow row;
  row.bench = bench;
  MoveExperiment experiment(runtime, options, bench);
  GIRIH_TRY(experiment.prepare(row));
  GIRIH_TRY(experiment.check());
  GIRIH_TRY(experiment.time(row, progress));
  return row;
}

}  // namespace girih::cli
