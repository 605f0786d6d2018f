#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "backends/metal/launch.hpp"

namespace girih::inline v0::metal {

/// The text of a family, embedded.
const char* source_of(Family family) noexcept;
/// The kernel that a metallib of that text has, and one of another text has not.
const char* mark_of(Family family) noexcept;
/// The metallib that was built with girih; empty if there is none.
std::span<const std::byte> embedded_metallib() noexcept;

/// Compiled kernels. A family is compiled when one of its kernels is first asked for, or a metallib
/// loaded, which then is all of them and must be of the same text; what fails stays failed, with
/// the first error.
class Pipelines {
 public:
  /// `prebuilt`: path of a metallib; empty: `embedded` is one; if that is empty too, the embedded
  /// text is compiled.
  Status start(id device, const std::string& prebuilt,
               std::span<const std::byte> embedded) noexcept;
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
  [[nodiscard]] bool compiles() const noexcept { return prebuilt_.empty() && embedded_.empty(); }
  [[nodiscard]] Compiled load(Family family) const;

  id device_ = nullptr;
  std::string prebuilt_;
  std::span<const std::byte> embedded_;
  Ref compiler_;
  std::array<Library, kFamilyCount> libraries_;
  std::map<const char*, Ref> pipelines_;  ///< by the address of the name
};

}  // namespace girih::inline v0::metal
