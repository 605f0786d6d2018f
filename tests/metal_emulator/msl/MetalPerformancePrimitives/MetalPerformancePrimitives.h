#pragma once
#include <metal_tensor>

#include "shim/matmul2d.hpp"
