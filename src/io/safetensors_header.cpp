#include "io/safetensors_header.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "core/format.hpp"
#include "io/guard.hpp"
#include "io/host_array.hpp"

namespace girih::inline v0 {
namespace {

/// Every type of the format; those without a `DType` are listed but not read.
struct Type {
  std::string_view name;
  int bits;
  std::optional<DType> dtype;
};
constexpr std::array<Type, 20> kTypes{{
    {"F32", 32, DType::F32},
    {"F64", 64, DType::F64},
    {"F16", 16, DType::F16},
    {"BF16", 16, DType::BF16},
    {"F8_E4M3", 8, DType::F8E4M3},
    {"F8_E5M2", 8, DType::F8E5M2},
    {"I8", 8, DType::I8},
    {"U8", 8, DType::U8},
    {"I32", 32, DType::I32},
    {"BOOL", 8, {}},
    {"I16", 16, {}},
    {"U16", 16, {}},
    {"U32", 32, {}},
    {"I64", 64, {}},
    {"U64", 64, {}},
    {"F4", 4, {}},
    {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},
    {"F8_E8M0", 8, {}},
    {"C64", 64, {}},
}};

const Type* find_type(std::string_view name) {
  const auto* const found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& t) { return t.name == name; });
  return found == kTypes.end() ? nullptr : found;
}

/// Receives the JSON as it is parsed and takes only what the format allows, so that nothing grows
/// but the entries themselves and the parse ends at the first fault.
class Handler {
 public:
  explicit Handler(const std::string& path) : path_(printable(path)) {}

  SafetensorsHeader header;
  std::optional<Error> failure;

  bool null() { return reject("null"); }
  bool boolean(bool /*value*/) { return reject("a boolean"); }
  bool number_integer(std::int64_t value) { return reject(formatted("{}", value)); }
  bool number_float(double /*value*/, const std::string& text) { return reject(printable(text)); }
  template <class Bytes>
  bool binary(Bytes& /*value*/) {
    return reject("bytes");
  }

  bool number_unsigned(std::uint64_t value) {
    if (!in_array_) return reject(formatted("{}", value));
    if (!std::in_range<std::int64_t>(value)) {
      return fail(formatted("{} {} does not fit 63 bits", place(), value));
    }
    if (field_ == Field::Shape && numbers_.size() == static_cast<std::size_t>(kMaxRank)) {
      failure = error(Code::FileUnsupported, "{}: {} has a rank over the limit of {}", path_,
                      entry(), kMaxRank);
      return false;
    }
    if (field_ == Field::Offsets && numbers_.size() == 2) return wrong_offsets();
    numbers_.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool string(std::string& value) {
    if (depth_ == 2 && in_metadata_) {
      header.metadata.push_back({std::move(key_), std::move(value)});
      return true;
    }
    if (depth_ != 2 || in_array_ || field_ != Field::DType) {
      return reject(formatted("\"{}\"", printable(value)));
    }
    header.entries.back().type = std::move(value);
    return true;
  }

  bool start_object(std::size_t /*size*/) {
    if (depth_ >= 2 || in_array_) return reject("an object");
    if (++depth_ == 1) return true;
    in_metadata_ = key_ == "__metadata__";
    if (in_metadata_) {
      if (seen_metadata_) return fail("__metadata__ appears twice");
      seen_metadata_ = true;
      return true;
    }
    seen_fields_ = 0;
    header.entries.push_back({.name = std::move(key_), .type = {}, .dtype = {}, .shape = {}});
    return true;
  }

  bool key(std::string& value) {
    if (depth_ == 1 || in_metadata_) {
      key_ = std::move(value);
      return true;
    }
    if (value == "dtype") {
      field_ = Field::DType;
    } else if (value == "shape") {
      field_ = Field::Shape;
    } else if (value == "data_offsets") {
      field_ = Field::Offsets;
    } else {
      return fail(formatted("{} has an unknown field \"{}\"", entry(), printable(value)));
    }
    const unsigned bit = 1U << static_cast<unsigned>(field_);
    if ((seen_fields_ & bit) != 0) return fail(formatted("{} has {} twice", entry(), value));
    seen_fields_ |= bit;
    return true;
  }

  bool end_object() {
    --depth_;
    if (depth_ == 1 && !in_metadata_ && seen_fields_ != 7) {
      return fail(formatted("{} must have dtype, shape and data_offsets", entry()));
    }
    in_metadata_ = false;
    return true;
  }

  bool start_array(std::size_t /*size*/) {
    if (depth_ != 2 || in_metadata_ || in_array_ || field_ == Field::DType) {
      return reject("an array");
    }
    in_array_ = true;
    numbers_.clear();
    return true;
  }

  bool end_array() {
    in_array_ = false;
    Safetensors::Entry& current = header.entries.back();
    if (field_ == Field::Offsets) {
      if (numbers_.size() != 2) return wrong_offsets();
      current.begin = numbers_[0];
      current.end = numbers_[1];
      return true;
    }
    current.shape = Shape::of(numbers_);
    return true;
  }

  template <class Exception>
  bool parse_error(std::size_t position, const std::string& /*token*/, const Exception& /*e*/) {
    return fail(formatted("is no valid JSON at its byte {}", position));
  }

 private:
  enum class Field : unsigned { DType, Shape, Offsets };

  bool fail(std::string_view rule) {
    failure = error(Code::FileFormat, "{}: safetensors header: {}", path_, rule);
    return false;
  }
  bool wrong_offsets() { return fail(formatted("{} must be two numbers", place())); }
  /// A value of a kind that may not stand here.
  bool reject(std::string_view what) {
    if (in_metadata_) {
      return fail(formatted("__metadata__ maps strings to strings, but \"{}\" is {}",
                            printable(key_), what));
    }
    if (depth_ == 0) return fail(formatted("must be an object, and is {}", what));
    if (depth_ == 1) {
      return fail(formatted("\"{}\" must be an object, and is {}", printable(key_), what));
    }
    return fail(formatted("{} cannot be {}", place(), what));
  }
  [[nodiscard]] std::string entry() const {
    return formatted("tensor \"{}\"", printable(header.entries.back().name));
  }
  [[nodiscard]] std::string place() const {
    constexpr std::array<std::string_view, 3> kFields{"dtype", "shape", "data_offsets"};
    return formatted("{}: {}", entry(), kFields[static_cast<std::size_t>(field_)]);
  }

  std::string path_;
  std::string key_;
  Field field_ = Field::DType;
  unsigned seen_fields_ = 0;
  int depth_ = 0;
  bool in_metadata_ = false;
  bool seen_metadata_ = false;
  bool in_array_ = false;
  std::vector<std::int64_t> numbers_;
};

class LayoutCheck {
 public:
  LayoutCheck(std::int64_t data_bytes, const std::string& path)
      : data_bytes_(data_bytes), path_(printable(path)) {}

