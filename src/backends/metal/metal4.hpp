#pragma once

#include <string>
#include <string_view>

#include "backends/metal/objc.hpp"

// The part of Metal 4 that the backend uses: methods by space and name (`device::new_queue(self)`),
// structs and enumerators. scripts/check_metal_binding.py compares all of it with Apple's
// metal-cpp.

namespace girih::inline v0::metal {

struct Size {
  UInt width, height, depth;
};
struct Range {
  UInt location, length;
};

#define GIRIH_METAL_METHOD(space, name, owner, selector, ...)       \
  namespace space {                                                 \
  inline constinit const Method<__VA_ARGS__> name{owner, selector}; \
  }
#include "backends/metal/methods.inc"
#undef GIRIH_METAL_METHOD

constexpr Int kFamilyMetal4 = 5002;              ///< MTLGPUFamilyMetal4
constexpr UInt kStorageShared = 0;               ///< MTLResourceStorageModeShared
constexpr UInt kUntracked = 1 << 8;              ///< MTLResourceHazardTrackingModeUntracked
constexpr UInt kStages = (1 << 27) | (1 << 28);  ///< MTLStageDispatch, MTLStageBlit
constexpr UInt kVisibleToDevice = 1;             ///< MTL4VisibilityOptionDevice
constexpr UInt kLanguageMsl4 = 4 << 16;          ///< MTLLanguageVersion4_0
constexpr Int kMathSafe = 0;                     ///< MTLMathModeSafe
constexpr UInt kReflectsBindings = 1;            ///< MTL4ShaderReflectionBindingInfo
constexpr Int kBufferBinding = 0;                ///< MTLBindingTypeBuffer
constexpr Int kThreadgroupBinding = 1;           ///< MTLBindingTypeThreadgroupMemory
constexpr Int kQueueTimeout = 1;                 ///< MTL4CommandQueueErrorTimeout
constexpr Int kQueueOutOfMemory = 3;             ///< MTL4CommandQueueErrorOutOfMemory

/// Owns one reference.
class Ref {
 public:
  Ref() noexcept = default;
  /// Takes over a reference, as `new...` and `alloc` methods return it.
  explicit Ref(id object) noexcept : object_(object) {}
  /// Adds one, to what lives in a pool.
  static Ref retained(id object) noexcept { return Ref(object::retain(object)); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object::release(object_);
  }
  [[nodiscard]] id get() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  id object_ = nullptr;
};

/// [[class_name alloc] init]
inline Ref make(const char* class_name) noexcept {
  return Ref(object::init(object::alloc(objc_lookUpClass(class_name))));
}
/// Lives in the pool.
inline id to_string(const char* text) noexcept {
  return string::with_utf8(objc_lookUpClass("NSString"), text);
}
/// May throw std::bad_alloc.
inline std::string from_string(id text) {
  const char* const bytes = text != nullptr ? string::utf8(text) : nullptr;
  return bytes != nullptr ? bytes : "";
}
/// An NSError's description, of as many lines as it has.
inline std::string text_of(id failure) {
  return failure != nullptr ? from_string(failure::description(failure)) : "no reason given";
}
/// Of what Metal or its compiler says, the first line with an error, or else the first line.
inline std::string first_error(const std::string& text) {
  const std::size_t mark = text.find("error:");
  const std::size_t before = mark == std::string::npos ? mark : text.rfind('\n', mark);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}
inline std::string describe(id failure) {
  return first_error(text_of(failure));
}

}  // namespace girih::inline v0::metal
