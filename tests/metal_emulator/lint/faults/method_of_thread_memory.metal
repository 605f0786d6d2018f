#include "backends/metal/kernels/msl.h"
using namespace metal;
struct Value {
  float v;
  float get() const thread { return v; }
};
[[kernel]] void k(device Value* s [[buffer(0)]], device float* y [[buffer(1)]]) { y[0] = s->get(); }
