#pragma once

#include <dlfcn.h>
#include <initializer_list>

#include "core/error.hpp"

namespace girih::cli {

/// A shared library, open until the process ends: unloading a threaded one is not safe.
class SharedLibrary {
 public:
  /// The first of `files` that is there. BackendUnavailable names the first.
  static Result<SharedLibrary> open(std::initializer_list<const char*> files) {
    for (const char* file : files) {
      void* const handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
      if (handle != nullptr) return SharedLibrary(handle);
    }
    return error(Code::BackendUnavailable, "{} is not installed", *files.begin());
  }
  template <class Function>
  bool find(const char* symbol, Function*& function) const {
    function = reinterpret_cast<Function*>(::dlsym(handle_, symbol));
    return function != nullptr;
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace girih::cli
