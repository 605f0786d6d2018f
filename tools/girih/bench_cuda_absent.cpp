#include "core/error.hpp"
#include "girih/bench_clock.hpp"
#include "girih/bench_peers.hpp"

namespace girih::cli {

Result<std::unique_ptr<Peer>> load_cublaslt() {
  return error(Code::BackendUnavailable, "peer cublaslt: this build has no cuda backend");
}

Result<StreamClock> stream_clock(void*) {
  return StreamClock{};
}

Status stream_copy(void*, void*, const void*, std::size_t) {
  return error(Code::BackendUnavailable, "peer memcpy: this build has no cuda backend");
}

}  // namespace girih::cli
