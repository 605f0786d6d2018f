#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include <girih/export.hpp>

namespace girih::inline v0 {

/// Whose matter an error is; every code has exactly one kind (`codes.inc`).
enum class ErrorKind : std::uint8_t {
  Invalid,      ///< the caller's mistake
  Unsupported,  ///< ours: the request makes sense, no kernel does it
  Unavailable,  ///< this machine, now: device, memory or lock missing
  Failed,       ///< the device or the system failed while working
};

/// Stable status codes. 0 is success and is never the code of an `Error`.
enum class Code : std::int32_t {
  Ok = 0,
#define GIRIH_CODE(name, value, kind, meaning) name = value,
#include <girih/codes.inc>
#undef GIRIH_CODE
};

/// "GemmAliasing" for `Code::GemmAliasing`; "unknown_status" for a value that is no code.
GIRIH_API std::string_view name(Code code) noexcept;
/// The one-line meaning of `code` from `codes.inc`.
GIRIH_API std::string_view meaning(Code code) noexcept;
GIRIH_API ErrorKind kind(Code code) noexcept;
GIRIH_API std::string_view name(ErrorKind kind) noexcept;

/// Why a call did not do what was asked. `message` is one sentence that names the operand, the rule
/// and the value that broke it.
struct Error {
  Code code;
  std::string message;

  [[nodiscard]] ErrorKind kind() const noexcept { return girih::kind(code); }
};

/// A value or an `Error`. Nothing in girih throws; look before you dereference.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(Error error) noexcept  // NOLINT(google-explicit-constructor): `return error;`
      : tl::expected<T, Error>(tl::unexpect, std::move(error)) {}
};

using Status = Result<void>;

}  // namespace girih::inline v0
