#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <girih/io.hpp>

namespace girih::inline v0 {

/// Longest JSON header that is read: the limit of the format's own implementation.
inline constexpr std::int64_t kMaxSafetensorsHeader = 100'000'000;

struct SafetensorsHeader {
  std::vector<Safetensors::Entry> entries;      ///< sorted by name
  std::vector<Safetensors::Metadata> metadata;  ///< sorted by key
};

/// Parses and checks the JSON header of a file whose tensors occupy `data_bytes` bytes from byte
/// `data_begin` on. `path` is for messages. Errors: FileFormat, FileUnsupported.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view text, std::int64_t data_begin,
                                                   std::int64_t data_bytes,
                                                   const std::string& path);
/// The file's spelling of a type; "" for one that the format lacks.
std::string_view safetensors_type(DType dtype) noexcept;

}  // namespace girih::inline v0
