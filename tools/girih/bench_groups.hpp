#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <girih/grouped.hpp>

#include "girih/bench_peers.hpp"
#include "reference/gemm.hpp"

namespace girih::cli {

/// Groups of equally many rows, each with weights [K, N] of its own.
struct GroupsShape {
  std::int64_t groups = 0, rows = 0, n = 0, k = 0;

  [[nodiscard]] double flops() const;
};
/// "128x64x4096x2048"
std::string to_string(const GroupsShape& shape);
/// The shapes of "experts", the one ladder. InvalidOption for another name.
Result<std::vector<GroupsShape>> groups_ladder(std::string_view name);
/// "8x512x4096x2048,..." as groups, rows of each, N, K.
Result<std::vector<GroupsShape>> parse_groups(std::string_view text);

/// One grouped product to time.
struct GroupsCase {
  GroupsShape shape;
  std::string ladder{};  ///< where the shape is from; may be empty
  DType operands = DType::BF16;
  DType output = DType::BF16;
};

/// The operands of a case, as many times over as fill 256 MiB, and what its result must be. On the
/// host the weights of a group are a window of one run of random numbers, which moves from group to
/// group by a prime: drawing 4.3e9 of them would take a minute.
class GroupsOperands {
 public:
  static Result<GroupsOperands> make(Runtime& runtime, const GroupsCase& bench);

  [[nodiscard]] int sets() const { return static_cast<int>(sets_.size()); }
  /// The i-th set, modulo the sets.
  [[nodiscard]] GroupedGemmDesc desc(std::int64_t i) const;
  /// The same as products of one group each.
  [[nodiscard]] Result<std::vector<GemmDesc>> products(std::int64_t i) const;
  /// The same of all sets, one set after the other.
  [[nodiscard]] std::vector<PeerProduct> peer_products() const;

  /// Fills C of the first set with NaN.
  Status poison(Runtime& runtime);
  /// DeviceFailed, naming `who`, if C of the first set holds a NaN, or in a window of one of some
  /// groups anything but the product.
  Status check(Runtime& runtime, std::string_view who);

 private:
  struct Set {
    Tensor a, b, c;
  };
  struct Window {
    std::int64_t group = 0, row = 0, column = 0, rows = 0, columns = 0;
    GemmReference want{};
  };

  explicit GroupsOperands(GroupsCase bench) : case_(std::move(bench)) {}
  Status fill(Runtime& runtime);
  Status sample(Backend backend);
  [[nodiscard]] std::span<const std::byte> weights_of(std::int64_t group) const;

  GroupsCase case_;
  std::vector<Set> sets_;
  Tensor offsets_;
  std::vector<std::byte> host_a_, host_b_, host_c_;
  std::vector<Window> windows_;
};

}  // namespace girih::cli
