#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include <girih/io.hpp>

#include "core/error.hpp"
#include "core/format.hpp"
#include "core/geometry.hpp"
#include "io/file.hpp"
#include "io/guard.hpp"
#include "io/host_array.hpp"
#include "io/safetensors_header.hpp"

namespace girih::inline v0 {

struct Safetensors::State {
  InputFile file;
  SafetensorsHeader header;
};

namespace {

constexpr std::int64_t kLengthBytes = 8;

Result<std::int64_t> header_length(const InputFile& file) {
  const std::string path = printable(file.path());
  std::array<std::byte, kLengthBytes> prefix{};
  if (file.size() < kLengthBytes) {
    return error(Code::FileFormat, "{}: no safetensors file: {} bytes hold no header", path,
                 file.size());
  }
  GIRIH_TRY(file.read_at(0, prefix));
  std::uint64_t length = 0;
  for (std::size_t i = prefix.size(); i-- > 0;) {
    length = (length << 8U) | std::to_integer<std::uint64_t>(prefix[i]);
  }
  if (length > static_cast<std::uint64_t>(kMaxSafetensorsHeader)) {
    return error(Code::FileFormat, "{}: a safetensors header of {} bytes is over the limit of {}",
                 path, length, kMaxSafetensorsHeader);
  }
  const auto signed_length = static_cast<std::int64_t>(length);
  if (signed_length > file.size() - kLengthBytes) {
    return error(Code::FileFormat, "{}: a safetensors header of {} bytes does not fit a file of {}",
                 path, length, file.size());
  }
  return signed_length;
}

/// Views in the order of their data: wide elements first, so that each begins aligned to its width.
Result<std::vector<const NamedView*>> storage_order(std::span<const NamedView> arrays,
                                                    const std::string& path) {
  std::vector<const NamedView*> order;
  for (const NamedView& array : arrays) order.push_back(&array);
  std::sort(order.begin(), order.end(),
            [](const NamedView* a, const NamedView* b) { return a->name < b->name; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::string& name = order[i]->name;
    if (name == "__metadata__" || (i > 0 && order[i - 1]->name == name)) {
      return error(Code::FileFormat, "{}: tensor name \"{}\" is {}", printable(path),
                   printable(name), name == "__metadata__" ? "reserved" : "given twice");
    }
  }
  std::stable_sort(order.begin(), order.end(), [](const NamedView* a, const NamedView* b) {
    return bit_width(a->view.dtype) > bit_width(b->view.dtype);
  });
  return order;
}

/// `name` as a JSON string.
Result<std::string> quote(const std::string& name, const std::string& path) {
  try {
    return nlohmann::json(name).dump();
  } catch (const nlohmann::json::type_error&) {
    return error(Code::FileFormat, "{}: tensor name \"{}\" is not valid UTF-8", printable(path),
                 printable(name));
  }
}

/// Length prefix and JSON, padded with spaces so that the data begins at a multiple of 8.
Result<std::string> format_header(const std::vector<const NamedView*>& order,
                                  const std::string& path) {
  std::string text = "{";
  std::int64_t offset = 0;
  for (const NamedView* array : order) {
    const HostView& view = array->view;
    const Result<std::int64_t> bytes =
        checked_view_bytes(view, formatted("tensor \"{}\"", printable(array->name)));
    if (!bytes) return bytes.error();
    const Result<std::string> quoted = quote(array->name, path);
    if (!quoted) return quoted.error();
    text += formatted(R"({}{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                      text.size() == 1 ? "" : ",", *quoted, safetensors_type(view.dtype),
                      joined(view.shape, ","), offset, offset + *bytes);
    offset += *bytes;
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string result;
  for (std::uint64_t i = 0, length = text.size(); i < 8; ++i) {
    result += static_cast<char>((length >> (8 * i)) & 0xFFU);
  }
  return result + text;
}

}  // namespace

Safetensors::Safetensors(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Safetensors::Safetensors(Safetensors&&) noexcept = default;
Safetensors& Safetensors::operator=(Safetensors&&) noexcept = default;
Safetensors::~Safetensors() = default;

Result<Safetensors> Safetensors::open(const std::string& path) noexcept {
  return guarded("safetensors", [&]() -> Result<Safetensors> {
    Result<InputFile> file = InputFile::open(path);
    if (!file) return std::move(file).error();
    const Result<std::int64_t> length = header_length(*file);
    if (!length) return length.error();
    std::string text(static_cast<std::size_t>(*length), '\0');
    GIRIH_TRY(file->read_at(kLengthBytes, std::as_writable_bytes(std::span{text})));
    const std::int64_t data_begin = kLengthBytes + *length;
    Result<SafetensorsHeader> header =
        parse_safetensors_header(text, data_begin, file->size() - data_begin, path);
    if (!header) return std::move(header).error();
    return Safetensors{std::make_unique<State>(State{*std::move(file), *std::move(header)})};
  });
}

std::span<const Safetensors::Entry> Safetensors::entries() const noexcept {
  return state_->header.entries;
}

const Safetensors::Entry* Safetensors::find(std::string_view name) const noexcept {
  const std::vector<Entry>& list = state_->header.entries;
  const auto found = std::lower_bound(
      list.begin(), list.end(), name,
      [](const Entry& entry, std::string_view wanted) { return entry.name < wanted; });
  return found != list.end() && found->name == name ? &*found : nullptr;
}

std::span<const Safetensors::Metadata> Safetensors::metadata() const noexcept {
  return state_->header.metadata;
}

Result<ArrayInfo> Safetensors::inspect(std::string_view name) const noexcept {
  return guarded("safetensors", [&]() -> Result<ArrayInfo> {
    const std::string path = printable(state_->file.path());
    const Entry* const entry = find(name);
    if (entry == nullptr) {
      return error(Code::FileEntryMissing, "{}: no tensor \"{}\" among its {}", path,
                   printable(name), state_->header.entries.size());
    }
    if (!entry->dtype) {
      return error(Code::FileUnsupported, "{}: tensor \"{}\": elements of {} are not read", path,
                   printable(name), entry->type);
    }
    return ArrayInfo{*entry->dtype, entry->shape, contiguous_strides(entry->shape)};
  });
}

Result<HostArray> Safetensors::read(std::string_view name) const noexcept {
  return guarded("safetensors", [&]() -> Result<HostArray> {
    const Result<ArrayInfo> info = inspect(name);
    if (!info) return info.error();
    const Entry& entry = *find(name);
    HostArray array{info->dtype, info->shape, info->strides, {}};
    array.bytes.resize(static_cast<std::size_t>(entry.end - entry.begin));
    GIRIH_TRY(state_->file.read_at(entry.begin, array.bytes));
    return array;
  });
}

Status write_safetensors(const std::string& path, std::span<const NamedView> arrays) noexcept {
  return guarded("write_safetensors", [&]() -> Status {
    const auto order = storage_order(arrays, path);
    if (!order) return order.error();
    const Result<std::string> header = format_header(*order, path);
    if (!header) return header.error();
    Result<OutputFile> file = OutputFile::create(path);
    if (!file) return std::move(file).error();
    GIRIH_TRY(file->write(std::as_bytes(std::span{*header})));
    for (const NamedView* array : *order) {
      GIRIH_TRY(stream_row_major(array->view, [&](auto run) { return file->write(run); }));
    }
    return file->commit();
  });
}

}  // namespace girih::inline v0
