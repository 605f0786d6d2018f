#pragma once

#include <girih/export.hpp>

/// Version of the headers. CMake reads these three lines; nothing else states a version.
#define GIRIH_VERSION_MAJOR 0
#define GIRIH_VERSION_MINOR 1
#define GIRIH_VERSION_PATCH 0

// Every public entity lives in `girih::inline v0`: the namespace carries the ABI version, so two
// copies of girih in one process never share a symbol by accident.
namespace girih::inline v0 {

/// "MAJOR.MINOR.PATCH" of the library that is linked, which may differ from the headers above.
GIRIH_API const char* version() noexcept;

}  // namespace girih::inline v0
