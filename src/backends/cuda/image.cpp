#include "backends/cuda/image.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "core/error.hpp"

namespace girih::inline v0::cuda {
namespace {

constexpr std::uint32_t kElfMagic = 0x464C457F;
constexpr std::uint32_t kFatbinMagic = 0xBA55ED50;
constexpr std::uint16_t kMachineCuda = 190;

template <class T>
T field(std::span<const std::byte> image, std::size_t at) noexcept {
  T value{};
  if (at + sizeof(T) <= image.size()) std::memcpy(&value, image.data() + at, sizeof(T));
  return value;
}

/// Fields of an ELF-64 header: the section table is the last thing in a cubin.
Status check_cubin(std::span<const std::byte> image) noexcept {
  constexpr std::size_t kHeader = 64;
  if (image.size() <= kHeader) {
    return error(Code::FileFormat, "add_kernels: an ELF header of {} bytes is cut off",
                 image.size() - 1);
  }
  const auto machine = field<std::uint16_t>(image, 18);
  if (machine != kMachineCuda) {
    return error(Code::FileFormat, "add_kernels: an ELF file for machine {}, not for CUDA ({})",
                 machine, kMachineCuda);
  }
  const auto sections = field<std::uint64_t>(image, 40);
  const auto bytes =
      std::uint64_t{field<std::uint16_t>(image, 58)} * field<std::uint16_t>(image, 60);
  if (sections > image.size() || bytes > image.size() - sections) {
    return error(Code::FileFormat, "add_kernels: a cubin of {} bytes is cut off", image.size());
  }
  return {};
}

/// A header of 16 bytes: magic, version, its own size, and the size of what follows.
Status check_fatbin(std::span<const std::byte> image) noexcept {
  const auto header = field<std::uint16_t>(image, 6);
  const auto rest = field<std::uint64_t>(image, 8);
  if (header < 16 || header > image.size() || rest > image.size() - header) {
    return error(Code::FileFormat, "add_kernels: a fatbin of {} bytes is cut off", image.size());
  }
  return {};
}

}  // namespace

Result<std::vector<std::byte>> read_image(const KernelImage& image) noexcept try {
  std::vector<std::byte> bytes(image.image.begin(), image.image.end());
  if (!image.path.empty()) {
    std::error_code missing;
    const std::uintmax_t size = std::filesystem::file_size(image.path, missing);
    if (!missing) bytes.resize(size);
    std::ifstream file(image.path, std::ios::binary);
    if (missing ||
        !file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size))) {
      return error(Code::FileNotFound, "add_kernels: cannot read '{}'", image.path);
    }
  }
  bytes.push_back(std::byte{0});
  return bytes;
} catch (...) {
  return error(Code::OutOfMemory, "no host memory for an image of kernels");
}

Status check_image(std::span<const std::byte> image) noexcept {
  const auto magic = field<std::uint32_t>(image, 0);
  if (magic == kElfMagic) return check_cubin(image);
  if (magic == kFatbinMagic) return check_fatbin(image);
  const std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
  const std::size_t end = std::min(text.find('\0'), text.size());
  if (end + 1 >= text.size() && text.substr(0, end).find(".version") != std::string_view::npos) {
    return {};
  }
  return error(Code::FileFormat, "add_kernels: {} bytes are no cubin, no fatbin and no PTX",
               image.size() - 1);
}

}  // namespace girih::inline v0::cuda
