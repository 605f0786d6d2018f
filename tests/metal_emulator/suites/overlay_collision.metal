// A kernel whose name is one of girih's.
#include "backends/metal/kernels/msl.h"

using namespace metal;

[[kernel]] void metal_fill_any_1x512_simt(device uint* out [[buffer(0)]],
                                          uint i [[thread_position_in_grid]]) {
  out[i] = 1;
}
