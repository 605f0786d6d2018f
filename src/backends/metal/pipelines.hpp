#pragma once

#include <array>
#include <map>
#include <string>

#include "backends/metal/launch.hpp"

namespace girih::inline v0::metal {

/// The text of a family, embedded.
const char* source_of(Family family) noexcept;

/// Compiled kernels. A family is compiled when one of its kernels is first asked for, or the
/// caller's metallib loaded, which then is all of them; what fails stays failed, with the first
/// error.
class Pipelines {
 public:
  /// `prebuilt`: path of a metallib; empty: the embedded text is compiled.
  Status start(id device, const std::string& prebuilt) noexcept;
  [[nodiscard]] id device() const noexcept { return device_; }
  /// MTLComputePipelineState of a launch. BackendUnavailable if it does not compile.
  Result<id> find(const Launch& launch) noexcept;
  /// MTLLibrary of MSL text, or all that the compiler says. May throw std::bad_alloc, as the next.
  struct Compiled {
    Ref library;
    std::string failure;
  };
  [[nodiscard]] Compiled compile(const char* text) const;
  /// Null, with what the compiler says, if the function has none. One that `reflects` can tell its
  /// parameters.
  [[nodiscard]] Ref make_pipeline(id library, id name, bool reflects, std::string& failure) const;
  /// Why a family did not compile; empty if it did, or was not asked for.
  [[nodiscard]] const std::string& failure(Family family) const noexcept {
    return libraries_[static_cast<std::size_t>(family)].failure;
  }

 private:
  struct Library {
    Ref object;
    std::string failure;
  };
  Result<id> library(Family family);
  [[nodiscard]] Compiled load() const;

  id device_ = nullptr;
  std::string prebuilt_;
  Ref compiler_;
  std::array<Library, kFamilyCount> libraries_;
  std::map<const char*, Ref> pipelines_;  ///< by the address of the name
};

}  // namespace girih::inline v0::metal
