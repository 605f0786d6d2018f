#pragma once

// The standard library first: it may undefine or break on these; girih may not.
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#define min(a, b) hostile
#define max(a, b) hostile
#define I hostile
#define small hostile
#define near hostile
#define far hostile
#define interface hostile
#define ERROR hostile
#define OPTIONAL hostile
