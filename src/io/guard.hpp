#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.hpp"

namespace girih::inline v0 {

/// Runs `body` and turns an allocation that failed into an error; `what` names what was being done.
template <class Body>
auto guarded(std::string_view what, Body&& body) noexcept -> decltype(body()) {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    return error(Code::OutOfMemory, "{}: not enough memory", what);
  } catch (const std::length_error&) {
    return error(Code::OutOfMemory, "{}: more elements than memory can hold", what);
  }
}

/// `text` fit for one line of a message: control characters are escaped, and what is longer than
/// 500 bytes is cut, since names come from files that anyone may have written.
std::string printable(std::string_view text);

}  // namespace girih::inline v0
