#include "io/guard.hpp"

#include <algorithm>

#include "core/format.hpp"

namespace girih::inline v0 {

std::string printable(std::string_view text) {
  constexpr std::size_t kLimit = 500;
  std::size_t kept = std::min(text.size(), kLimit);
  // Never cut inside a UTF-8 sequence.
  while (kept < text.size() && kept > 0 &&
         (static_cast<unsigned char>(text[kept]) & 0xC0U) == 0x80U) {
    --kept;
  }
  std::string result;
  for (const char c : text.substr(0, kept)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      result += formatted("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  if (kept < text.size()) result += "...";
  return result;
}

}  // namespace girih::inline v0
