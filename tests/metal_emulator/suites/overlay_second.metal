// A kernel whose threadgroup memory has an index that no launch gives.
#include "backends/metal/kernels/msl.h"

using namespace metal;

[[kernel]] void second_part(threadgroup uint* part [[threadgroup(1)]],
                            device uint* out [[buffer(0)]],
                            uint i [[thread_index_in_threadgroup]]) {
  part[i] = i;
  out[i] = part[i];
}
