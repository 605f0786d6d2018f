// The least that a CUDA program does: a context, memory, one kernel, its result back. Prints
// "right" once that is what it should be.

#include <cstdio>
#include <vector>

namespace {

constexpr int kCount = 1 << 18;

__global__ void add(const float* a, const float* b, float* c) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < kCount) c[i] = a[i] + b[i];
}

bool run() {
  constexpr std::size_t kBytes = kCount * sizeof(float);
  const std::vector<float> a(kCount, 1.5f), b(kCount, 2.25f);
  std::vector<float> c(kCount);
  float *da = nullptr, *db = nullptr, *dc = nullptr;
  if (cudaMalloc(&da, kBytes) != cudaSuccess || cudaMalloc(&db, kBytes) != cudaSuccess ||
      cudaMalloc(&dc, kBytes) != cudaSuccess ||
      cudaMemcpy(da, a.data(), kBytes, cudaMemcpyHostToDevice) != cudaSuccess ||
      cudaMemcpy(db, b.data(), kBytes, cudaMemcpyHostToDevice) != cudaSuccess) {
    return false;
  }
  add<<<kCount / 256, 256>>>(da, db, dc);
  if (cudaMemcpy(c.data(), dc, kBytes, cudaMemcpyDeviceToHost) != cudaSuccess) return false;
  for (const float x : c) {
    if (x != 3.75f) return false;
  }
  return true;
}

}  // namespace

int main() {
  const bool right = run();
  std::puts(right ? "right" : cudaGetErrorString(cudaGetLastError()));
  std::fflush(stdout);
  return right ? 0 : 1;
}
