// A kernel that binds more buffers than a launch has arguments.
#include "backends/metal/kernels/msl.h"

using namespace metal;

[[kernel]] void takes_last(device uint* out [[buffer(30)]], uint i [[thread_position_in_grid]]) {
  out[i] = i;
}
