#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <girih/dtype.hpp>
#include <girih/export.hpp>
#include <girih/shape.hpp>
#include <girih/status.hpp>

// Arrays in files: NumPy's .npy and safetensors, both ways. Readers take only what the format's
// document allows and trust no number in a file; they read the bytes that were asked for and no
// others. Writers are atomic: the file appears whole under its name, replacing what was there, or
// not at all. Not part of <girih/girih.hpp>.

namespace girih::inline v0 {

/// Strided elements in host memory. Element (i0, i1, ...) lies i0*stride0 + i1*stride1 + ...
/// elements after `bytes.data()`; strides are not negative.
struct HostView {
  DType dtype = DType::F32;
  Shape shape;
  Strides strides{};
  std::span<const std::byte> bytes;
};

/// The same, with its memory. A Fortran-order file gives a transposed view of its bytes.
struct HostArray {
  DType dtype = DType::F32;
  Shape shape;
  Strides strides{};
  std::vector<std::byte> bytes;

  /// A zero-filled row-major array.
  /// Errors: InvalidShape, SizeOverflow, OutOfMemory.
  GIRIH_API static Result<HostArray> make(const Shape& shape, DType dtype) noexcept;
  [[nodiscard]] HostView view() const noexcept { return {dtype, shape, strides, bytes}; }
};

/// What a file says of an array, without its elements.
struct ArrayInfo {
  DType dtype = DType::F32;
  Shape shape;
  Strides strides{};
};

/// Reads a .npy file of version 1.0, 2.0 or 3.0, of descr '<f4' '<f8' '<f2' '|i1' '|u1' '<i4', in
/// C or Fortran order. An extent of 0 gives an empty array.
/// Errors: FileNotFound; FileFormat for anything that breaks the format, the payload's exact
/// length included; FileUnsupported for other types, byte orders, versions, and ranks over
/// `kMaxRank`; OutOfMemory.
GIRIH_API Result<HostArray> read_npy(const std::string& path) noexcept;
/// The same checks, without reading the elements.
GIRIH_API Result<ArrayInfo> inspect_npy(const std::string& path) noexcept;
/// Writes version 1.0 in C order. Errors: FileWrite; FileUnsupported for types that NumPy lacks
/// (bf16, f8e4m3, f8e5m2, i4); InvalidShape, InvalidTensor for a malformed view.
GIRIH_API Status write_npy(const std::string& path, const HostView& view) noexcept;

/// A safetensors file, held open: its header is checked whole by `open`, tensors are read one by
/// one. Duplicate names, unknown fields or types, wrong byte counts, overlaps, gaps, trailing bytes
/// and headers over 100 MB are refused.
class GIRIH_API Safetensors {
 public:
  struct Entry {
    std::string name;
    std::string type;            ///< as the file spells it: "F32", "BF16", "I64", ...
    std::optional<DType> dtype;  ///< empty if girih has no such type: listed, but not readable
    Shape shape;
    std::int64_t begin = 0;  ///< bytes from the start of the file
    std::int64_t end = 0;
  };
  struct Metadata {
    std::string key;
    std::string value;
  };

  /// Errors: FileNotFound, FileFormat, FileUnsupported (ranks over `kMaxRank`), OutOfMemory.
  static Result<Safetensors> open(const std::string& path) noexcept;
  Safetensors(Safetensors&&) noexcept;
  Safetensors& operator=(Safetensors&&) noexcept;
  ~Safetensors();

  /// Sorted by name.
  [[nodiscard]] std::span<const Entry> entries() const noexcept;
  /// The entry of this name, or null.
  [[nodiscard]] const Entry* find(std::string_view name) const noexcept;
  /// The strings under "__metadata__", sorted by key.
  [[nodiscard]] std::span<const Metadata> metadata() const noexcept;
  /// What the file says of one tensor. Errors: FileEntryMissing, FileUnsupported (its type).
  [[nodiscard]] Result<ArrayInfo> inspect(std::string_view name) const noexcept;
  /// Reads one tensor, row-major. Errors: as `inspect`; FileFormat if the file shrank; OutOfMemory.
  [[nodiscard]] Result<HostArray> read(std::string_view name) const noexcept;

 private:
  struct State;
  explicit Safetensors(std::unique_ptr<State> state) noexcept;

  std::unique_ptr<State> state_;
};

struct NamedView {
  std::string name;
  HostView view;
};

/// Writes the arrays row-major, those of wide elements first so that each is aligned.
/// Errors: FileWrite; FileFormat for names that repeat, are reserved or are not UTF-8;
/// FileUnsupported for i4; InvalidShape, InvalidTensor for a malformed view.
GIRIH_API Status write_safetensors(const std::string& path,
                                   std::span<const NamedView> arrays) noexcept;

}  // namespace girih::inline v0
