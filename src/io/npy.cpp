#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include <girih/io.hpp>

#include "core/error.hpp"
#include "core/format.hpp"
#include "core/geometry.hpp"
#include "io/file.hpp"
#include "io/guard.hpp"
#include "io/host_array.hpp"
#include "io/npy_header.hpp"

static_assert(std::endian::native == std::endian::little, "files are read in place");

namespace girih::inline v0 {
namespace {

constexpr std::string_view kMagic{"\x93NUMPY", 6};

struct OpenNpy {
  InputFile file;
  NpyHeader header;
  std::int64_t payload_offset = 0;
  std::int64_t payload_bytes = 0;
};

std::uint32_t little_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = (value << 8U) | std::to_integer<std::uint32_t>(bytes[i]);
  }
  return value;
}

/// Bytes of an array of this shape.
Result<std::int64_t> payload_bytes(const NpyHeader& header, const std::string& path) {
  const std::optional<std::int64_t> bits =
      checked_extent_bits(header.shape, bit_width(header.dtype));
  if (!bits) {
    return error(Code::FileFormat, "{}: the size of shape ({}) does not fit 64 bits",
                 printable(path), joined(header.shape, ", "));
  }
  return is_empty(header.shape) ? 0 : *bits / 8;
}

/// The header text's place: 2 bytes of length in version 1, 4 in versions 2 and 3.
Result<std::pair<std::int64_t, std::int64_t>> header_range(const InputFile& file) {
  const std::string path = printable(file.path());
  std::array<std::byte, 12> prefix{};
  const auto present = static_cast<std::size_t>(std::min<std::int64_t>(file.size(), 12));
  GIRIH_TRY(file.read_at(0, std::span{prefix}.first(present)));
  if (present < kMagic.size() || std::memcmp(prefix.data(), kMagic.data(), kMagic.size()) != 0) {
    return error(Code::FileFormat, "{}: no .npy file: it does not begin with \\x93NUMPY ({} bytes)",
                 path, file.size());
  }
  const auto major = std::to_integer<unsigned>(prefix[6]);
  const auto minor = std::to_integer<unsigned>(prefix[7]);
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t begin = 8 + length_bytes;
  if (present < begin) {
    return error(Code::FileFormat, "{}: ends inside the .npy prefix, at byte {}", path, present);
  }
  if (major < 1 || major > 3 || minor != 0) {
    return error(Code::FileUnsupported, "{}: .npy version {}.{} is not read", path, major, minor);
  }
  const std::uint32_t length = little_endian(std::span{prefix}.subspan(8, length_bytes));
  if (length > kMaxNpyHeader) {
    return error(Code::FileFormat, "{}: a header of {} bytes is over the limit of {}", path, length,
                 kMaxNpyHeader);
  }
  if (static_cast<std::int64_t>(begin) + length > file.size()) {
    return error(Code::FileFormat, "{}: a header of {} bytes does not fit a file of {}", path,
                 length, file.size());
  }
  return std::pair{static_cast<std::int64_t>(begin), std::int64_t{length}};
}

Result<OpenNpy> open_npy(const std::string& path) {
  Result<InputFile> file = InputFile::open(path);
  if (!file) return std::move(file).error();
  const auto range = header_range(*file);
  if (!range) return range.error();
  const auto [begin, length] = *range;
  std::string text(static_cast<std::size_t>(length), '\0');
  GIRIH_TRY(file->read_at(begin, std::as_writable_bytes(std::span{text})));
  const Result<NpyHeader> header = parse_npy_header(text, path);
  if (!header) return header.error();
  const Result<std::int64_t> expected = payload_bytes(*header, path);
  if (!expected) return expected.error();
  const std::int64_t actual = file->size() - begin - length;
  if (actual != *expected) {
    return error(Code::FileFormat, "{}: shape ({}) of {} takes {} bytes; the file holds {}",
                 printable(path), joined(header->shape, ", "), name(header->dtype), *expected,
                 actual);
  }
  return OpenNpy{*std::move(file), *header, begin + length, *expected};
}

Strides strides_of(const NpyHeader& header) {
  if (!header.fortran_order) return contiguous_strides(header.shape);
  Strides strides{};
  std::int64_t step = 1;
  for (int d = 0; d < header.shape.rank(); ++d) {
    strides[static_cast<std::size_t>(d)] = step;
    step *= std::max<std::int64_t>(header.shape[d], 1);
  }
  return strides;
}

}  // namespace

Result<HostArray> read_npy(const std::string& path) noexcept {
  return guarded("read_npy", [&]() -> Result<HostArray> {
    const Result<OpenNpy> npy = open_npy(path);
    if (!npy) return npy.error();
    HostArray array{npy->header.dtype, npy->header.shape, strides_of(npy->header), {}};
    array.bytes.resize(static_cast<std::size_t>(npy->payload_bytes));
    GIRIH_TRY(npy->file.read_at(npy->payload_offset, array.bytes));
    return array;
  });
}

Result<ArrayInfo> inspect_npy(const std::string& path) noexcept {
  return guarded("inspect_npy", [&]() -> Result<ArrayInfo> {
    const Result<OpenNpy> npy = open_npy(path);
    if (!npy) return npy.error();
    return ArrayInfo{npy->header.dtype, npy->header.shape, strides_of(npy->header)};
  });
}

Status write_npy(const std::string& path, const HostView& view) noexcept {
  return guarded("write_npy", [&]() -> Status {
    const Result<std::string> header = format_npy_header(view.dtype, view.shape, path);
    if (!header) return header.error();
    const Result<std::int64_t> bytes = checked_view_bytes(view, "write_npy");
    if (!bytes) return bytes.error();
    Result<OutputFile> file = OutputFile::create(path);
    if (!file) return std::move(file).error();
    GIRIH_TRY(file->write(std::as_bytes(std::span{*header})));
    GIRIH_TRY(stream_row_major(view, [&](auto run) { return file->write(run); }));
    return file->commit();
  });
}

}  // namespace girih::inline v0
