#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <girih/gemm.hpp>

#include "measure/rounds.hpp"

namespace girih::cli {

/// A row-major product C = act(scales * op(A).op(B) + bias) in the memory of the peer's backend.
/// Leading dimensions in elements; the matrices of a batch lie one after the other.
struct PeerProduct {
  DType operands = DType::F32, output = DType::F32;
  bool trans_a = false, trans_b = false;
  Precision precision = Precision::Exact;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  const void* bias = nullptr;  ///< null for none; the operands' type
  Activation activation = Activation::None;
  const float* a_scale = nullptr;  ///< null for none; a factor a row of A
  const float* b_scale = nullptr;  ///< null for none; a factor a column of B
};

/// One way in which a peer makes the products of an experiment.
struct PeerWay {
  std::string kernel;            ///< what runs, as far as the peer tells; may be empty
  Contender contender;           ///< its name is unique among the ways of all peers
  std::function<Status()> once;  ///< makes the first product and waits for it
};

/// How an experiment calls its peers.
struct PeerRun {
  /// A run of a contender makes this many products; 0: one, queued by itself, not replayed.
  std::int64_t replayed = 0;
};

/// Another library, loaded if it is installed: girih itself needs none of them.
class Peer {
 public:
  virtual ~Peer() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  /// What it says of itself: version, and the kernel set that it chose.
  [[nodiscard]] virtual std::string description() const = 0;
  [[nodiscard]] virtual bool supports(DType operands, DType output) const = 0;
  /// Gets ready to make `products` in turn: the same product on several sets of operands. Fails
  /// with UnsupportedConversion if the peer has no such product.
  virtual Result<std::vector<PeerWay>> prepare(std::span<const PeerProduct> products,
                                               const PeerRun& run) = 0;
};

/// Whose memory a peer works on. InvalidOption for a name that is none.
Result<Backend> peer_backend(std::string_view name);
/// "openblas", "onednn" (set to `threads` threads) or "cublaslt". BackendUnavailable if it is not
/// installed.
Result<std::unique_ptr<Peer>> load_peer(std::string_view name, int threads);
/// The same for "cublaslt": two ways, its first heuristic and the fastest of its candidates. int8
/// products for another C than an i32 one, and those with scales, are made into i32 sums, which a
/// kernel of the benchmark's own then scales and rounds.
Result<std::unique_ptr<Peer>> load_cublaslt();

}  // namespace girih::cli
