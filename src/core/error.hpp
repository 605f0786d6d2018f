#pragma once

#include <utility>

#include <girih/status.hpp>

#include "core/format.hpp"

namespace girih::inline v0 {

/// An error with a formatted message. If there is no memory for the message it is left empty: the
/// code still tells what happened.
template <class... Args>
Error error(Code code, fmt::format_string<Args...> format, Args&&... args) noexcept {
  try {
    return Error{code, formatted(format, std::forward<Args>(args)...)};
  } catch (...) {
    return Error{code, {}};
  }
}

/// `Status` of a step inside a function that returns a `Status` or `Result`: passes failures on.
#define GIRIH_TRY(expression)                                           \
  do {                                                                  \
    if (auto girih_status = (expression); !girih_status) [[unlikely]] { \
      return std::move(girih_status).error();                           \
    }                                                                   \
  } while (false)

}  // namespace girih::inline v0
