#include "backends/metal/replay.hpp"

#include <cstring>
#include <new>

#include "core/error.hpp"

namespace girih::inline v0::metal {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{64} * 1024;

}  // namespace

Replay::~Replay() {
  // Tables and constants may be in use; command buffers retain nothing.
  for (std::byte* const block : constants_) memory_.retire(block, queue_.tick());
  if (launches_ == nullptr || launches_->empty()) return;
  const auto forget = [](void* launches) noexcept {
    delete static_cast<std::vector<Prepared>*>(launches);
  };
  memory_.after(queue_.tick(), forget, launches_.release());
}

Status Replay::build(std::span<const Call> calls) noexcept {
  launches_.reset(new (std::nothrow) std::vector<Prepared>);
  if (launches_ == nullptr) return error(Code::OutOfMemory, "no host memory for a graph");
  for (const Call& call : calls) GIRIH_TRY(lower(call, *this));
  return {};
}

Status Replay::add(const Launch& launch) noexcept try {
  const Result<id> pipeline = pipelines_.find(launch);
  if (!pipeline) return pipeline.error();
  const std::size_t bytes = aligned_constants(launch.parameter_bytes);
  if (constants_.empty() || used_ + bytes > kBlockBytes) {
    const Result<std::byte*> block = memory_.allocate(kBlockBytes);
    if (!block) return block.error();
    constants_.push_back(*block);
    used_ = 0;
  }
  std::byte* const place = constants_.back() + used_;
  used_ += bytes;
  std::memcpy(place, launch.parameters, launch.parameter_bytes);
  Result<Ref> table = queue_.make_table();
  if (!table) return table.error();
  GIRIH_TRY(queue_.bind(table->get(), launch, memory_.gpu_address(place)));
  launches_->push_back(Prepared{*pipeline, *std::move(table), queue_.uses_of(launch),
                                launch.threadgroups, launch.threads, launch.threadgroup_bytes,
                                launch.seconds});
  return {};
} catch (...) {
  return error(Code::OutOfMemory, "no host memory for a graph");
}

Status Replay::replay() noexcept {
  for (const Prepared& launch : *launches_) GIRIH_TRY(queue_.encode(launch));
  return {};
}

}  // namespace girih::inline v0::metal
