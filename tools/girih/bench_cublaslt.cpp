#include <algorithm>
#include <array>
#include <cublasLt.h>
#include <limits>

#include "core/error.hpp"
#include "core/format.hpp"
#include "girih/bench_burst.hpp"
#include "girih/bench_clock.hpp"
#include "girih/bench_peers.hpp"
#include "girih/bench_scaling_pass.hpp"
#include "girih/shared_library.hpp"

namespace girih::cli {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{256} << 20;
constexpr int kCandidates = 8;
/// Each candidate is timed so often, in turn, before the best goes into the rounds.
constexpr int kTrials = 5;
/// A trial of products that are not replayed.
constexpr std::int64_t kEagerTrial = 32;

Status lt_status(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) {
    return error(Code::UnsupportedConversion, "peer cublaslt has no such product ({})", what);
  }
  return error(Code::DeviceFailed, "{}: status {}", what, static_cast<int>(status));
}

/// The functions of the library that are used here.
struct Api {
  decltype(::cublasLtCreate)* create = nullptr;
  decltype(::cublasLtDestroy)* destroy = nullptr;
  decltype(::cublasLtGetVersion)* get_version = nullptr;
  decltype(::cublasLtMatmul)* matmul = nullptr;
  decltype(::cublasLtMatmulDescCreate)* desc_create = nullptr;
  decltype(::cublasLtMatmulDescDestroy)* desc_destroy = nullptr;
  decltype(::cublasLtMatmulDescSetAttribute)* desc_set_attribute = nullptr;
  decltype(::cublasLtMatrixLayoutCreate)* layout_create = nullptr;
  decltype(::cublasLtMatrixLayoutDestroy)* layout_destroy = nullptr;
  decltype(::cublasLtMatrixLayoutSetAttribute)* layout_set_attribute = nullptr;
  decltype(::cublasLtMatmulPreferenceCreate)* preference_create = nullptr;
  decltype(::cublasLtMatmulPreferenceDestroy)* preference_destroy = nullptr;
  decltype(::cublasLtMatmulPreferenceSetAttribute)* preference_set_attribute = nullptr;
  decltype(::cublasLtMatmulAlgoGetHeuristic)* algo_get_heuristic = nullptr;

  static Result<Api> load() {
    const Result<SharedLibrary> library = SharedLibrary::open(
        {"libcublasLt.so.13", "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so.13",
         "/usr/local/cuda/lib64/libcublasLt.so.12"});
    if (!library) return library.error();
    Api api;
    const bool complete =
        library->find("cublasLtCreate", api.create) &&
        library->find("cublasLtDestroy", api.destroy) &&
        library->find("cublasLtGetVersion", api.get_version) &&
        library->find("cublasLtMatmul", api.matmul) &&
        library->find("cublasLtMatmulDescCreate", api.desc_create) &&
        library->find("cublasLtMatmulDescDestroy", api.desc_destroy) &&
        library->find("cublasLtMatmulDescSetAttribute", api.desc_set_attribute) &&
        library->find("cublasLtMatrixLayoutCreate", api.layout_create) &&
        library->find("cublasLtMatrixLayoutDestroy", api.layout_destroy) &&
        library->find("cublasLtMatrixLayoutSetAttribute", api.layout_set_attribute) &&
        library->find("cublasLtMatmulPreferenceCreate", api.preference_create) &&
        library->find("cublasLtMatmulPreferenceDestroy", api.preference_destroy) &&
        library->find("cublasLtMatmulPreferenceSetAttribute", api.preference_set_attribute) &&
        library->find("cublasLtMatmulAlgoGetHeuristic", api.algo_get_heuristic);
    if (!complete) return error(Code::BackendUnavailable, "libcublasLt lacks a function");
    return api;
  }
};

/// What every product of a peer shares.
struct Session {
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    if (handle != nullptr) (void)api.destroy(handle);
    if (workspace != nullptr) (void)cudaFree(workspace);
  }

  Api api;
  cublasLtHandle_t handle = nullptr;
  std::unique_ptr<PeerStream> stream;
  void* workspace = nullptr;
};

template <class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, cublasStatus_t (*)(Handle)>;

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return CUDA_R_32F;
    case DType::BF16:
      return CUDA_R_16BF;
    case DType::I8:
      return CUDA_R_8I;
    case DType::I32:
      return CUDA_R_32I;
    case DType::F8E4M3:
      return CUDA_R_8F_E4M3;
    case DType::F8E5M2:
      return CUDA_R_8F_E5M2;
    default:
      return CUDA_R_16F;
  }
}

