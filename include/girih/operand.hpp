#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <girih/tensor.hpp>

namespace girih::inline v0 {

/// A read operand. Has no default, so that a descriptor which leaves one out does not compile.
class Operand {
 public:
  Operand(Tensor tensor) noexcept : tensor_(std::move(tensor)) {}  // NOLINT(google-explicit-*)
  [[nodiscard]] const Tensor& tensor() const noexcept { return tensor_; }

 private:
  Tensor tensor_;
};

/// A written operand.
class Output {
 public:
  Output(Tensor tensor) noexcept : tensor_(std::move(tensor)) {}  // NOLINT(google-explicit-*)
  [[nodiscard]] const Tensor& tensor() const noexcept { return tensor_; }

 private:
  Tensor tensor_;
};

/// How many elements share one factor of a `Scale`.
enum class Granularity : std::uint8_t {
  PerTensor,       ///< one factor
  PerRow,          ///< one for each row of the product: M factors, on operand A
  PerColumn,       ///< one for each column of the product: N factors, on operand B
  PerRowBlock,     ///< one for each row and 128 of K: [M, ceil(K/128)], on operand A
  PerColumnBlock,  ///< one for each 128 of K and column: [ceil(K/128), N], on operand B
  PerBlock,        ///< one for each 128 x 128 of B: [ceil(K/128), ceil(N/128)]
};

/// Factors, f32, that multiply an operand. `tensor` has rank 1 (or rank 0 or 1 for `PerTensor`), or
/// rank 2 where blocks share one: those are for operands of 8-bit floats, and must be finite.
struct Scale {
  Tensor tensor;
  Granularity granularity = Granularity::PerTensor;
};

/// A scalar given either as a host value, fixed when the call is encoded or captured, or as a
/// one-element f32 tensor, read each time the operation runs, so that it can change between
/// replays.
template <class T>
class ScalarArg {
 public:
  constexpr ScalarArg(T value) noexcept : value_(value) {}           // NOLINT(google-explicit-*)
  ScalarArg(Tensor tensor) noexcept : tensor_(std::move(tensor)) {}  // NOLINT(google-explicit-*)

  [[nodiscard]] bool on_device() const noexcept { return tensor_.has_value(); }
  /// The host value; meaningless if `on_device()`.
  [[nodiscard]] T value() const noexcept { return value_; }
  /// The tensor; only if `on_device()`.
  [[nodiscard]] const Tensor& tensor() const noexcept { return *tensor_; }

 private:
  T value_{};
  std::optional<Tensor> tensor_;
};

}  // namespace girih::inline v0
