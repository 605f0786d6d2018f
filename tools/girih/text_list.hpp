#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "core/format.hpp"

namespace girih::cli {

/// The parts between commas.
inline std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

inline bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

/// Adds an option that takes the `name()`s of some of `values`, in either case, between commas.
template <class T>
CLI::Option* add_list(CLI::App& app, const std::string& flag, std::vector<T>& target,
                      std::vector<T> values, const std::string& help) {
  std::string names;
  for (const T value : values) {
    if (!names.empty()) names += '|';
    names += name(value);
  }
  const auto take = [&target, flag, names, values](const std::string& text) {
    target.clear();
    for (const std::string& part : split(text)) {
      const auto found = std::find_if(values.begin(), values.end(), [&](T value) {
        return equal_ignoring_case(name(value), part);
      });
      if (found == values.end()) {
        throw CLI::ValidationError(flag, formatted("'{}' is not one of {}", part, names));
      }
      target.push_back(*found);
    }
  };
  return app.add_option_function<std::string>(flag, take, help)->type_name(names + ",...");
}

}  // namespace girih::cli