/// alpha and beta, of a product's scale type.
struct Factor {
  float real;
  std::int32_t whole;
  [[nodiscard]] const void* as(DType operands) const {
    return operands == DType::I8 ? static_cast<const void*>(&whole) : &real;
  }
};

/// The power of two, at most 256, that every set's address of one operand is a multiple of.
template <class Address>
std::uint32_t common_alignment(std::span<const PeerProduct> products, const Address& address_of) {
  std::uintptr_t bits = 256;
  for (const PeerProduct& product : products) {
    bits |= reinterpret_cast<std::uintptr_t>(address_of(product));
  }
  return static_cast<std::uint32_t>(bits & ~(bits - 1));
}

Result<cublasLtEpilogue_t> epilogue_of(const PeerProduct& p) {
  const bool bias = p.bias != nullptr;
  switch (p.activation) {
    case Activation::None:
      return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    case Activation::Relu:
      return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Activation::GeluTanh:
      return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    case Activation::Silu:
      break;
  }
  return error(Code::UnsupportedConversion, "peer cublaslt has no activation {}",
               girih::name(p.activation));
}

/// One product, on several sets of operands. The library counts along columns: a row-major
/// C = A.B is its C' = B'.A'.
class Product {
 public:
  static Result<std::shared_ptr<Product>> make(std::shared_ptr<Session> session,
                                               std::span<const PeerProduct> products) {
    auto product = std::shared_ptr<Product>(new Product(std::move(session), products));
    GIRIH_TRY(product->describe());
    GIRIH_TRY(product->ask());
    return product;
  }

  [[nodiscard]] int candidates() const { return static_cast<int>(found_.size()); }
  [[nodiscard]] const PeerStream& stream() const { return *session_->stream; }
  /// Queues the product with this candidate on the i-th set.
  [[nodiscard]] Status queue(int candidate, std::int64_t i) const {
    const PeerProduct& p = sets_[static_cast<std::size_t>(i) % sets_.size()];
    const Factor one{1, 1}, zero{0, 0};
    void* const c = sums_ != nullptr ? sums_.get() : p.c;
    GIRIH_TRY(
        lt_status(session_->api.matmul(session_->handle, op_.get(), one.as(p.operands), p.b,
                                       a_.get(), p.a, b_.get(), zero.as(p.operands), c, c_.get(), c,
                                       c_.get(), &found_[static_cast<std::size_t>(candidate)].algo,
                                       session_->workspace, kWorkspaceBytes, stream().get()),
                  "cublasLtMatmul"));
    if (sums_ == nullptr) return {};
    return cuda_status(queue_scaling_pass({.sums = static_cast<const std::int32_t*>(sums_.get()),
                                           .output = p.c,
                                           .output_type = p.output,
                                           .m = p.m,
                                           .n = p.n,
                                           .row_scale = p.a_scale,
                                           .column_scale = p.b_scale},
                                          stream().get()),
                       "scale_integers");
  }

 private:
  Product(std::shared_ptr<Session> session, std::span<const PeerProduct> products)
      : session_(std::move(session)),
        sets_(products.begin(), products.end()),
        op_(nullptr, session_->api.desc_destroy),
        a_(nullptr, session_->api.layout_destroy),
        b_(nullptr, session_->api.layout_destroy),
        c_(nullptr, session_->api.layout_destroy),
        sums_(nullptr, cudaFree) {}

