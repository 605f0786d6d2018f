#pragma once

#include <string>
#include <vector>

#include <girih/elementwise.hpp>

#include "girih/print.hpp"
#include "girih/progress.hpp"
#include "measure/statistics.hpp"
#include "plan/device_info.hpp"

namespace girih::cli {

/// What a bench of elementwise operations moves.
enum class MoveKind : std::uint8_t {
  Copy,       ///< contiguous
  CopyRows,   ///< a part of each row, which begins inside 16 bytes
  Transpose,  ///< a copy of the transposed view
  Narrow,     ///< a cast of f32 to the type
  Widen,      ///< and back
  Fill,
  Permute,    ///< rows in a random order
  Unpermute,  ///< weighted sums of pairs of rows in a random order
};
std::string_view name(MoveKind kind) noexcept;

/// A square matrix of `side` rows and columns of a type.
struct MoveCase {
  MoveKind kind = MoveKind::Copy;
  DType dtype = DType::F32;
  std::int64_t side = 8192;

  [[nodiscard]] DType source() const noexcept {
    return kind == MoveKind::Narrow ? DType::F32 : dtype;
  }
  [[nodiscard]] DType destination() const noexcept {
    return kind == MoveKind::Widen ? DType::F32 : dtype;
  }
  /// Rows of the destination.
  [[nodiscard]] std::int64_t rows() const noexcept {
    return kind == MoveKind::Unpermute ? side / 2 : side;
  }
  /// Columns that move, of `side`.
  [[nodiscard]] std::int64_t columns() const noexcept {
    return kind == MoveKind::CopyRows ? side - 3 : side;
  }
  /// Read and written.
  [[nodiscard]] std::int64_t bytes() const noexcept;
};

struct MovesOptions {
  int rounds = 11;
  double round_seconds = 0.05;
};

struct MovesRow {
  MoveCase bench;
  std::string kernel;
  Interval seconds, control, peer_seconds;
  Verdict control_verdict = Verdict::Undecided;
  Interval ratio;  ///< the peer's time over girih's, paired by round
  Verdict verdict = Verdict::Undecided;
};

/// Times a case against the system's own copy (`memcpy`) of half as many bytes, which so moves as
/// many. What girih wrote is checked first, one element in about a thousand: a wrong one is
/// DeviceFailed.
Result<MovesRow> bench_move(Runtime& runtime, const MovesOptions& options, const MoveCase& bench,
                            Progress& progress);

/// All that a run of `bench elementwise` found.
struct MovesReport {
  std::string commit;
  DeviceInfo device;
  int threads = 1;
  MovesOptions options;
  std::vector<MovesRow> rows{};
  std::vector<std::pair<MoveCase, Error>> failures{};
};
/// The object that docs/measuring.md describes.
Json to_json(const MovesReport& report);
void print_table(const MovesReport& report);

}  // namespace girih::cli
