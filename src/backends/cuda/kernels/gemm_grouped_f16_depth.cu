#include "backends/cuda/kernels/gemm_grouped_instances.cuh"

GIRIH_GEMM_GROUPED_UNIT(f16, F16, depth, true)