  template <class Value>
  Status set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    return lt_status(session_->api.desc_set_attribute(op_.get(), attribute, &value, sizeof value),
                     "cublasLtMatmulDescSetAttribute");
  }
  template <class Value>
  Status set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute,
             const Value& value) {
    return lt_status(session_->api.layout_set_attribute(layout, attribute, &value, sizeof value),
                     "cublasLtMatrixLayoutSetAttribute");
  }

  /// A row-major matrix of rows x columns as the library sees it.
  Status describe(Owned<cublasLtMatrixLayout_t>& layout, DType dtype, std::int64_t rows,
                  std::int64_t columns, std::int64_t ld) {
    cublasLtMatrixLayout_t made = nullptr;
    GIRIH_TRY(lt_status(
        session_->api.layout_create(&made, type_of(dtype), static_cast<std::uint64_t>(columns),
                                    static_cast<std::uint64_t>(rows), ld),
        "cublasLtMatrixLayoutCreate"));
    layout.reset(made);
    const auto batch = static_cast<std::int32_t>(sets_.front().batch);
    GIRIH_TRY(set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch));
    return set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, std::int64_t{rows * ld});
  }

  Status describe() {
    const PeerProduct& p = sets_.front();
    cublasLtMatmulDesc_t op = nullptr;
    const bool integers = p.operands == DType::I8;
    const bool passes = integers && p.output != DType::I32;
    if (!passes && (p.a_scale != nullptr || p.b_scale != nullptr)) {
      return lt_status(CUBLAS_STATUS_NOT_SUPPORTED, "scales of rows and columns");
    }
    if (passes) GIRIH_TRY(make_sums());
    const bool is_tf32 = p.operands == DType::F32 && p.precision == Precision::Tf32;
    GIRIH_TRY(lt_status(session_->api.desc_create(&op,
                                                  integers  ? CUBLAS_COMPUTE_32I
                                                  : is_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                            : CUBLAS_COMPUTE_32F,
                                                  integers ? CUDA_R_32I : CUDA_R_32F),
                        "cublasLtMatmulDescCreate"));
    op_.reset(op);
    if (p.operands == DType::F8E4M3) {
      const std::int8_t fast = p.precision == Precision::Fast ? 1 : 0;
      GIRIH_TRY(set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast));
    }
    GIRIH_TRY(set(CUBLASLT_MATMUL_DESC_TRANSA, p.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N));
    GIRIH_TRY(set(CUBLASLT_MATMUL_DESC_TRANSB, p.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N));
    const Result<cublasLtEpilogue_t> epilogue = epilogue_of(p);
    if (!epilogue) return epilogue.error();
    GIRIH_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE, *epilogue));
    if (p.bias != nullptr) {
      GIRIH_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias));
      GIRIH_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(p.operands)));
    }
    GIRIH_TRY(describe(a_, p.operands, p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n, p.ldb));
    GIRIH_TRY(describe(b_, p.operands, p.trans_a ? p.k : p.m, p.trans_a ? p.m : p.k, p.lda));
    return describe(c_, passes ? DType::I32 : p.output, p.m, p.n, p.ldc);
  }

  /// One i32 matrix, written by each product and read by the pass behind it.
  Status make_sums() {
    const PeerProduct& p = sets_.front();
    if (p.batch > 1 || p.ldc != p.n) {
      return lt_status(CUBLAS_STATUS_NOT_SUPPORTED, "a scaling pass over a batch");
    }
    if (p.bias != nullptr || p.activation != Activation::None) {
      return lt_status(CUBLAS_STATUS_NOT_SUPPORTED, "a scaling pass with an epilogue");
    }
    void* made = nullptr;
    GIRIH_TRY(
        cuda_status(cudaMalloc(&made, static_cast<std::size_t>(p.m * p.n) * 4), "cudaMalloc"));
    sums_.reset(made);
    return {};
  }

  /// Asks for candidates, best predicted first.
  Status ask() {
    const Api& api = session_->api;
    cublasLtMatmulPreference_t made = nullptr;
    GIRIH_TRY(lt_status(api.preference_create(&made), "cublasLtMatmulPreference"));
    const Owned<cublasLtMatmulPreference_t> preference(made, api.preference_destroy);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                            const auto& value) -> Status {
      return lt_status(api.preference_set_attribute(made, attribute, &value, sizeof value),
                       "cublasLtMatmulPreferenceSetAttribute");
    };
    const auto a = common_alignment(sets_, [](const PeerProduct& p) { return p.b; });
    const auto b = common_alignment(sets_, [](const PeerProduct& p) { return p.a; });
    const auto c = common_alignment(
        sets_, [this](const PeerProduct& p) { return sums_ != nullptr ? sums_.get() : p.c; });
    GIRIH_TRY(prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kWorkspaceBytes}));
    GIRIH_TRY(prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, a));
    GIRIH_TRY(prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, b));
    GIRIH_TRY(prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c));
    GIRIH_TRY(prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, c));
    std::array<cublasLtMatmulHeuristicResult_t, kCandidates> found{};
    int count = 0;
    GIRIH_TRY(
        lt_status(api.algo_get_heuristic(session_->handle, op_.get(), a_.get(), b_.get(), c_.get(),
                                         c_.get(), made, kCandidates, found.data(), &count),
                  "cublasLtMatmulAlgoGetHeuristic"));
    for (int i = 0; i < count; ++i) {
      const cublasLtMatmulHeuristicResult_t& each = found[static_cast<std::size_t>(i)];
      if (each.state == CUBLAS_STATUS_SUCCESS) found_.push_back(each);
    }
    if (found_.empty()) return lt_status(CUBLAS_STATUS_NOT_SUPPORTED, "no candidate");
    return {};
  }

  std::shared_ptr<Session> session_;
  std::vector<PeerProduct> sets_;
  Owned<cublasLtMatmulDesc_t> op_;
  Owned<cublasLtMatrixLayout_t> a_, b_, c_;
  std::unique_ptr<void, cudaError_t (*)(void*)> sums_;  ///< null where C is the product itself
  std::vector<cublasLtMatmulHeuristicResult_t> found_;
};

