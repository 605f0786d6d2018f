#include <girih/status.hpp>
#include <girih/version.hpp>

namespace girih::inline v0 {
namespace {

struct CodeRow {
  Code code;
  std::string_view name;
  ErrorKind kind;
  std::string_view meaning;
};

constexpr CodeRow kCodes[] = {
    {Code::Ok, "Ok", ErrorKind::Failed, "success"},
#define GIRIH_CODE(name, value, kind, meaning) {Code::name, #name, ErrorKind::kind, meaning},
#include <girih/codes.inc>
#undef GIRIH_CODE
};

constexpr CodeRow kUnknown = {Code::Ok, "unknown_status", ErrorKind::Failed, "not a status code"};

const CodeRow& row(Code code) noexcept {
  for (const CodeRow& candidate : kCodes) {
    if (candidate.code == code) return candidate;
  }
  return kUnknown;
}

}  // namespace

std::string_view name(Code code) noexcept {
  return row(code).name;
}
std::string_view meaning(Code code) noexcept {
  return row(code).meaning;
}
ErrorKind kind(Code code) noexcept {
  return row(code).kind;
}

std::string_view name(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::Invalid:
      return "invalid";
    case ErrorKind::Unsupported:
      return "unsupported";
    case ErrorKind::Unavailable:
      return "unavailable";
    case ErrorKind::Failed:
      return "failed";
  }
  return "unknown_kind";
}

#define GIRIH_TEXT_OF(value) #value
#define GIRIH_TEXT(value) GIRIH_TEXT_OF(value)
const char* version() noexcept {
  return GIRIH_TEXT(GIRIH_VERSION_MAJOR) "." GIRIH_TEXT(GIRIH_VERSION_MINOR) "." GIRIH_TEXT(
      GIRIH_VERSION_PATCH);
}

}  // namespace girih::inline v0
