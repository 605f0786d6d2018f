// Loads two plugins that each hold girih, in the way that lets symbols collide most, and has both
// compute at once. Usage: program PLUGIN PLUGIN

#include <cstdint>
#include <cstdio>
#include <dlfcn.h>
#include <thread>
#include <vector>

namespace {

struct Plugin {
  int (*square)(const float*, float*, std::int64_t);
  std::uint64_t (*runtime_id)();
  const void* (*girih)();
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool load(const char* path, Plugin& plugin) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return false;
  }
  return find(library, "plugin_square", plugin.square) &&
         find(library, "plugin_runtime_id", plugin.runtime_id) &&
         find(library, "plugin_girih", plugin.girih);
}

/// A matrix of `value` squared is one of n * value^2.
bool squares(const Plugin& plugin, float value) {
  constexpr std::int64_t kN = 200;
  const std::vector<float> a(kN * kN, value);
  std::vector<float> c(kN * kN);
  for (int round = 0; round < 50; ++round) {
    if (plugin.square(a.data(), c.data(), kN) != 0) return false;
    for (const float x : c) {
      if (x != kN * value * value) return false;
    }
  }
  return true;
}

int fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  Plugin first{}, second{};
  if (argc != 3 || !load(argv[1], first) || !load(argv[2], second)) return fail("cannot load");
  if (first.girih() == second.girih()) return fail("both plugins use one girih");
  // Each copy counts its runtimes for itself.
  if (first.runtime_id() != 1 || second.runtime_id() != 1) return fail("the copies share state");
  bool one = false, two = false;
  std::thread thread([&] { one = squares(first, 2); });
  two = squares(second, 3);
  thread.join();
  if (!one || !two) return fail("a product is wrong");
  std::puts("two copies of girih computed side by side");
  return 0;
}
