#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <girih/runtime.hpp>

#include "verify/host_view.hpp"

namespace girih::inline v0::verify {

/// What an output holds before it is written.
enum class Poison : std::uint8_t {
  Nan,   ///< all bits set: NaN in every float type, -1 in the integers
  Huge,  ///< every byte 0x7B: about 1e36 in f32 and bf16, 61296 in f16
};

/// A view inside an allocation of its own, with guard zones on both sides. Everything outside the
/// view (guards, row padding, gaps between batches) is NaN, or extreme in integers: what a kernel
/// reads there spoils its result, and what it writes there is found.
///
/// The host holds what the device is meant to hold: set elements, `upload`, run, `observe`.
class GuardedTensor {
 public:
  /// The first element lies `offset` elements past a 64-byte boundary of the allocation.
  static Result<GuardedTensor> make(Runtime& runtime, DType dtype, const Shape& shape,
                                    const Strides& strides, std::int64_t offset);

  [[nodiscard]] const Tensor& tensor() const noexcept { return view_; }
  /// The allocation as one row: a test writes through it to break a guard on purpose.
  [[nodiscard]] const Tensor& allocation() const noexcept { return allocation_; }
  [[nodiscard]] std::int64_t size() const noexcept { return view_.size(); }

  /// The `i`-th element in row-major order; rounded to the type.
  void set(std::int64_t i, double value) noexcept;
  void poison(Poison poison) noexcept;
  Status upload(Runtime& runtime) const;
  /// Fetches what the device holds now.
  Status observe(Runtime& runtime);

  /// What the host meant the device to hold.
  [[nodiscard]] HostView host() const noexcept;
  /// Of the element at index 0.
  [[nodiscard]] const std::byte* host_address() const noexcept;
  [[nodiscard]] std::byte* host_address() noexcept;
  /// What was last observed.
  [[nodiscard]] HostView observed() const noexcept;
  /// The observed elements alone, row-major.
  [[nodiscard]] std::vector<std::byte> observed_elements() const;

  /// The first byte outside the view that is not as it was; empty if none.
  [[nodiscard]] std::string damage() const;
  /// The same for the whole allocation: of an operand that nothing may write.
  [[nodiscard]] std::string change() const;

 private:
  Tensor allocation_, view_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::byte> host_, observed_;
};

/// The first element that held one poison after the first run and the other after the second:
/// nothing wrote it. Arguments are `observed_elements()` of two runs of equal contents.
std::optional<std::int64_t> surviving_poison(DType dtype, const std::vector<std::byte>& first,
                                             Poison first_poison,
                                             const std::vector<std::byte>& second,
                                             Poison second_poison) noexcept;

}  // namespace girih::inline v0::verify
