#include "backends/metal/kernels/msl.h"
using namespace metal;
inline float first(float* p) { return p[0]; }
[[kernel]] void k(device float* x [[buffer(0)]]) { x[0] = first(x); }
