#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <girih/export.hpp>
#include <girih/runtime.hpp>

namespace girih::inline v0 {

/// Order in which the tiles of C are walked; bitwise neutral.
enum class Traversal : std::uint8_t { RowMajor, ColumnMajor };
GIRIH_API std::string_view name(Traversal traversal) noexcept;

/// What a call would run, why, and what it should cost. A value: nothing is held or encoded.
struct Plan {
  struct Rejected {
    std::string kernel;
    std::string reason;
  };

  std::string kernel;  ///< row of the kernel table
  Backend backend = Backend::None;
  std::string device;
  std::array<std::int64_t, 3> tile{};   ///< extents of M, N, K that one inner kernel call covers
  std::array<std::int64_t, 3> block{};  ///< extents of M, N, K between synchronisations (CPU)
  int split_k = 1;                      ///< partial sums, added in a fixed order
  Traversal traversal = Traversal::RowMajor;
  int threads = 1;                    ///< CPU threads that take part
  std::uint64_t workspace_bytes = 0;  ///< beyond the operands
  double flops = 0;                   ///< operations that the product needs
  double bytes = 0;                   ///< compulsory traffic: each operand once, C once or twice
  double predicted_seconds = 0;
  std::string reduction;           ///< class: equal classes give equal bits
  std::vector<std::string> notes;  ///< what a caller might not expect of this choice
  std::vector<Rejected> rejected;  ///< every other kernel of the operation, and why not

  /// One `field: value` line each, then the rejected kernels.
  [[nodiscard]] GIRIH_API std::string to_string() const;
};

}  // namespace girih::inline v0
