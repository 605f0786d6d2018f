#include "girih/bench_peers.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <limits>

#include "core/error.hpp"

namespace girih::cli {
namespace {

/// A shared library, open until the process ends: unloading a threaded one is not safe.
class SharedLibrary {
 public:
  static Result<SharedLibrary> open(const char* file) {
    void* const handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      return error(Code::BackendUnavailable, "{} is not installed", file);
    }
    return SharedLibrary(handle);
  }
  template <class Function>
  bool find(const char* symbol, Function*& function) const {
    function = reinterpret_cast<Function*>(::dlsym(handle_, symbol));
    return function != nullptr;
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

bool fits_int(const PeerProduct& product) {
  constexpr std::int64_t kMax = std::numeric_limits<int>::max();
  return product.m <= kMax && product.n <= kMax && product.k <= kMax && product.lda <= kMax &&
         product.ldb <= kMax && product.ldc <= kMax;
}

class OpenBlas final : public Peer {
 public:
  static Result<std::unique_ptr<Peer>> load(int threads) {
    const Result<SharedLibrary> library = SharedLibrary::open("libopenblas.so.0");
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
  [[nodiscard]] bool supports(DType operands) const override { return operands == DType::F32; }

  Status multiply(const PeerProduct& p) override {
    constexpr int kRowMajor = 101;
    constexpr int kNoTrans = 111;
    constexpr int kTrans = 112;
    if (!fits_int(p)) return error(Code::InvalidShape, "openblas: an extent exceeds 32 bits");
    sgemm_(kRowMajor, p.trans_a ? kTrans : kNoTrans, p.trans_b ? kTrans : kNoTrans,
           static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.k), 1.0F,
           static_cast<const float*>(p.a), static_cast<int>(p.lda), static_cast<const float*>(p.b),
           static_cast<int>(p.ldb), 0.0F, static_cast<float*>(p.c), static_cast<int>(p.ldc));
    return {};
  }

 private:
  using Sgemm = void(int, int, int, int, int, int, float, const float*, int, const float*, int,
                     float, float*, int);
  Sgemm* sgemm_ = nullptr;
  char* (*config_)() = nullptr;
};

class OneDnn final : public Peer {
 public:
  static Result<std::unique_ptr<Peer>> load(int threads) {
    // It runs on OpenMP, which reads this when it starts.
    ::setenv("OMP_NUM_THREADS", fmt::format("{}", threads).c_str(), 1);
    Result<SharedLibrary> library = SharedLibrary::open("libdnnl.so.3");
    if (!library) library = SharedLibrary::open("libdnnl.so.2");
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
    return fmt::format("oneDNN {}.{}.{}", version[0], version[1], version[2]);
  }
  [[nodiscard]] bool supports(DType operands) const override {
    return operands == DType::F32 || operands == DType::I8;
  }

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

 private:
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

Result<std::unique_ptr<Peer>> load_peer(std::string_view name, int threads) {
  if (name == "openblas") return OpenBlas::load(threads);
  if (name == "onednn") return OneDnn::load(threads);
  return error(Code::InvalidOption, "peer '{}' is not one of openblas, onednn", name);
}

}  // namespace girih::cli
