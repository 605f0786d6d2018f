#include "backends/metal/kernels/msl.h"
using namespace metal;
struct Values {
  float v[4];
  thread float& at(short i) { return v[i]; }
};
[[kernel]] void k(device float* y [[buffer(0)]]) {
  Values values;
  y[0] = values.at(1);
}
