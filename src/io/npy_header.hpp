#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <girih/dtype.hpp>
#include <girih/shape.hpp>
#include <girih/status.hpp>

namespace girih::inline v0 {

/// Longest header text that is read. Real ones take about 120 bytes.
inline constexpr std::uint32_t kMaxNpyHeader = std::uint32_t{1} << 20;

struct NpyHeader {
  DType dtype = DType::F32;
  bool fortran_order = false;
  Shape shape;
};

/// Parses the header text, `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }` with
/// padding and a final newline. `path` is for messages. Errors: FileFormat, FileUnsupported.
Result<NpyHeader> parse_npy_header(std::string_view text, const std::string& path);
/// Magic, version 1.0, length and header text for an array in C order, padded to a multiple of 64.
/// Errors: FileUnsupported.
Result<std::string> format_npy_header(DType dtype, const Shape& shape, const std::string& path);

}  // namespace girih::inline v0
