#pragma once

#include <fmt/core.h>
#include <string>
#include <string_view>

namespace girih::inline v0 {

/// `fmt::vformat`, compiled in one place: its machinery in every file took two thirds of the time
/// of a build. Throws std::bad_alloc.
std::string vformatted(fmt::string_view format, fmt::format_args args);

/// `fmt::format` of the built-in types and of strings; the format is checked at compile time.
template <class... Args>
std::string formatted(fmt::format_string<Args...> format, Args&&... args) {
  return vformatted(format, fmt::make_format_args(args...));
}

/// The elements of `range` as `{}` prints them, with `separator` between them.
template <class Range>
std::string joined(const Range& range, std::string_view separator) {
  std::string text;
  bool first = true;
  for (const auto& element : range) {
    if (!first) text += separator;
    first = false;
    text += formatted("{}", element);
  }
  return text;
}

}  // namespace girih::inline v0
