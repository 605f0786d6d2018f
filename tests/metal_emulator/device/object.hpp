#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

// Objective-C as far as the backend uses it: objects answer messages by class and selector.

namespace girih::inline v0::emulator {

using Selector = const char*;

/// `class_name` decides which methods it answers. Counted; what it holds goes with the last
/// reference, the object itself later, so that a message to it is noticed.
class Object {
 public:
  explicit Object(const char* name) noexcept : class_name(name) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;

  void retain() noexcept { references_.fetch_add(1); }
  void release();
  [[nodiscard]] int references() const noexcept { return references_.load(); }

  const char* const class_name;

 protected:
  virtual void finish() {}

 private:
  std::atomic<int> references_ = 1;
};

/// Makes an object that counts as live until it is released.
template <class T, class... A>
T* create(A&&... arguments);
/// Gives it to the innermost pool of the thread.
Object* autoreleased(Object* object);

/// Holds one reference.
template <class T>
class Held {
 public:
  Held() noexcept = default;
  Held(T* object) noexcept : object_(object) {
    if (object_ != nullptr) object_->retain();
  }
  Held(const Held& other) noexcept : Held(other.object_) {}
  Held(Held&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Held& operator=(Held other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Held() {
    if (object_ != nullptr) object_->release();
  }
  T* operator->() const noexcept { return object_; }
  [[nodiscard]] T* get() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

/// A broken rule of the API.
void misuse(const std::string& text);
void report(const std::string& kind, const std::string& text);

void count_live(const char* class_name, int change);
template <class T, class... A>
T* create(A&&... arguments) {
  T* const object = new T(std::forward<A>(arguments)...);
  count_live(object->class_name, 1);
  return object;
}

struct String final : Object {
  explicit String(std::string value) : Object("NSString"), text(std::move(value)) {}
  std::string text;
};
struct Failure final : Object {
  Failure(long number, std::string value)
      : Object("NSError"), code(number), text(std::move(value)) {}
  long code;
  std::string text;
};
/// Sets the error of a method that returns null.
std::nullptr_t fail_with(Object** failure, const std::string& text);

/// Everything that runs or waits for work holds this.
std::recursive_mutex& device_mutex() noexcept;

/// How the run time spells a type: of what the methods here take and give.
template <class T>
constexpr const char* kSpelling = "?";
template <class T>
constexpr const char* kSpelling<T*> = "@";
template <>
inline constexpr const char* kSpelling<Selector> = ":";
template <class T>
requires std::is_integral_v<T>
constexpr const char* kSpelling<T> = sizeof(T) == 1 ? "C" : sizeof(T) == 8 ? "Q" : "i";
template <>
inline constexpr const char* kSpelling<bool> = "B";
template <>
inline constexpr const char* kSpelling<void> = "v";
template <>
inline constexpr const char* kSpelling<std::nullptr_t> = "@";
template <class T>
requires std::is_class_v<T>
constexpr const char* kSpelling<T> = sizeof(T) == 24 ? "{MTLSize=QQQ}" : "{_NSRange=QQ}";

struct MethodRegistration {
  MethodRegistration(const char* class_name, Selector selector, void* function,
                     std::string encoding);
  template <class R, class... A>
  MethodRegistration(const char* class_name, Selector selector, R (*function)(A...))
      : MethodRegistration(class_name, selector, reinterpret_cast<void*>(function),
                           (std::string(kSpelling<R>) + ... + kSpelling<A>)) {}
  template <class F>
  requires std::is_class_v<F> MethodRegistration(const char* class_name, Selector selector,
                                                 F function)
      : MethodRegistration(class_name, selector, +function) {}
};

}  // namespace girih::inline v0::emulator

#define GIRIH_JOIN_AGAIN(a, b) a##b
#define GIRIH_JOIN(a, b) GIRIH_JOIN_AGAIN(a, b)
/// GIRIH_METHOD("Class", "selector:", function): "+Class" for methods of the class, "*" for any.
#define GIRIH_METHOD(class_name, selector, ...) \
  const MethodRegistration GIRIH_JOIN(method_, __COUNTER__)(class_name, selector, __VA_ARGS__)
/// [[Class alloc] init] gives a T.
#define GIRIH_CLASS(class_name, T) \
  GIRIH_METHOD("+" class_name, "alloc", [](Object*, Selector) -> Object* { return create<T>(); })
