#pragma once

#include "backends/cuda/kernels/routing_params.hpp"

namespace girih::inline v0::cuda {

/// Takes one IndexCheckParams; blocks of kRowThreads, as many as `found` has places.
const void* index_check_kernel();
/// Take one PermuteParams and one UnpermuteParams; blocks of kRowThreads, any grid.
const void* permute_kernel();
const void* unpermute_kernel();

/// Take one RouteParams each and run in this order: a block of kRouteThreads a part, one block of
/// kRouteScanThreads, a block of kRoutePlaceThreads a part.
const void* route_choose_kernel();
const void* route_scan_kernel();
const void* route_place_kernel();

}  // namespace girih::inline v0::cuda
