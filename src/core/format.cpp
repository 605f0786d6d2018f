// The one file that holds fmt itself; the others see declarations only.
#define FMT_HEADER_ONLY 1
#include "core/format.hpp"

#include <fmt/format.h>

namespace girih::inline v0 {

std::string vformatted(fmt::string_view format, fmt::format_args args) {
  return fmt::vformat(format, args);
}

}  // namespace girih::inline v0
