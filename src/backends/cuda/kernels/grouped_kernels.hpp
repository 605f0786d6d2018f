#pragma once

#include "backends/cuda/kernels/grouped_params.hpp"
#include "backends/cuda/kernels/grouped_tiles.hpp"

namespace girih::inline v0::cuda {

/// Takes one GroupedTableParams; one block of kGroupedTableThreads.
const void* grouped_table_kernel();

/// The kernel of a tile (of kGroupedTiles), the operands' type and layouts, and of what is grouped.
/// Takes one GroupedParams; block tile_threads(tile), dynamic shared memory shared_bytes(tile, a,
/// b), any grid, in clusters of `cluster_rows`.
const void* grouped_wgmma_kernel(int tile, Element type, Major a, Major b, bool by_depth);

/// Takes one GroupedSimtParams; block of 256, any grid. `integers`: int8 operands, int32 sums.
const void* grouped_simt_kernel(bool integers);

}  // namespace girih::inline v0::cuda
