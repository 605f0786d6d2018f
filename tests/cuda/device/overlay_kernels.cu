// Kernels of a program around girih; compiled to a cubin, a fatbin and PTX.

extern "C" __global__ void test_axpy(float* y, const float* x, float a, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

/// y[block] = its number, through as much shared memory as is there.
extern "C" __global__ void test_extents(int* y, int last) {
  extern __shared__ int shared[];
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  if (thread == 0) shared[last] = block;
  __syncthreads();
  if (thread == blockDim.x * blockDim.y * blockDim.z - 1) y[block] = shared[last];
}

extern "C" __global__ void test_nothing() {}

extern "C" __global__ void test_trap() {
  __trap();
}
