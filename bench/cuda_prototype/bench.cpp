// Stand-alone check and benchmark of the 16-bit GEMM kernels against cuBLASLt.
//   bench check [cases a combination] [tile]
//   bench sweep <ladder> <layout> [type]     every plan of every shape; CSV to sweep.csv
//   bench ab <ladder> <layout> [type] [rounds]

#include <cublasLt.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>

#include "check.hpp"
#include "shapes.hpp"

using namespace girih::cuda;

namespace {

// Operands of one shape, `sets` times over more than the L2 so that no launch finds its data there.
struct Buffers {
    std::vector<Problem> sets;
};

struct Bench {
    Device d;
    cublasLtHandle_t lt;
    void* lt_workspace;
    std::size_t lt_bytes = 256u << 20;
    cudaStream_t stream;
    cudaEvent_t begin, end;
};

Buffers make(Bench& b, Shape s, Major ma, Major mb, Element type, Element out) {
    b.d.used = 0;
    const std::int64_t bytes = 2 * (s.m * s.k + s.k * s.n) * s.batch + element_bytes(out) * s.m * s.n * s.batch;
    const int sets = int(std::max<std::int64_t>(1, std::min<std::int64_t>(64, (180ll << 20) / bytes + 1)));
    Buffers r;
    for (int i = 0; i < sets; ++i) {
        Problem q{};
        q.m = s.m, q.n = s.n, q.k = s.k, q.batch = s.batch, q.type = type;
        const auto operand = [&](Major major, std::int64_t extent) {
            const std::int64_t inner = major == Major::K ? s.k : extent, outer = major == Major::K ? extent : s.k;
            void* p = b.d.take(inner * outer * s.batch * 2);
            fill(p, type, inner * outer * s.batch, inner, outer, inner, inner * outer, 0, i * 2 + 1);
            return OperandRef{p, major, extent, inner, inner * outer};
        };
        q.a = operand(ma, s.m);
        q.b = operand(mb, s.n);
        q.epilogue.out = {b.d.take(s.m * s.n * s.batch * element_bytes(out)), s.n, s.m * s.n, out};
        if (std::getenv("EPI")) {  // bias and GELU
            void* bias = b.d.take(s.n * 2);
            fill(bias, type, s.n, s.n, 1, s.n, 0, 0, 5);
            q.epilogue.bias = {bias, 0, type};
            q.epilogue.activation = Activation::GeluTanh;
        }
        r.sets.push_back(q);
    }
    CHECK(cudaDeviceSynchronize());
    return r;
}

using Launcher = std::function<void(int set)>;

// A graph of `launches` products over the sets in turn.
cudaGraphExec_t record(Bench& b, int launches, int sets, const Launcher& go) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(b.stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < launches; ++i) go(i % sets);
    CHECK(cudaStreamEndCapture(b.stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

float once(Bench& b, cudaGraphExec_t exec, int launches) {
    float ms;
    CHECK(cudaEventRecord(b.begin, b.stream));
    CHECK(cudaGraphLaunch(exec, b.stream));
    CHECK(cudaEventRecord(b.end, b.stream));
    CHECK(cudaEventSynchronize(b.end));
    CHECK(cudaEventElapsedTime(&ms, b.begin, b.end));
    return ms * 1000 / launches;
}

float median(std::vector<float> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

float quick(Bench& b, cudaGraphExec_t exec, int launches, int rounds) {
    once(b, exec, launches);
    std::vector<float> t;
    for (int i = 0; i < rounds; ++i) t.push_back(once(b, exec, launches));
    return median(t);
}

struct LtPlan {
    cublasLtMatmulDesc_t op;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulAlgo_t algo;
};

// Row-major C = A B is column-major C' = B' A'.
std::vector<LtPlan> lt_plans(Bench& b, const Problem& q, int wanted) {
    LtPlan p;
    CHECK(cublasLtMatmulDescCreate(&p.op, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t ta = q.b.major == Major::K ? CUBLAS_OP_T : CUBLAS_OP_N, tb = q.a.major == Major::K ? CUBLAS_OP_N : CUBLAS_OP_T;
    CHECK(cublasLtMatmulDescSetAttribute(p.op, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta));
    CHECK(cublasLtMatmulDescSetAttribute(p.op, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb));
    if (q.epilogue.bias.data != nullptr) {
        const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;
        CHECK(cublasLtMatmulDescSetAttribute(p.op, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
        CHECK(cublasLtMatmulDescSetAttribute(p.op, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &q.epilogue.bias.data, sizeof(void*)));
    }
    const auto type = [](Element t) { return t == Element::F32 ? CUDA_R_32F : t == Element::BF16 ? CUDA_R_16BF : CUDA_R_16F; };
    const auto layout = [&](cublasLtMatrixLayout_t& l, Element t, std::int64_t rows, std::int64_t cols, std::int64_t ld, std::int64_t stride) {
        CHECK(cublasLtMatrixLayoutCreate(&l, type(t), rows, cols, ld));
        const int batch = int(q.batch);
        CHECK(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
        CHECK(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride));
    };
    const bool bk = q.b.major == Major::K, ak = q.a.major == Major::K;
    layout(p.a, q.type, bk ? q.k : q.n, bk ? q.n : q.k, q.b.ld, q.b.batch_stride);
    layout(p.b, q.type, ak ? q.k : q.m, ak ? q.m : q.k, q.a.ld, q.a.batch_stride);
    layout(p.c, q.epilogue.out.type, q.n, q.m, q.epilogue.out.ld, q.epilogue.out.batch_stride);
    cublasLtMatmulPreference_t pref;
    CHECK(cublasLtMatmulPreferenceCreate(&pref));
    CHECK(cublasLtMatmulPreferenceSetAttribute(pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &b.lt_bytes, sizeof b.lt_bytes));
    std::vector<cublasLtMatmulHeuristicResult_t> found(wanted);
    int count = 0;
    CHECK(cublasLtMatmulAlgoGetHeuristic(b.lt, p.op, p.a, p.b, p.c, p.c, pref, wanted, found.data(), &count));
    std::vector<LtPlan> r;
    for (int i = 0; i < count; ++i) {
        if (found[i].state != CUBLAS_STATUS_SUCCESS) continue;
        p.algo = found[i].algo;
        r.push_back(p);
    }
    return r;
}

void lt_run(Bench& b, const LtPlan& p, const Problem& q) {
    const float one = 1, zero = 0;
    CHECK(cublasLtMatmul(b.lt, p.op, &one, q.b.data, p.a, q.a.data, p.b, &zero, q.epilogue.out.data, p.c,
                         q.epilogue.out.data, p.c, &p.algo, b.lt_workspace, b.lt_bytes, b.stream));
}

int launches_for(Shape s, double target_us) {
    const double us = std::max(3.0, std::max(2.0 * s.m * s.n * s.k * s.batch / 6.5e8, 2.0 * (double(s.m) * s.k + double(s.k) * s.n + double(s.m) * s.n) * s.batch / 3.5e6));
    return int(std::max(2.0, std::min(200.0, target_us / us)));
}

std::vector<GemmPlan> plans_for(const Shape& s) {
    std::vector<GemmPlan> r;
    for (int tile = 0; tile < kTileCount; ++tile) {
        for (int transposed = 0; transposed < 2; ++transposed) {
            const TileConfig t = kTiles[tile];
            const std::int64_t rows = transposed ? s.n : s.m, cols = transposed ? s.m : s.n;
            if (transposed && s.m > 128) continue;
            const std::int64_t tr = (rows + t.rows - 1) / t.rows, tc = (cols + t.cols - 1) / t.cols;
            const std::int64_t tiles = tr * tc * s.batch, blocks = (s.k + t.depth - 1) / t.depth;
            if (t.cols >= 2 * cols && t.cols > 32) continue;
            if (t.rows >= 2 * rows && t.rows > 64) continue;
            if (tiles > 4000 && double(s.m) * s.n * s.k > 4e9) continue;
            const int splits[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
            for (int split : splits) {
                if (split > 1 && (tiles * split > 264 || blocks < 4 * split)) continue;
                if (split == 1 && tiles * 12 < 132 && blocks > 64) continue;
                for (int cluster = 0; cluster < 3; ++cluster) {
                    if (cluster == 1 && tr < 2) continue;
                    if (cluster == 2 && tc < 2) continue;
                    if (cluster && split > 1 && tiles * split < 64) continue;
                    GemmPlan p;
                    p.tile = tile, p.transposed = transposed, p.splits = split;
                    p.cluster_rows = cluster == 1 ? 2 : 1, p.cluster_cols = cluster == 2 ? 2 : 1;
                    r.push_back(p);
                }
            }
            for (int split = 2; split <= 8; split *= 2) {
                if (!cluster_split_fits(t, split) || tiles * split > 264 || blocks < 4 * split) continue;
                GemmPlan p;
                p.tile = tile, p.transposed = transposed, p.cluster_split = split;
                r.push_back(p);
            }
        }
    }
    return r;
}

std::string describe(const GemmPlan& p) {
    const TileConfig t = kTiles[p.tile];
    char s[96];
    std::snprintf(s, sizeof s, "%dx%d%s%s c%dx%d%s s%d g%d%s", t.rows, t.cols, t.form == TileForm::PingPong ? "pp" : t.form == TileForm::ClusterSplit ? "s" : "", p.transposed ? "T" : "", p.cluster_rows,
                  p.cluster_cols, p.cluster_split == 2 ? "k2" : p.cluster_split == 4 ? "k4" : p.cluster_split == 8 ? "k8" : "", p.splits, p.traversal.group, p.traversal.band_columns ? "n" : "m");
    return s;
}

struct Own {
    std::vector<PreparedGemm> sets;
};
Own own(Bench& b, const Buffers& buf, const GemmPlan& plan) {
    Own o;
    for (const Problem& q : buf.sets) o.sets.push_back(prepare(q, plan, b.d.workspace, b.d.sms));
    allow_shared(o.sets[0]);
    return o;
}

void sweep(Bench& b, const char* ladder, const char* layout, Element type, FILE* csv) {
    const Major ma = layout[0] == 'N' ? Major::K : Major::MN, mb = layout[1] == 'T' ? Major::K : Major::MN;
    for (const Shape& s : shapes_of(ladder)) {
        const Buffers buf = make(b, s, ma, mb, type, type);
        const int sets = int(buf.sets.size()), launches = launches_for(s, 1200);
        std::vector<std::pair<float, GemmPlan>> times;
        float first = 0, best = 1e9;
        int index = 0, best_index = 0;
        for (const LtPlan& p : lt_plans(b, buf.sets[0], 8)) {
            auto exec = record(b, launches, sets, [&](int i) { lt_run(b, p, buf.sets[i]); });
            const float t = quick(b, exec, launches, 3);
            if (index == 0) first = t;
            if (t < best) best = t, best_index = index;
            ++index;
            CHECK(cudaGraphExecDestroy(exec));
        }
        for (const GemmPlan& p : plans_for(s)) {
            if (std::getenv("TRACE")) std::printf("%s\n", describe(p).c_str()), std::fflush(stdout);
            if (std::getenv("MAX_WS") == nullptr && workspace_bytes(buf.sets[0], p) > (250ll << 20)) continue;
            const Own o = own(b, buf, p);
            auto exec = record(b, launches, sets, [&](int i) { launch(o.sets[i], b.stream, std::getenv("PDL") != nullptr); });
            times.push_back({quick(b, exec, launches, 3), p});
            CHECK(cudaGraphExecDestroy(exec));
            std::fprintf(csv, "%s,%lld,%lld,%lld,%lld,%s,%d,%d,%d,%d,%d,%d,%.3f,%.3f,%.3f\n", layout, (long long)s.m, (long long)s.n,
                         (long long)s.k, (long long)s.batch, name_of(type), p.tile, int(p.transposed), p.cluster_rows, p.cluster_cols,
                         p.splits, p.cluster_split, times.back().first, first, best);
        }
        std::sort(times.begin(), times.end(), [](auto& x, auto& y) { return x.first < y.first; });
        std::printf("%s %s %5lldx%5lldx%5lld b%lld lt %.2f best %.2f(#%d)", layout, name_of(type), (long long)s.m, (long long)s.n, (long long)s.k,
                    (long long)s.batch, first, best, best_index);
        for (std::size_t i = 0; i < std::min<std::size_t>(4, times.size()); ++i) std::printf(" | %.2f %s", times[i].first, describe(times[i].second).c_str());
        std::printf(" | r %.3f %.3f\n", first / times[0].first, best / times[0].first);
        std::fflush(stdout);
    }
}

}  // namespace

namespace {
std::vector<GemmPlan> ranked(const GemmShape& s, int sms, int count) {
    std::vector<GemmPlan> all;
    for_each_plan(s, 32, [&](GemmPlan p) {
        p.microseconds = predict(s, p, sms, {});
        p.traversal = choose_traversal(s, p);
        all.push_back(p);
    });
    std::stable_sort(all.begin(), all.end(), [](auto& x, auto& y) { return x.microseconds < y.microseconds; });
    if (int(all.size()) > count) all.resize(count);
    return all;
}
}  // namespace

#include "ab.hpp"

int main(int argc, char** argv) {
    Bench b{};
    cudaDeviceProp prop;
    CHECK(cudaGetDeviceProperties(&prop, 0));
    b.d.sms = prop.multiProcessorCount;
    b.d.size = 6ull << 30;
    CHECK(cudaMalloc(&b.d.arena, b.d.size));
    CHECK(cudaMalloc(&b.d.workspace, 300u << 20));
    CHECK(cudaMalloc(&b.d.result, sizeof(CheckResult)));
    CHECK(cudaMalloc(&b.lt_workspace, b.lt_bytes));
    CHECK(cublasLtCreate(&b.lt));
    CHECK(cudaStreamCreate(&b.stream));
    CHECK(cudaEventCreate(&b.begin));
    CHECK(cudaEventCreate(&b.end));
    const std::string mode = argc > 1 ? argv[1] : "check";
    if (mode == "check") return check_all(b.d, argc > 2 ? std::atoi(argv[2]) : 6, argc > 3 ? std::atoi(argv[3]) : -1) != 0;
    const char* ladder = argc > 2 ? argv[2] : "square";
    const char* layout = argc > 3 ? argv[3] : "NT";
    const Element type = argc > 4 && std::string(argv[4]) == "f16" ? Element::F16 : Element::BF16;
    if (mode == "sweep") {
        const std::string path = std::string(std::getenv("OUT") ? std::getenv("OUT") : ".") + "/sweep.csv";
        FILE* csv = std::fopen(path.c_str(), "a");
        sweep(b, ladder, layout, type, csv);
        std::fclose(csv);
    }
    if (mode == "ab") ab(b, ladder, layout, type, argc > 5 ? std::atoi(argv[5]) : 15);
    return 0;
}
