// A kernel that leaves out a buffer.
#include "backends/metal/kernels/msl.h"

using namespace metal;

[[kernel]] void skips_one(device uint* in [[buffer(0)]], device uint* out [[buffer(2)]],
                          uint i [[thread_position_in_grid]]) {
  out[i] = in[i];
}
