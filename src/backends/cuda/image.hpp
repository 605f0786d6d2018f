#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <girih/overlay.hpp>

namespace girih::inline v0::cuda {

/// The bytes of the image, from memory or its file, with a zero behind them, which PTX ends with.
Result<std::vector<std::byte>> read_image(const KernelImage& image) noexcept;
/// FileFormat unless the bytes look like a cubin (ELF for CUDA, whole), a fatbin or PTX: the driver
/// reads on where a header points to.
Status check_image(std::span<const std::byte> image) noexcept;

}  // namespace girih::inline v0::cuda
