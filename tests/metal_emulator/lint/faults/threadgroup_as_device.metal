#include "backends/metal/kernels/msl.h"
using namespace metal;
inline float first(device const float* p) { return p[0]; }
[[kernel]] void k(device float* y [[buffer(0)]]) {
  GIRIH_THREADGROUP_ARRAY(float, part, 32);
  y[0] = first(part);
}
