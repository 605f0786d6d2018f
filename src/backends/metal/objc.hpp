#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

// Objective-C from plain C++: the run time's C symbols, and one typed call a method. No header of
// any SDK is needed to compile this.

extern "C" {
void objc_msgSend(void);
void* sel_registerName(const char* name);
void* objc_lookUpClass(const char* name);
void* objc_autoreleasePoolPush(void);
void objc_autoreleasePoolPop(void* pool);
void* MTLCreateSystemDefaultDevice(void);
/// An object that copies the bytes, if the last two are null.
void* dispatch_data_create(const void* buffer, unsigned long size, void* queue, void* destructor);
}

namespace girih::inline v0::metal {

using id = void*;
using UInt = unsigned long;  ///< NSUInteger
using Int = long;            ///< NSInteger

/// A message: its selector is looked up once. `owner` is the class or protocol that declares it.
template <class R, class... A>
class Method {
 public:
  constexpr Method(const char* owner, const char* selector) noexcept
      : owner_(owner), selector_(selector) {}
  R operator()(id self, A... arguments) const noexcept {
    void* selector = cached_.load(std::memory_order_relaxed);
    if (selector == nullptr) {
      selector = sel_registerName(selector_);
      cached_.store(selector, std::memory_order_relaxed);
    }
    return reinterpret_cast<R (*)(id, void*, A...)>(&objc_msgSend)(self, selector, arguments...);
  }

 private:
  const char* owner_;
  const char* selector_;
  mutable std::atomic<void*> cached_ = nullptr;
};

/// Objects that methods return without ownership live until the innermost pool ends.
class Pool {
 public:
  Pool() noexcept : pool_(objc_autoreleasePoolPush()) {}
  ~Pool() { objc_autoreleasePoolPop(pool_); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

 private:
  void* pool_;
};

}  // namespace girih::inline v0::metal
