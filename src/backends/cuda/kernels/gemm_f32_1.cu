#include "backends/cuda/kernels/gemm_f32.cuh"

GIRIH_GEMM_F32_UNIT(1)
