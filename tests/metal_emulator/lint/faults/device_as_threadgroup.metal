#include "backends/metal/kernels/msl.h"
using namespace metal;
[[kernel]] void k(device float* x [[buffer(0)]]) {
  threadgroup float* p = x;
  p[0] = 1;
}
