#pragma once
#include "backends/metal/kernels/msl.h"

using namespace metal;

typedef long Index;
typedef uint Word;

#include "backends/metal/kernels/params.h"
