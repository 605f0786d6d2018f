// No include guard: see simd-inl.hpp.
//
// Copies rows of A, or columns of B, into panels (`GemmKernel`), widening 16-bit floats.

namespace girih::inline v0::cpu::GIRIH_CPU_TARGET {
namespace {

/// Depth of a block that is widened at once: a panel's worth stays in the first-level cache.
inline constexpr std::int64_t kPackDepth = 64;

/// `count` f32 of a 16-bit source, zero-padded to whole vectors.
HWY_INLINE void widen_row(const std::uint16_t* source, std::int64_t stride, Element type,
                          std::int64_t count, float* destination) {
  std::int64_t i = 0;
  if (stride == 1) {
    for (; i + kLanes <= count; i += kLanes) {
      const Words half = load_halves(source + i);
      hn::StoreU(type == Element::BF16 ? widen_bf16(half) : widen_f16(half), F32(),
                 destination + i);
    }
  }
  for (; i < count; i += kLanes) {
    std::uint16_t raw[kLanes] = {};
    const std::int64_t rest = count - i < kLanes ? count - i : kLanes;
    for (std::int64_t j = 0; j < rest; ++j) raw[j] = source[(i + j) * stride];
    const Words half = load_halves(raw);
    hn::StoreU(type == Element::BF16 ? widen_bf16(half) : widen_f16(half), F32(), destination + i);
  }
}

/// Whole panels of f32 whose neighbours across lie together: `count` panels at once, so that a step
/// reads one run of memory instead of a lone cache line, with a TLB entry, a step and panel. With
/// the 4 x 4 transposes below, packing fell from 7.1 % of the time at 1024 cubed to 5.9 %.
template <std::int64_t kWidth>
HWY_INLINE void copy_panels(const float* source, std::int64_t depth_stride, std::int64_t depth,
                            std::int64_t count, std::int64_t step, float* panels) {
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t p = 0; p < count; ++p) {
      __builtin_memcpy(panels + (p * step * depth + k) * kWidth,
                       source + k * depth_stride + p * kWidth, kWidth * sizeof(float));
    }
  }
}

/// One whole panel of any strides, from step `begin` on.
template <std::int64_t kWidth>
HWY_INLINE void gather_panel(const float* source, std::int64_t stride, std::int64_t depth_stride,
                             std::int64_t begin, std::int64_t depth, float* panel) {
  for (std::int64_t k = begin; k < depth; ++k) {
    GIRIH_UNROLL
    for (std::int64_t i = 0; i < kWidth; ++i) {
      panel[k * kWidth + i] = source[i * stride + k * depth_stride];
    }
  }
}

/// One whole panel whose steps lie together in each row: transposed in squares of 4 x 4, the last
/// of which overlaps its neighbour if the width is no multiple of 4.
template <std::int64_t kWidth>
HWY_INLINE void transpose_panel(const float* source, std::int64_t stride, std::int64_t depth,
                                float* panel) {
  std::int64_t k = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::Full128<float> d;
  for (; k + 4 <= depth; k += 4) {
    GIRIH_UNROLL
    for (std::int64_t i = 0; i < kWidth; i += 4) {
      const std::int64_t row = i + 4 <= kWidth ? i : kWidth - 4;
      const float* square = source + row * stride + k;
      const auto r0 = hn::LoadU(d, square);
      const auto r1 = hn::LoadU(d, square + stride);
      const auto r2 = hn::LoadU(d, square + 2 * stride);
      const auto r3 = hn::LoadU(d, square + 3 * stride);
      const auto even_low = hn::InterleaveLower(d, r0, r2);
      const auto odd_low = hn::InterleaveLower(d, r1, r3);
      const auto even_high = hn::InterleaveUpper(d, r0, r2);
      const auto odd_high = hn::InterleaveUpper(d, r1, r3);
      float* out = panel + k * kWidth + row;
      hn::StoreU(hn::InterleaveLower(d, even_low, odd_low), d, out);
      hn::StoreU(hn::InterleaveUpper(d, even_low, odd_low), d, out + kWidth);
      hn::StoreU(hn::InterleaveLower(d, even_high, odd_high), d, out + 2 * kWidth);
      hn::StoreU(hn::InterleaveUpper(d, even_high, odd_high), d, out + 3 * kWidth);
    }
  }
#endif
  gather_panel<kWidth>(source, stride, 1, k, depth, panel);
}

