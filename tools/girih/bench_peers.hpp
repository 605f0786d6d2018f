#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <girih/dtype.hpp>
#include <girih/status.hpp>

namespace girih::cli {

/// A row-major product on host memory: C = op(A).op(B), leading dimensions in elements.
struct PeerProduct {
  DType operands = DType::F32;
  bool trans_a = false, trans_b = false;
  std::int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
};

/// Another library, loaded if it is installed: girih itself needs none of them.
class Peer {
 public:
  virtual ~Peer() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  /// What it says of itself: version, and the kernel set that it chose.
  [[nodiscard]] virtual std::string description() const = 0;
  /// f32 and i8 operands give f32 and i32.
  [[nodiscard]] virtual bool supports(DType operands) const = 0;
  virtual Status multiply(const PeerProduct& product) = 0;
};

/// "openblas" or "onednn", set to `threads` threads. BackendUnavailable if it is not installed,
/// InvalidOption for another name.
Result<std::unique_ptr<Peer>> load_peer(std::string_view name, int threads);

}  // namespace girih::cli
