#include "emulator/kernel.hpp"

#include <algorithm>
#include <utility>

namespace girih::inline v0::emulator {
namespace {

std::vector<Library>& libraries() noexcept {
  static std::vector<Library> all;
  return all;
}

std::vector<std::pair<std::string_view, FunctionConstant>>& constants() noexcept {
  static std::vector<std::pair<std::string_view, FunctionConstant>> all;
  return all;
}

template <class Matches>
const Library* find(Matches matches) noexcept {
  const auto found = std::ranges::find_if(libraries(), matches);
  return found == libraries().end() ? nullptr : &*found;
}

}  // namespace

void add_library(const Library& library) {
  libraries().push_back(library);
}

const Library* find_library(std::string_view text) noexcept {
  return find([&](const Library& library) { return text == library.text; });
}

const Library* find_library_named(std::string_view name) noexcept {
  return find([&](const Library& library) { return name == library.name; });
}

const Kernel* find_kernel(const Library& library, std::string_view name) noexcept {
  const Kernel* const end = library.kernels + library.kernel_count;
  const Kernel* const found =
      std::find_if(library.kernels, end, [&](const Kernel& kernel) { return name == kernel.name; });
  return found == end ? nullptr : found;
}

void add_function_constant(const char* library, const FunctionConstant& constant) {
  constants().emplace_back(library, constant);
}

std::vector<FunctionConstant> function_constants(std::string_view library) {
  std::vector<FunctionConstant> result;
  for (const auto& [owner, constant] : constants()) {
    if (owner == library) result.push_back(constant);
  }
  return result;
}

}  // namespace girih::inline v0::emulator
