#include "backends/metal/kernels/msl.h"
using namespace metal;
struct Arguments { int n; };
[[kernel]] void k(device float* y [[buffer(0)]], constant Arguments& a [[buffer(1)]]) {
  const short left = a.n - 5;
  y[0] = left;
}
