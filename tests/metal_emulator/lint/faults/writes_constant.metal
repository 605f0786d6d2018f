#include "backends/metal/kernels/msl.h"
using namespace metal;
struct Arguments { int n; };
[[kernel]] void k(device float* y [[buffer(0)]], constant Arguments& a [[buffer(1)]]) { a.n = 1; }
