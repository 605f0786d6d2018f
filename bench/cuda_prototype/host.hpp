#pragma once
// Host side of the 16-bit GEMM kernels: tensor maps, parameters, launches. The prototype of the library's launcher.

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "gemm_kernels.hpp"
#include "gemm_params.hpp"
#include "gemm_select.hpp"

namespace girih::cuda {

#define CHECK(call)                                                                                    \
    do {                                                                                               \
        const auto status_ = (call);                                                                   \
        if (status_ != 0) {                                                                            \
            std::printf("%s:%d: %s -> %d\n", __FILE__, __LINE__, #call, static_cast<int>(status_));    \
            std::fflush(stdout);                                                                       \
            std::exit(1);                                                                              \
        }                                                                                              \
    } while (0)

// An operand as memory sees it: `major` is the contiguous extent; ld and batch stride in elements.
struct OperandRef {
    const void* data;
    Major major;
    std::int64_t extent;  // M or N
    std::int64_t ld;
    std::int64_t batch_stride;
};

struct Problem {
    std::int64_t m, n, k, batch;
    Element type;
    OperandRef a, b;
    EpilogueParams epilogue;
};

inline auto encoder() {
    static PFN_cuTensorMapEncodeTiled_v12000 function = [] {
        void* entry = nullptr;
        cudaDriverEntryPointQueryResult result;
        CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &result));
        return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(entry);
    }();
    return function;
}

inline CUtensorMapSwizzle swizzle_of(int row_bytes) {
    return row_bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
           : row_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                             : CU_TENSOR_MAP_SWIZZLE_32B;
}