/// A candidate as a contender.
Result<PeerWay> way_of(const std::shared_ptr<Product>& product, int candidate, const PeerRun& run) {
  PeerWay way;
  const Result<std::unique_ptr<Burst>> single =
      Burst::record(product->stream(), [&] { return product->queue(candidate, 0); });
  if (!single) return single.error();
  way.kernel = (*single)->kernels();
  way.once = [product, candidate]() -> Status {
    GIRIH_TRY(product->queue(candidate, 0));
    return product->stream().synchronize();
  };
  way.contender.finish = [product] { return product->stream().synchronize(); };
  if (run.replayed == 0) {
    way.contender.run = [product, candidate](std::int64_t i) {
      return product->queue(candidate, i);
    };
    return way;
  }
  Result<std::unique_ptr<Burst>> burst = Burst::record(product->stream(), [&]() -> Status {
    for (std::int64_t i = 0; i < run.replayed; ++i) {
      GIRIH_TRY(product->queue(candidate, i));
    }
    return {};
  });
  if (!burst) return burst.error();
  const std::shared_ptr<Burst> shared = *std::move(burst);
  way.contender.run = [product, shared](std::int64_t) { return shared->replay(); };
  way.contender.units = run.replayed;
  Result<StreamClock> clock = stream_clock(product->stream().get());
  if (!clock) return clock.error();
  use_clock(way.contender, *std::move(clock));
  return way;
}

/// The position of the fastest way.
Result<std::size_t> fastest(std::span<const PeerWay> ways, const PeerRun& run) {
  std::vector<Contender> contenders;
  for (const PeerWay& way : ways) contenders.push_back(way.contender);
  const Result<std::vector<double>> seconds =
      run_trials(contenders, kTrials, run.replayed > 0 ? 1 : kEagerTrial);
  if (!seconds) return seconds.error();
  return static_cast<std::size_t>(std::min_element(seconds->begin(), seconds->end()) -
                                  seconds->begin());
}

class CublasLt final : public Peer {
 public:
  explicit CublasLt(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  [[nodiscard]] std::string name() const override { return "cublaslt"; }
  [[nodiscard]] std::string description() const override {
    return formatted("cuBLASLt {}, {} candidates asked, workspace {} MiB",
                     session_->api.get_version(), kCandidates, kWorkspaceBytes >> 20);
  }
  [[nodiscard]] bool supports(DType operands, DType output) const override {
    if (operands == DType::F32) return output == DType::F32;
    if (operands == DType::I8) {
      return output == DType::I32 || output == DType::F32 || output == DType::BF16 ||
             output == DType::F16;
    }
    if (operands == DType::F8E4M3) return output == DType::BF16 || output == DType::F32;
    return (operands == DType::BF16 || operands == DType::F16) &&
           (output == operands || output == DType::F32);
  }

  Result<std::vector<PeerWay>> prepare(std::span<const PeerProduct> products,
                                       const PeerRun& run) override {
    if (products.front().batch > std::numeric_limits<std::int32_t>::max()) {
      return error(Code::UnsupportedConversion, "peer cublaslt: the batch exceeds 32 bits");
    }
    const auto product = Product::make(session_, products);
    if (!product) return product.error();
    std::vector<PeerWay> ways;
    for (int i = 0; i < (*product)->candidates(); ++i) {
      Result<PeerWay> way = way_of(*product, i, run);
      if (!way) return way.error();
      ways.push_back(*std::move(way));
    }
    const Result<std::size_t> best = fastest(ways, run);
    if (!best) return best.error();
    std::vector<PeerWay> chosen = {ways.front(), ways[*best]};
    chosen[0].contender.name = "cublaslt";
    chosen[1].contender.name = "cublaslt-best";
    return chosen;
  }

 private:
  std::shared_ptr<Session> session_;
};

}  // namespace

Result<std::unique_ptr<Peer>> load_cublaslt() {
  Result<Api> api = Api::load();
  if (!api) return api.error();
  Result<std::unique_ptr<PeerStream>> stream = PeerStream::create();
  if (!stream) return error(Code::BackendUnavailable, "peer cublaslt: {}", stream.error().message);
  auto session = std::make_shared<Session>();
  session->api = *api;
  session->stream = *std::move(stream);
  GIRIH_TRY(cuda_status(cudaMalloc(&session->workspace, kWorkspaceBytes), "cudaMalloc"));
  GIRIH_TRY(lt_status(session->api.create(&session->handle), "cublasLtCreate"));
  return std::unique_ptr<Peer>(std::make_unique<CublasLt>(std::move(session)));
}

}  // namespace girih::cli
