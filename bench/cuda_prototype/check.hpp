#pragma once
// Correctness: every tile, layout and type against a double-precision reference with a computed bound, on ragged shapes,
// with NaN around every operand and poison under and around the output.

#include <cmath>
#include <vector>

#include "check_kernels.hpp"
#include "host.hpp"

namespace girih::cuda {

struct Rng {
    std::uint64_t s = 88172645463325252ull;
    unsigned next() {
        s ^= s << 13, s ^= s >> 7, s ^= s << 17;
        return unsigned(s >> 20);
    }
    int below(int n) { return int(next() % n); }
    template <class T, std::size_t N>
    T of(const T (&v)[N]) { return v[below(N)]; }
};

struct Device {
    char* arena;
    std::size_t size, used = 0;
    float* workspace;
    CheckResult* result;
    int sms;
    void* take(std::size_t bytes) {
        used = (used + 255) / 256 * 256;
        void* p = arena + used;
        used += bytes;
        if (used > size) std::printf("arena exhausted\n"), std::exit(1);
        return p;
    }
};

inline const char* name_of(Element t) { return t == Element::F32 ? "f32" : t == Element::BF16 ? "bf16" : "f16"; }

// One random case; returns whether it passed. `aligned` operands only: that is what the tensor copies take.
inline bool check_case(Device& d, Rng& r, int tile, Element type, Major ma, Major mb, std::int64_t m, std::int64_t n,
                       std::int64_t k, std::int64_t batch, GemmPlan plan, bool plain, bool verbose) {
    d.used = 0;
    Problem q{};
    q.m = m, q.n = n, q.k = k, q.batch = batch, q.type = type;
    const auto operand = [&](Major major, std::int64_t extent, OperandRef& ref, std::uint64_t seed) {
        const std::int64_t inner = major == Major::K ? k : extent, outer = major == Major::K ? extent : k;
        const std::int64_t ld = (inner + 7) / 8 * 8 + 8 * r.below(3), stride = r.below(4) == 0 ? 0 : ld * (outer + r.below(2));
        const std::int64_t lead = 64, total = lead + (stride ? stride * batch : ld * outer) + 512;
        void* p = d.take(total * 2);
        fill(p, type, total, inner, outer, ld, stride, lead, seed);
        ref = {static_cast<std::uint16_t*>(p) + lead, major, extent, ld, stride};
    };
    operand(ma, m, q.a, r.next());
    operand(mb, n, q.b, r.next());
    EpilogueParams& e = q.epilogue;
    const Element outs[] = {Element::F32, Element::BF16, Element::F16, type};
    e.out.type = outs[r.below(4)];
    const int bytes = element_bytes(e.out.type);
    const bool odd = !plain && r.below(3) == 0;
    e.out.ld = odd ? n + r.below(3) : (n + 7) / 8 * 8 + 8 * r.below(2);
    e.out.batch_stride = e.out.ld * m + (odd ? r.below(5) : 8 * r.below(2));
    const std::int64_t lead = odd ? 64 + r.below(8) : 64;
    const std::int64_t out_elements = lead + e.out.batch_stride * batch + 512;
    char* out = static_cast<char*>(d.take(out_elements * bytes));
    e.out.data = out + lead * bytes;
    e.alpha.value = 1.0f;
    const auto vec = [&](std::int64_t len, Element t) {
        const std::int64_t stride = r.below(2) ? 0 : len;
        void* p = d.take((len * batch + 64) * 4);
        fill(p, t, len * batch + 16, len, batch, len, 0, 0, r.next());
        return VectorRef{p, stride, t};
    };
    const auto mat = [&](Element t) {
        const std::int64_t ld = n + r.below(9), stride = ld * m + r.below(9);
        void* p = d.take((stride * batch + 64) * 4);
        fill(p, t, stride * batch + 16, n, m, ld, stride, 0, r.next());
        return MatrixRef{p, ld, stride, t};
    };
    const Element types[] = {Element::F32, Element::BF16, Element::F16};
    e.c = {reinterpret_cast<void*>(16), 1, 1, Element::F32};  // unreadable: beta 0 must not touch it
    if (!plain) {
        const bool fused = r.below(2);  // bias and activation only: the boxes with an epilogue
        if (r.below(2)) e.alpha.value = 0.7f;
        if (r.below(2)) e.bias = vec(n, r.of(types));
        if (!fused && r.below(2)) e.row_scale = vec(m, Element::F32);
        if (!fused && r.below(2)) e.col_scale = vec(n, Element::F32);
        if (!fused && r.below(2)) e.residual = mat(r.of(types));
        if (!fused && r.below(2)) e.c = mat(r.of(types)), e.beta.value = -0.5f;
        e.activation = static_cast<Activation>(r.below(4));
    }
    plan.tile = tile;
    const int k_blocks = int((k + kTiles[tile].depth - 1) / kTiles[tile].depth);
    plan.splits = std::min(plan.splits, k_blocks);
    while (plan.cluster_split > 1 && (plan.cluster_split > k_blocks || !cluster_split_fits(kTiles[tile], plan.cluster_split))) plan.cluster_split /= 2;
    plan.traversal.group = 1 + r.below(9);
    plan.traversal.band_columns = r.below(2);
    const PreparedGemm g = prepare(q, plan, d.workspace, d.sms);
    allow_shared(g);
    unsigned long long bad = 0;
    CheckResult h{};
    std::vector<char> first;
    for (int round = 0; round < 2; ++round) {  // two poisons, and bitwise repeatability
        const int poison = round ? 0x7F : 0xFF;
        CHECK(cudaMemset(out, poison, out_elements * bytes));
        CHECK(cudaMemset(d.workspace, 0xFF, std::min<std::int64_t>(workspace_bytes(q, plan), 1 << 26)));
        CHECK(cudaMemset(d.result, 0, sizeof(CheckResult)));
        launch(g, 0);
        const auto status = cudaDeviceSynchronize();
        if (status != 0) {
            std::printf("FAULT %s: ", cudaGetErrorString(status));
            bad = 1;
            break;
        }
        const bool ak = ma == Major::K, bk = mb == Major::K;
        CheckArgs c{m, n, k, batch, type, q.a.data, q.b.data, ak ? q.a.ld : 1, ak ? 1 : q.a.ld, q.a.batch_stride,
                    bk ? 1 : q.b.ld, bk ? q.b.ld : 1, q.b.batch_stride, e};
        compare(c, d.result);
        guard(reinterpret_cast<std::uint8_t*>(out), out_elements * bytes, lead * bytes, n * bytes,
                            e.out.ld * bytes, m, e.out.batch_stride * bytes, batch, poison, d.result);
        CHECK(cudaMemcpy(&h, d.result, sizeof(h), cudaMemcpyDeviceToHost));
        bad += h.bad;
        std::vector<char> now(out_elements * bytes);
        CHECK(cudaMemcpy(now.data(), out, now.size(), cudaMemcpyDeviceToHost));
        for (std::size_t i = 0; round == 1 && i < now.size(); ++i) {
            if (now[i] != first[i] && !(now[i] == 0x7F && first[i] == char(0xFF))) bad += 1ull << 48;
        }
        first.swap(now);
    }
    if (bad || verbose) {
        const TileConfig t = kTiles[tile];
        std::printf("%s tile %d (%dx%dx%d %s) %s %c%c M%lld N%lld K%lld b%lld out %s split %d cluster %dx%dx%d %s %s act %d: bad %llx worst %.3g at (%lld, %lld)\n",
                    bad ? "FAIL" : "ok", tile, t.rows, t.cols, t.depth, t.form == TileForm::PingPong ? "pp" : t.form == TileForm::ClusterSplit ? "cs" : "co", name_of(type),
                    ma == Major::K ? 'N' : 'T', mb == Major::K ? 'T' : 'N', (long long)m, (long long)n, (long long)k,
                    (long long)batch, name_of(e.out.type), plan.splits, plan.cluster_rows, plan.cluster_cols, plan.cluster_split,
                    plan.transposed ? "swap" : "", g.params.store == StoreMode::Boxes ? "box" : g.params.store == StoreMode::FusedBoxes ? "fused" : g.params.store == StoreMode::General ? "general" : "fragments", int(e.activation), bad, h.worst,
                    (long long)(h.where / n % m), (long long)(h.where % n));
        std::fflush(stdout);
    }
    return bad == 0;
}

inline int check_all(Device& d, int per_combination, int only_tile) {
    Rng r;
    int failed = 0, total = 0;
    const std::int64_t ms[] = {1, 2, 17, 63, 64, 65, 128, 129, 255, 300, 513}, ns[] = {1, 7, 8, 16, 33, 64, 127, 130, 257, 520};
    const std::int64_t ks[] = {1, 2, 15, 16, 63, 64, 65, 128, 200, 512, 1000};
    for (int tile = 0; tile < kTileCount; ++tile) {
        if (only_tile >= 0 && tile != only_tile) continue;
        int tile_failed = 0;
        for (int mix = 0; mix < 8; ++mix) {
            const Element type = mix & 4 ? Element::F16 : Element::BF16;
            const Major ma = mix & 1 ? Major::MN : Major::K, mb = mix & 2 ? Major::MN : Major::K;
            if (gemm_wgmma_kernel(tile, type, ma, mb) == nullptr) continue;
            for (int i = 0; i < per_combination; ++i) {
                GemmPlan plan;
                const int cluster = r.below(3);
                plan.cluster_rows = cluster == 1 ? 2 : 1, plan.cluster_cols = cluster == 2 ? 2 : 1;
                const int splits[] = {1, 1, 2, 3, 5};
                plan.splits = r.of(splits);
                if (r.below(4) == 0) {
                    const int blocks[] = {2, 4, 8};
                    plan.cluster_rows = plan.cluster_cols = plan.splits = 1;
                    plan.cluster_split = r.of(blocks);
                }
                plan.transposed = r.below(3) == 0 && gemm_wgmma_kernel(tile, type, mb, ma) != nullptr;
                const std::int64_t batches[] = {1, 1, 3};
                const bool simple = i == 0;  // the first case a combination is the plain one
                if (simple) plan = {};
                const bool ok = simple ? check_case(d, r, tile, type, ma, mb, 300, 520, 200, 1, plan, true, false)
                                       : check_case(d, r, tile, type, ma, mb, r.of(ms), r.of(ns), r.of(ks),
                                                    r.of(batches), plan, r.below(3) == 0, false);
                ++total;
                if (!ok) ++tile_failed;
                if (tile_failed > 12) break;
            }
        }
        failed += tile_failed;
        if (cudaGetLastError() != 0) break;
    }
    std::printf("check: %d cases, %d failed\n", total, failed);
    std::fflush(stdout);
    return failed;
}

}  // namespace girih::cuda
