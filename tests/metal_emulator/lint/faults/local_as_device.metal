#include "backends/metal/kernels/msl.h"
using namespace metal;
[[kernel]] void k(device float* x [[buffer(0)]]) {
  float value = 0;
  device float* p = &value;
  p[0] = 1;
}