  /// The type exists and the range is as long as the shape and type say.
  Status check(Safetensors::Entry& entry) const {
    const Type* const type = find_type(entry.type);
    if (type == nullptr) {
      return broken(entry, formatted("unknown dtype \"{}\"", printable(entry.type)));
    }
    entry.dtype = type->dtype;
    std::optional<std::int64_t> bits = checked_extent_bits(entry.shape, type->bits);
    if (!bits) {
      return broken(entry, formatted("the size of shape [{}] does not fit 64 bits",
                                     joined(entry.shape, ", ")));
    }
    if (is_empty(entry.shape)) bits = 0;
    if (entry.begin > entry.end || entry.end > data_bytes_) {
      return broken(entry, formatted("offsets [{}, {}] do not fit the {} bytes of data",
                                     entry.begin, entry.end, data_bytes_));
    }
    if (*bits % 8 != 0 || *bits / 8 != entry.end - entry.begin) {
      return broken(
          entry, formatted("shape [{}] of {} takes {} bits; its offsets hold {} bytes",
                           joined(entry.shape, ", "), entry.type, *bits, entry.end - entry.begin));
    }
    return {};
  }

  /// The ranges tile the data: no overlap, no gap, nothing after the last.
  Status check_tiling(const std::vector<Safetensors::Entry>& entries) const {
    std::vector<std::size_t> order(entries.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair{entries[a].begin, entries[a].end} <
             std::pair{entries[b].begin, entries[b].end};
    });
    std::int64_t end = 0;
    for (const std::size_t i : order) {
      const Safetensors::Entry& entry = entries[i];
      if (entry.begin < end) {
        return broken(entry, formatted("begins at byte {}, inside another tensor that ends at {}",
                                       entry.begin, end));
      }
      if (entry.begin > end) {
        return broken(entry, formatted("begins at byte {}, after a gap from {}", entry.begin, end));
      }
      end = entry.end;
    }
    if (end == data_bytes_) return {};
    return error(Code::FileFormat, "{}: {} bytes follow the last tensor", path_, data_bytes_ - end);
  }

 private:
  [[nodiscard]] Error broken(const Safetensors::Entry& entry, std::string_view rule) const {
    return error(Code::FileFormat, "{}: tensor \"{}\": {}", path_, printable(entry.name), rule);
  }

  std::int64_t data_bytes_;
  std::string path_;
};

/// Sorts by `member`, then refuses two that are equal.
template <class T>
Status sort_unique(std::vector<T>& list, std::string T::*member, std::string_view what,
                   const std::string& path) {
  std::sort(list.begin(), list.end(),
            [&](const T& a, const T& b) { return a.*member < b.*member; });
  const auto twin = std::adjacent_find(
      list.begin(), list.end(), [&](const T& a, const T& b) { return a.*member == b.*member; });
  if (twin == list.end()) return {};
  return error(Code::FileFormat, "{}: safetensors header: {} \"{}\" appears twice", printable(path),
               what, printable((*twin).*member));
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view text, std::int64_t data_begin,
                                                   std::int64_t data_bytes,
                                                   const std::string& path) {
  if (!text.starts_with('{')) {
    return error(Code::FileFormat, "{}: safetensors header: does not begin with '{{'",
                 printable(path));
  }
  // The JSON reader takes a NUL for the end of its input, and would not see what follows.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return error(Code::FileFormat, "{}: safetensors header: is no valid JSON at its byte {}",
                 printable(path), nul);
  }
  Handler handler{path};
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &handler)) {
    if (handler.failure) return *std::move(handler.failure);
    return error(Code::FileFormat, "{}: safetensors header: is no valid JSON", printable(path));
  }
  SafetensorsHeader header = std::move(handler.header);
  GIRIH_TRY(sort_unique(header.metadata, &Safetensors::Metadata::key, "metadata", path));
  GIRIH_TRY(sort_unique(header.entries, &Safetensors::Entry::name, "tensor", path));
  const LayoutCheck layout{data_bytes, path};
  for (Safetensors::Entry& entry : header.entries) GIRIH_TRY(layout.check(entry));
  GIRIH_TRY(layout.check_tiling(header.entries));
  for (Safetensors::Entry& entry : header.entries) {
    entry.begin += data_begin;
    entry.end += data_begin;
  }
  return header;
}

std::string_view safetensors_type(DType dtype) noexcept {
  for (const Type& type : kTypes) {
    if (type.dtype == dtype) return type.name;
  }
  return {};
}

}  // namespace girih::inline v0
