#pragma once

#include <cstdint>

// How work is cut where rows are routed on cuda; shared with device code: plain C++.

namespace girih::inline v0::cuda {

/// Blocks that check indices; each leaves its finding, 8 bytes, in the workspace.
constexpr std::int64_t kIndexCheckBlocks = 128;
constexpr std::int64_t kIndicesOfBlock = 1024;
constexpr std::int64_t index_check_blocks(std::int64_t indices) {
  const std::int64_t blocks = (indices + kIndicesOfBlock - 1) / kIndicesOfBlock;
  return blocks < 1 ? 1 : blocks < kIndexCheckBlocks ? blocks : kIndexCheckBlocks;
}

/// Parts of tokens that are counted and placed one by one: enough to fill a device, few enough that
/// their counts are quickly summed.
constexpr std::int64_t kRouteTokensOfPart = 8;
constexpr std::int64_t kRouteParts = 264;

}  // namespace girih::inline v0::cuda