template <std::int64_t kWidth>
HWY_INLINE void pack_f32_panel(const float* source, std::int64_t stride, std::int64_t depth_stride,
                               std::int64_t width, std::int64_t depth, float* panel) {
  if (width == kWidth) {
    if (stride == 1) {
      copy_panels<kWidth>(source, depth_stride, depth, 1, 1, panel);
    } else if (depth_stride == 1) {
      transpose_panel<kWidth>(source, stride, depth, panel);
    } else {
      gather_panel<kWidth>(source, stride, depth_stride, 0, depth, panel);
    }
    return;
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t i = 0; i < kWidth; ++i) {
      panel[k * kWidth + i] = i < width ? source[i * stride + k * depth_stride] : 0.0F;
    }
  }
}

/// Widens the panel block by block into rows along whichever direction is contiguous, then packs
/// those as f32.
template <std::int64_t kWidth>
HWY_INLINE void pack_half_panel(const std::uint16_t* source, const PackSource& from,
                                std::int64_t width, float* panel) {
  constexpr std::int64_t kRow = (kWidth + kLanes - 1) / kLanes * kLanes;
  constexpr std::int64_t kBlock = (kPackDepth + kLanes - 1) / kLanes * kLanes;
  float rows[kWidth > kRow ? kWidth * kBlock : kRow * kBlock];
  for (std::int64_t k = 0; k < from.depth; k += kPackDepth) {
    const std::int64_t depth = from.depth - k < kPackDepth ? from.depth - k : kPackDepth;
    const std::uint16_t* block = source + k * from.depth_stride;
    if (from.stride == 1) {
      for (std::int64_t j = 0; j < depth; ++j) {
        widen_row(block + j * from.depth_stride, 1, from.type, width, rows + j * kRow);
      }
      pack_f32_panel<kWidth>(rows, 1, kRow, width, depth, panel + k * kWidth);
    } else {
      for (std::int64_t i = 0; i < width; ++i) {
        widen_row(block + i * from.stride, from.depth_stride, from.type, depth, rows + i * kBlock);
      }
      pack_f32_panel<kWidth>(rows, kBlock, 1, width, depth, panel + k * kWidth);
    }
  }
}

template <std::int64_t kWidth>
void pack_floats(const PackSource& from, void* panels) {
  auto* panel = static_cast<float*>(panels);
  std::int64_t i = 0;
  if (from.type == Element::F32 && from.stride == 1) {
    const std::int64_t whole = from.extent / kWidth;
    copy_panels<kWidth>(static_cast<const float*>(from.data), from.depth_stride, from.depth, whole,
                        from.panel_step, panel);
    i = whole * kWidth;
    panel += i * from.panel_step * from.depth;
  }
  for (; i < from.extent; i += kWidth, panel += kWidth * from.panel_step * from.depth) {
    const std::int64_t width = from.extent - i < kWidth ? from.extent - i : kWidth;
    if (from.type == Element::F32) {
      pack_f32_panel<kWidth>(static_cast<const float*>(from.data) + i * from.stride, from.stride,
                             from.depth_stride, width, from.depth, panel);
    } else {
      pack_half_panel<kWidth>(static_cast<const std::uint16_t*>(from.data) + i * from.stride, from,
                              width, panel);
    }
  }
}

/// int8 to pairs of int16, the second of which is zero beyond an odd depth.
template <std::int64_t kWidth>
void pack_bytes(const PackSource& from, void* panels) {
  const std::int64_t steps = (from.depth + 1) / 2;
  auto* panel = static_cast<std::int16_t*>(panels);
  for (std::int64_t i = 0; i < from.extent;
       i += kWidth, panel += kWidth * from.panel_step * 2 * steps) {
    const std::int64_t width = from.extent - i < kWidth ? from.extent - i : kWidth;
    const std::int8_t* source = static_cast<const std::int8_t*>(from.data) + i * from.stride;
    for (std::int64_t s = 0; s < steps; ++s) {
      const std::int8_t* first = source + 2 * s * from.depth_stride;
      const bool has_second = 2 * s + 1 < from.depth;
      std::int16_t* pairs = panel + s * kWidth * 2;
      for (std::int64_t j = 0; j < kWidth; ++j) {
        const bool inside = j < width;
        pairs[2 * j] = inside ? first[j * from.stride] : std::int16_t{0};
        pairs[2 * j + 1] =
            inside && has_second ? first[j * from.stride + from.depth_stride] : std::int16_t{0};
      }
    }
  }
}

}  // namespace
}  // namespace girih::inline v0::cpu::GIRIH_CPU_TARGET
