#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace girih::inline v0::verify {

/// Which kernels the cases of a suite ran.
class Coverage {
 public:
  void hit(std::string_view kernel) { kernels_.emplace(kernel); }
  [[nodiscard]] bool has(std::string_view kernel) const {
    return kernels_.find(kernel) != kernels_.end();
  }
  /// Those of `wanted` that never ran.
  [[nodiscard]] std::vector<std::string> missing(std::span<const std::string> wanted) const {
    std::vector<std::string> result;
    for (const std::string& kernel : wanted) {
      if (!has(kernel)) result.push_back(kernel);
    }
    return result;
  }

 private:
  std::set<std::string, std::less<>> kernels_;
};

}  // namespace girih::inline v0::verify
