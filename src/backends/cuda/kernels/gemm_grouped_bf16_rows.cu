#include "backends/cuda/kernels/gemm_grouped_instances.cuh"

GIRIH_GEMM_GROUPED_UNIT(bf16, BF16, rows, false)