inline CUtensorMap encode(const void* data, Element type, std::int64_t inner, std::int64_t outer, std::int64_t batch,
                          std::int64_t ld, std::int64_t batch_stride, Box box) {
    CUtensorMap map;
    const int bytes = element_bytes(type);
    const bool single = batch == 1 || batch_stride == 0;
    const cuuint64_t dims[3] = {cuuint64_t(inner), cuuint64_t(outer), single ? 1 : cuuint64_t(batch)};
    const cuuint64_t strides[2] = {cuuint64_t(ld * bytes), single ? cuuint64_t(ld * bytes) : cuuint64_t(batch_stride * bytes)};
    const cuuint32_t boxes[3] = {cuuint32_t(box.inner), cuuint32_t(box.outer), 1}, steps[3] = {1, 1, 1};
    const auto kind = type == Element::F32    ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                      : type == Element::BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                              : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    CHECK(encoder()(&map, kind, 3, const_cast<void*>(data), dims, strides, boxes, steps,
                    CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(box.inner * bytes), CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return map;
}

inline CUtensorMap encode_operand(const OperandRef& x, Element type, std::int64_t k, std::int64_t batch, int extent,
                                  int depth, int share) {
    const Box box = operand_box(x.major, extent, depth, share);
    const bool k_major = x.major == Major::K;
    return encode(x.data, type, k_major ? k : x.extent, k_major ? x.extent : k, batch, x.ld, x.batch_stride, box);
}

inline StoreMode store_mode(const EpilogueParams& e, std::int64_t n, bool transposed) {
    const bool fusable = e.beta.device == nullptr && e.beta.value == 0 && e.row_scale.data == nullptr &&
                         e.col_scale.data == nullptr && e.residual.data == nullptr;
    const bool alpha_alone = fusable && e.bias.data == nullptr && e.activation == Activation::None;
    if (!fusable) return StoreMode::General;
    const auto base = reinterpret_cast<std::uintptr_t>(e.out.data);
    if (e.out.type == Element::F32) {
        const bool pairs = base % 8 == 0 && e.out.ld % 2 == 0 && e.out.batch_stride % 2 == 0;
        return alpha_alone && (transposed || pairs) ? StoreMode::Fragments : StoreMode::General;
    }
    const bool boxes = !transposed && n % 8 == 0 && base % 16 == 0 && e.out.ld % 8 == 0 && e.out.batch_stride % 8 == 0;
    return !boxes ? StoreMode::General : alpha_alone ? StoreMode::Boxes : StoreMode::FusedBoxes;
}

inline std::int64_t partial_ld(const Problem& q) { return (q.n + 3) / 4 * 4; }
inline std::int64_t workspace_bytes(const Problem& q, const GemmPlan& plan) {
    return plan.splits == 1 ? 0 : 4 * q.batch * plan.splits * q.m * partial_ld(q);
}

struct PreparedGemm {
    const void* kernel;
    GemmParams params;
    SplitReduceParams reduce;
    int grid, threads, shared, reduce_grid;
};

inline PreparedGemm prepare(const Problem& q, const GemmPlan& plan, float* workspace, int sms) {
    const TileConfig tile = kTiles[plan.tile];
    PreparedGemm g{};
    GemmParams& p = g.params;
    const OperandRef& rows = plan.transposed ? q.b : q.a;
    const OperandRef& cols = plan.transposed ? q.a : q.b;
    g.kernel = gemm_wgmma_kernel(plan.tile, q.type, rows.major, cols.major);
    p.a = encode_operand(rows, q.type, q.k, q.batch, tile.rows, tile.depth, plan.cluster_cols);
    p.b = encode_operand(cols, q.type, q.k, q.batch, tile.cols, tile.depth, plan.cluster_rows);
    p.rows = rows.extent, p.cols = cols.extent, p.batch = q.batch;
    const int k_stages = static_cast<int>((q.k + tile.depth - 1) / tile.depth);
    const int splits = std::min(plan.splits, k_stages);
    p.cluster_rows = plan.cluster_rows, p.cluster_cols = plan.cluster_cols;
    const auto units = [](std::int64_t extent, int step) { return static_cast<unsigned>((extent + step - 1) / step); };
    p.order = make_tile_order(units(p.rows, tile.rows * p.cluster_rows), units(p.cols, tile.cols * p.cluster_cols),
                              static_cast<unsigned>(q.batch), splits, plan.cluster_split, k_stages, plan.traversal);
    p.cluster_split = plan.cluster_split;
    const int blocks = p.cluster_rows * p.cluster_cols * p.cluster_split;
    for (p.cluster_shift = 0; 1 << p.cluster_shift < blocks; ++p.cluster_shift) {
    }
    p.a_batched = q.batch > 1 && rows.batch_stride != 0;
    p.b_batched = q.batch > 1 && cols.batch_stride != 0;
    p.transposed = plan.transposed;
    p.epilogue = q.epilogue;
    if (splits > 1) {
        const std::int64_t ld = partial_ld(q);
        g.reduce = {q.epilogue, workspace, ld, q.m, q.n, q.batch, splits};
        p.epilogue = {};
        p.epilogue.out = {workspace, ld, q.m * ld, Element::F32};
        g.reduce_grid = split_reduce_grid(q.batch, q.m, q.n, splits, sms);
    }
    p.store = store_mode(p.epilogue, q.n, p.transposed);
    if (p.store == StoreMode::Boxes || p.store == StoreMode::FusedBoxes) {
        p.out = encode(p.epilogue.out.data, p.epilogue.out.type, q.n, q.m, q.batch, p.epilogue.out.ld,
                       p.epilogue.out.batch_stride, {store_columns(tile.cols), kStoreRows});
    }
    // A cluster that splits K makes one unit; others go on until none is left.
    g.grid = static_cast<int>(p.cluster_split > 1 ? p.order.units : std::min<std::int64_t>(p.order.units, sms / blocks)) * blocks;
    g.threads = tile_threads(tile);
    g.shared = shared_bytes(tile, rows.major, cols.major);
    return g;
}

// Once a kernel, at start-up: more than 48 KiB of shared memory must be asked for.
inline void allow_shared(const PreparedGemm& g) {
    CHECK(cudaFuncSetAttribute(g.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, g.shared));
}

inline void launch(const PreparedGemm& g, cudaStream_t stream, bool pdl = false) {
    cudaLaunchAttribute attributes[2];
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {1u << g.params.cluster_shift, 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(g.grid), config.blockDim = dim3(g.threads), config.dynamicSmemBytes = g.shared;
    config.stream = stream, config.attrs = attributes;
    config.numAttrs = g.params.cluster_shift > 0;  // even a cluster of one costs 0.15 us
    if (pdl) {
        attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
    }
    void* args[] = {const_cast<GemmParams*>(&g.params)};
    CHECK(cudaLaunchKernelExC(&config, g.kernel, args));
    if (g.params.order.splits.value == 1) return;
    // The second kernel may be set up while the first one drains; it waits by itself before it reads.
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3(g.reduce_grid), config.blockDim = dim3(128), config.dynamicSmemBytes = 0;
    config.numAttrs = 1;
    void* reduce_args[] = {const_cast<SplitReduceParams*>(&g.reduce)};
    CHECK(cudaLaunchKernelExC(&config, gemm_split_reduce_kernel(), reduce_args));
}

}  // namespace girih::cuda
