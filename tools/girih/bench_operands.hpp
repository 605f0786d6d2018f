#pragma once

#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <girih/gemm.hpp>

#include "girih/bench_peers.hpp"
#include "girih/bench_shapes.hpp"
#include "reference/gemm.hpp"

namespace girih::cli {

/// How the operands of a bench lie: first letter A, second B; N as they are, T transposed views.
enum class Layout : std::uint8_t { NN, NT, TN, TT };
std::string_view name(Layout layout) noexcept;

/// What follows the sum in a bench of epilogues.
struct BenchEpilogue {
  bool bias = false;
  Activation activation = Activation::None;
  bool scales = false;  ///< a factor for each row of A and each column of B
};

/// One product to time.
struct BenchCase {
  BenchShape shape;
  std::string ladder{};  ///< where the shape is from; may be empty
  Layout layout = Layout::NN;
  DType operands = DType::F32;
  DType output = DType::F32;
  Precision precision = Precision::Exact;
  Reproducibility reproducibility = Reproducibility::PerShape;
  BenchEpilogue epilogue{};
};

/// The operands of a case, several times over, and what its result must be. Values are uniform in
/// [-1, 1), or all of int8: never zeros, which draw less power and so run faster. All sets hold the
/// same values; together they fill 256 MiB, so that a call does not find its own in a cache.
class BenchOperands {
 public:
  static Result<BenchOperands> make(Runtime& runtime, const BenchCase& bench);

  [[nodiscard]] int sets() const { return static_cast<int>(sets_.size()); }
  /// The product on the i-th set, modulo the sets, with the case's epilogue or without.
  [[nodiscard]] GemmDesc desc(std::int64_t i, bool fused) const;
  /// One a set.
  [[nodiscard]] std::vector<PeerProduct> peer_products(bool fused) const;

  /// Fills C of the first set with NaN (-1 in i32).
  Status poison(Runtime& runtime);
  /// DeviceFailed, naming `who`, if C of the first set holds a NaN, or in one of the sampled
  /// windows anything but the product; else the largest error in them.
  Result<double> check(Runtime& runtime, bool fused, std::string_view who);

 private:
  struct Set {
    Tensor a, b, c;
  };
  /// A part of C and what it must be, without and with the epilogue.
  struct Window {
    std::int64_t batch = 0, row = 0, column = 0, rows = 0, columns = 0;
    GemmReference plain, fused;
  };

  BenchOperands(BenchCase bench, Backend backend) : case_(std::move(bench)), backend_(backend) {}
  Status fill(Runtime& runtime);
  Status fill_scales(Runtime& runtime, std::mt19937_64& generator);
  Status sample();
  [[nodiscard]] Result<GemmReference> reference(const Window& window, bool fused) const;

  BenchCase case_;
  Backend backend_;
  std::vector<Set> sets_;
  std::optional<Tensor> bias_, a_scale_, b_scale_;
  std::vector<std::byte> host_a_, host_b_, host_bias_, host_c_, host_a_scale_, host_b_scale_;
  std::vector<Window> windows_;
};

}  // namespace girih::cli
