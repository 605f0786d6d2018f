#include "io/host_array.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "core/format.hpp"
#include "core/geometry.hpp"
#include "io/guard.hpp"

namespace girih::inline v0 {
namespace {

constexpr std::size_t kGatherBytes = std::size_t{1} << 20;

/// Copies `count` elements of `Width` bytes that lie `stride` elements apart.
template <std::size_t Width>
void gather(const std::byte* source, std::int64_t stride, std::int64_t count,
            std::byte* destination) {
  const std::int64_t step = stride * static_cast<std::int64_t>(Width);
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(destination + i * static_cast<std::int64_t>(Width), source + i * step, Width);
  }
}

void gather(std::size_t width, const std::byte* source, std::int64_t stride, std::int64_t count,
            std::byte* destination) {
  switch (width) {
    case 1:
      return gather<1>(source, stride, count, destination);
    case 2:
      return gather<2>(source, stride, count, destination);
    case 4:
      return gather<4>(source, stride, count, destination);
    default:
      return gather<8>(source, stride, count, destination);
  }
}

/// Walks the index of every run along the last dimension, outermost slowest.
class RunCursor {
 public:
  explicit RunCursor(const HostView& view) : view_(view) {}
  [[nodiscard]] std::int64_t offset() const {
    std::int64_t offset = 0;
    for (int d = 0; d + 1 < view_.shape.rank(); ++d) {
      offset += index_[static_cast<std::size_t>(d)] * view_.strides[static_cast<std::size_t>(d)];
    }
    return offset;
  }
  /// False after the last run.
  bool advance() {
    for (int d = view_.shape.rank() - 2; d >= 0; --d) {
      std::int64_t& i = index_[static_cast<std::size_t>(d)];
      if (++i < view_.shape[d]) return true;
      i = 0;
    }
    return false;
  }

 private:
  const HostView& view_;
  std::array<std::int64_t, kMaxRank> index_{};
};

Status stream_gathered(const HostView& view,
                       const std::function<Status(std::span<const std::byte>)>& sink) {
  const auto width = static_cast<std::size_t>(bit_width(view.dtype) / 8);
  const int last = view.shape.rank() - 1;
  const std::int64_t run = view.shape[last];
  const std::int64_t stride = view.strides[static_cast<std::size_t>(last)];
  std::vector<std::byte> buffer(kGatherBytes);
  std::size_t used = 0;
  RunCursor cursor{view};
  do {
    const std::byte* source =
        view.bytes.data() + cursor.offset() * static_cast<std::int64_t>(width);
    for (std::int64_t done = 0; done < run;) {
      const auto room = static_cast<std::int64_t>((buffer.size() - used) / width);
      const std::int64_t count = std::min(room, run - done);
      gather(width, source + done * stride * static_cast<std::int64_t>(width), stride, count,
             buffer.data() + used);
      done += count;
      used += static_cast<std::size_t>(count) * width;
      if (used == buffer.size()) {
        GIRIH_TRY(sink({buffer.data(), used}));
        used = 0;
      }
    }
  } while (cursor.advance());
  return sink({buffer.data(), used});
}

}  // namespace

std::optional<std::int64_t> checked_extent_bits(const Shape& shape, int bits) noexcept {
  std::optional<std::int64_t> product = bits;
  for (const std::int64_t extent : shape) {
    product = checked_mul(*product, std::max<std::int64_t>(extent, 1));
    if (!product) return std::nullopt;
  }
  return product;
}

bool is_empty(const Shape& shape) noexcept {
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

Result<HostArray> HostArray::make(const Shape& shape, DType dtype) noexcept {
  return guarded("host array", [&]() -> Result<HostArray> {
    const Result<std::int64_t> count = checked_size(shape, "host array");
    if (!count) return count.error();
    const Result<std::int64_t> bytes = checked_bytes(*count, dtype, "host array");
    if (!bytes) return bytes.error();
    if (!checked_extent_bits(shape, bit_width(dtype))) {
      return error(Code::SizeOverflow, "host array: the strides of shape [{}] do not fit 64 bits",
                   joined(shape, ", "));
    }
    HostArray array{dtype, shape, contiguous_strides(shape), {}};
    array.bytes.resize(static_cast<std::size_t>(*bytes));
    return array;
  });
}

Result<std::int64_t> checked_view_bytes(const HostView& view, std::string_view what) {
  if (view.dtype == DType::I4) {
    return error(Code::FileUnsupported, "{}: arrays of {} cannot be stored", what,
                 name(view.dtype));
  }
  const Geometry geometry{view.dtype, view.shape, view.strides, 0};
  GIRIH_TRY(check_view(geometry, static_cast<std::int64_t>(view.bytes.size()), what));
  const Result<std::int64_t> count = checked_size(view.shape, what);
  if (!count) return count.error();
  return checked_bytes(*count, view.dtype, what);
}

Status stream_row_major(const HostView& view,
                        const std::function<Status(std::span<const std::byte>)>& sink) {
  if (is_empty(view.shape)) return {};
  std::int64_t bytes = bit_width(view.dtype) / 8;
  for (const std::int64_t extent : view.shape) bytes *= extent;
  if (is_contiguous(Geometry{view.dtype, view.shape, view.strides, 0})) {
    return sink(view.bytes.first(static_cast<std::size_t>(bytes)));
  }
  return stream_gathered(view, sink);
}

}  // namespace girih::inline v0
