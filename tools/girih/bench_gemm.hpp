#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <girih/gemm.hpp>

#include "girih/bench_peers.hpp"
#include "girih/bench_shapes.hpp"
#include "girih/progress.hpp"
#include "measure/statistics.hpp"

namespace girih::cli {

/// How the operands of a bench lie: first letter A, second B; N as they are, T transposed views.
enum class Layout : std::uint8_t { NN, NT, TN, TT };
std::string_view name(Layout layout) noexcept;

struct BenchOptions {
  std::vector<BenchShape> shapes;
  Layout layout = Layout::NN;
  DType dtype = DType::F32;
  Precision precision = Precision::Exact;
  std::optional<Backend> backend;
  int threads = 0;
  int rounds = 11;
};

/// One contender's times on one shape.
struct BenchTimes {
  std::string name;
  Interval seconds;
};

struct BenchPeer {
  BenchTimes times;
  Interval ratio;  ///< peer's time over girih's, paired by round: above 1 girih is faster
  Verdict verdict = Verdict::Undecided;
};

struct BenchRow {
  BenchShape shape;
  std::string kernel;
  int sets = 1;  ///< of operands, in rotation
  BenchTimes girih;
  Interval control;  ///< girih against itself
  std::vector<BenchPeer> peers;
};

/// Times one shape against the peers that take its types. The results are checked first, on sample
/// rows against the oracle: a wrong one is DeviceFailed and no time is taken.
Result<BenchRow> bench_gemm(Runtime& runtime, const BenchOptions& options, const BenchShape& shape,
                            const std::vector<std::unique_ptr<Peer>>& peers, Progress& progress);

}  // namespace girih::cli
