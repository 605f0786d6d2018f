#pragma once
#include "msl.h"

using namespace metal;

typedef long Index;
typedef uint Word;

#include "params.h"
