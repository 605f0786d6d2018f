#include "girih/bench_peers.hpp"

#include <cstdlib>
#include <limits>

#include "core/error.hpp"
#include "core/format.hpp"
#include "girih/shared_library.hpp"

namespace girih::cli {
namespace {

bool fits_int(const PeerProduct& product) {
  constexpr std::int64_t kMax = std::numeric_limits<int>::max();
  return product.m <= kMax && product.n <= kMax && product.k <= kMax && product.lda <= kMax &&
         product.ldb <= kMax && product.ldc <= kMax;
}

/// A peer that multiplies host matrices, one call a product.
class HostPeer : public Peer {
 public:
  Result<std::vector<PeerWay>> prepare(std::span<const PeerProduct> products,
                                       const PeerRun&) final {
    const PeerProduct& first = products.front();
    if (first.batch > 1 || first.bias != nullptr || first.activation != Activation::None ||
        first.a_scale != nullptr || first.b_scale != nullptr) {
      return error(Code::UnsupportedConversion, "peer {} has no batches and no epilogues", name());
    }
    if (!fits_int(first)) {
      return error(Code::UnsupportedConversion, "peer {}: an extent exceeds 32 bits", name());
    }
    const std::vector<PeerProduct> sets(products.begin(), products.end());
    const auto run = [this, sets](std::int64_t i) {
      return multiply(sets[static_cast<std::size_t>(i) % sets.size()]);
    };
    return std::vector<PeerWay>{
        {.kernel = {}, .contender = {name(), run, {}}, .once = [run] { return run(0); }}};
  }

 private:
  virtual Status multiply(const PeerProduct& product) = 0;
};

class OpenBlas final : public HostPeer {
 public:
  static Result<std::unique_ptr<Peer>> load(int threads) {
    const Result<SharedLibrary> library = SharedLibrary::open({"libopenblas.so.0"});
    if (!library) return library.error();
    auto peer = std::make_unique<OpenBlas>();
    void (*set_threads)(int) = nullptr;
    if (!library->find("cblas_sgemm", peer->sgemm_) ||
        !library->find("openblas_get_config", peer->config_) ||
        !library->find("openblas_set_num_threads", set_threads)) {
      return error(Code::BackendUnavailable, "libopenblas.so.0 lacks cblas_sgemm");
    }
    set_threads(threads);
    return peer;
  }

  [[nodiscard]] std::string name() const override { return "openblas"; }
  [[nodiscard]] std::string description() const override { return config_(); }
  [[nodiscard]] bool supports(DType operands, DType output) const override {
    return operands == DType::F32 && output == DType::F32;
  }

 private:
  Status multiply(const PeerProduct& p) override {
    constexpr int kRowMajor = 101;
    constexpr int kNoTrans = 111;
    constexpr int kTrans = 112;
    sgemm_(kRowMajor, p.trans_a ? kTrans : kNoTrans, p.trans_b ? kTrans : kNoTrans,
           static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.k), 1.0F,
           static_cast<const float*>(p.a), static_cast<int>(p.lda), static_cast<const float*>(p.b),
           static_cast<int>(p.ldb), 0.0F, static_cast<float*>(p.c), static_cast<int>(p.ldc));
    return {};
  }

  using Sgemm = void(int, int, int, int, int, int, float, const float*, int, const float*, int,
                     float, float*, int);
  Sgemm* sgemm_ = nullptr;
  char* (*config_)() = nullptr;
};

class OneDnn final : public HostPeer {
 public:
  static Result<std::unique_ptr<Peer>> load(int threads) {
    // It runs on OpenMP, which reads this when it starts.
    ::setenv("OMP_NUM_THREADS", formatted("{}", threads).c_str(), 1);
    const Result<SharedLibrary> library = SharedLibrary::open({"libdnnl.so.3", "libdnnl.so.2"});
    if (!library) return library.error();
    auto peer = std::make_unique<OneDnn>();
    if (!library->find("dnnl_sgemm", peer->sgemm_) ||
        !library->find("dnnl_gemm_s8s8s32", peer->gemm_s8_) ||
        !library->find("dnnl_version", peer->version_)) {
      return error(Code::BackendUnavailable, "libdnnl lacks dnnl_sgemm");
    }
    return peer;
  }

  [[nodiscard]] std::string name() const override { return "onednn"; }
  [[nodiscard]] std::string description() const override {
    const int* const version = version_();  // major, minor, patch: the structure's first fields
    return formatted("oneDNN {}.{}.{}", version[0], version[1], version[2]);
  }
  [[nodiscard]] bool supports(DType operands, DType output) const override {
    return (operands == DType::F32 && output == DType::F32) ||
           (operands == DType::I8 && output == DType::I32);
  }

 private:
  Status multiply(const PeerProduct& p) override {
    const char trans_a = p.trans_a ? 'T' : 'N';
    const char trans_b = p.trans_b ? 'T' : 'N';
    int status = 0;
    if (p.operands == DType::F32) {
      status =
          sgemm_(trans_a, trans_b, p.m, p.n, p.k, 1.0F, p.a, p.lda, p.b, p.ldb, 0.0F, p.c, p.ldc);
    } else {
      const std::int32_t zero = 0;
      status = gemm_s8_(trans_a, trans_b, 'F', p.m, p.n, p.k, 1.0F, p.a, p.lda, 0, p.b, p.ldb, 0,
                        0.0F, p.c, p.ldc, &zero);
    }
    if (status != 0) return error(Code::DeviceFailed, "onednn: status {}", status);
    return {};
  }

  using Sgemm = int(char, char, std::int64_t, std::int64_t, std::int64_t, float, const void*,
                    std::int64_t, const void*, std::int64_t, float, void*, std::int64_t);
  using GemmS8 = int(char, char, char, std::int64_t, std::int64_t, std::int64_t, float, const void*,
                     std::int64_t, std::int8_t, const void*, std::int64_t, std::int8_t, float,
                     void*, std::int64_t, const std::int32_t*);
  Sgemm* sgemm_ = nullptr;
  GemmS8* gemm_s8_ = nullptr;
  const int* (*version_)() = nullptr;
};

}  // namespace

Result<Backend> peer_backend(std::string_view name) {
  if (name == "openblas" || name == "onednn") return Backend::Cpu;
  if (name == "cublaslt") return Backend::Cuda;
  return error(Code::InvalidOption, "peer '{}' is not one of openblas, onednn, cublaslt", name);
}

Result<std::unique_ptr<Peer>> load_peer(std::string_view name, int threads) {
  const Result<Backend> backend = peer_backend(name);
  if (!backend) return backend.error();
  if (*backend == Backend::Cuda) return load_cublaslt();
  return name == "openblas" ? OpenBlas::load(threads) : OneDnn::load(threads);
}

}  // namespace girih::cli
