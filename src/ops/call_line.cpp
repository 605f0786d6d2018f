#include "ops/call_line.hpp"

#include <algorithm>
#include <charconv>
#include <type_traits>
#include <vector>

#include "core/error.hpp"
#include "core/format.hpp"

namespace girih::inline v0 {
namespace {

constexpr std::string_view kFormat = "girih-call-";
constexpr std::string_view kVersion = "1";
constexpr std::size_t kLongest =
    4096;  ///< a line of every field with extents of 19 digits has 2700

enum class Need : std::uint8_t { Optional, Required };

/// Calls `visit(key, member, need)` for each field that a line of this operation may have.
template <class Visit>
void for_each_field(Op op, const Visit& visit) {
  visit("backend", &CallLine::backend, Need::Required);
  visit("threads", &CallLine::threads, Need::Optional);
  visit("captured", &CallLine::captured, Need::Optional);
  if (op == Op::Gemm || op == Op::GroupedGemm) {
    visit("a", &CallLine::a, Need::Required);
    visit("b", &CallLine::b, Need::Required);
    visit("c", &CallLine::c, Need::Required);
    if (op == Op::GroupedGemm) visit("offsets", &CallLine::offsets, Need::Required);
    visit("alpha", &CallLine::alpha, Need::Optional);
    visit("beta", &CallLine::beta, Need::Optional);
    visit("a_scale", &CallLine::a_scale, Need::Optional);
    visit("a_scale_per", &CallLine::a_granularity, Need::Optional);
    visit("b_scale", &CallLine::b_scale, Need::Optional);
    visit("b_scale_per", &CallLine::b_granularity, Need::Optional);
    if (op == Op::Gemm) {
      visit("c_scale", &CallLine::c_scale, Need::Optional);
      visit("c_scale_per", &CallLine::c_granularity, Need::Optional);
    }
    visit("bias", &CallLine::bias, Need::Optional);
    visit("activation", &CallLine::activation, Need::Optional);
    visit("gate", &CallLine::gate, Need::Optional);
    visit("residual", &CallLine::residual, Need::Optional);
    visit("residual_is_c", &CallLine::residual_is_c, Need::Optional);
    visit("precision", &CallLine::precision, Need::Optional);
    visit("path", &CallLine::path, Need::Optional);
    visit("reproducibility", &CallLine::reproducibility, Need::Optional);
    visit("workspace", &CallLine::workspace, Need::Optional);
  } else if (op == Op::Route) {
    visit("logits", &CallLine::logits, Need::Required);
    visit("chosen", &CallLine::chosen, Need::Required);
    visit("weights", &CallLine::weights, Need::Required);
    visit("offsets", &CallLine::offsets, Need::Required);
    visit("rows", &CallLine::rows, Need::Required);
    visit("sources", &CallLine::sources, Need::Required);
    visit("kind", &CallLine::router_weights, Need::Optional);
    visit("scale", &CallLine::scale, Need::Optional);
    visit("workspace", &CallLine::workspace, Need::Optional);
  } else if (op == Op::Permute) {
    visit("x", &CallLine::x, Need::Required);
    visit("sources", &CallLine::sources, Need::Required);
    visit("y", &CallLine::y, Need::Required);
  } else if (op == Op::Unpermute) {
    visit("x", &CallLine::x, Need::Required);
    visit("rows", &CallLine::rows, Need::Required);
    visit("weights", &CallLine::weights, Need::Optional);
    visit("y", &CallLine::y, Need::Required);
  } else {
    if (op != Op::Fill) visit("source", &CallLine::source, Need::Required);
    visit("destination", &CallLine::destination, Need::Required);
    if (op == Op::Fill) visit("value", &CallLine::value, Need::Required);
  }
  visit("kernel", &CallLine::kernel, Need::Optional);
  visit("status", &CallLine::status, Need::Optional);
  visit("us", &CallLine::microseconds, Need::Optional);
}

constexpr std::string_view name(Reproducibility value) noexcept {
  return value == Reproducibility::RowInvariant ? "row_invariant" : "per_shape";
}
constexpr std::string_view name(Granularity value) noexcept {
  switch (value) {
    case Granularity::PerRow:
      return "row";
    case Granularity::PerColumn:
      return "column";
    case Granularity::PerRowBlock:
      return "row_block";
    case Granularity::PerColumnBlock:
      return "column_block";
    case Granularity::PerBlock:
      return "block";
    default:
      return "tensor";
  }
}

// The options of a call, by their last values. A caller may set one to what is none of them.

constexpr Granularity last_of(Granularity) {
  return Granularity::PerBlock;
}
constexpr Activation last_of(Activation) {
  return Activation::Silu;
}
constexpr GateOrder last_of(GateOrder) {
  return GateOrder::Interleaved;
}
constexpr Precision last_of(Precision) {
  return Precision::Tf32;
}
constexpr Path last_of(Path) {
  return Path::Portable;
}
constexpr Reproducibility last_of(Reproducibility) {
  return Reproducibility::RowInvariant;
}
constexpr RouterWeights last_of(RouterWeights) {
  return RouterWeights::SigmoidOfChosen;
}
template <class T>
concept Option = requires(T value) {
  last_of(value);
};
constexpr char kNumberMark = '#';

// How each type of field is written.

std::string show(bool value) {
  return value ? "yes" : "no";
}
std::string show(int value) {
  return formatted("{}", value);
}
std::string show(float value) {
  return formatted("{}", value);
}
std::string show(double value) {
  return formatted("{}", value);
}
std::string show(const std::string& value) {
  return value;
}
std::string show(const ScalarLine& scalar) {
  return scalar.on_device ? "device" : formatted("{}", scalar.value);
}
std::string show(const ViewLine& view) {
  return formatted(
      "{}[{}]:{}@{}", girih::name(view.dtype), joined(view.shape, ","),
      joined(std::span(view.strides).first(static_cast<std::size_t>(view.shape.rank())), ","),
      view.alignment);
}
std::string show(const std::optional<ViewLine>& view) {
  return view ? show(*view) : "none";
}
template <class Enum>
requires std::is_enum_v<Enum> std::string show(Enum value) {
  if constexpr (Option<Enum>) {
    if (value > last_of(value)) return formatted("{}{}", kNumberMark, static_cast<int>(value));
  }
  return std::string(name(value));
}
/// "silu:interleaved:1.702:7:1": activation, order, alpha, limit and offset.
std::string show(const std::optional<Gate>& gate) {
  if (!gate) return "none";
  return formatted("{}:{}:{}:{}:{}", show(gate->activation), show(gate->order), gate->alpha,
                   gate->limit, gate->up_offset);
}

// How each is read: false if the text is none of them.

template <class Number>
bool read_number(std::string_view text, Number& value) noexcept {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc{} && end == text.data() + text.size();
}

bool read(std::string_view text, bool& value) noexcept {
  value = text == "yes";
  return value || text == "no";
}
bool read(std::string_view text, int& value) noexcept {
  return read_number(text, value) && value >= 1 && value <= kMaxThreads;
}
bool read(std::string_view text, float& value) noexcept {
  return read_number(text, value);
}
bool read(std::string_view text, double& value) noexcept {
  return read_number(text, value);
}
bool read(std::string_view text, std::string& value) {
  value = text;
  return !text.empty();
}
bool read(std::string_view text, ScalarLine& scalar) noexcept {
  scalar = {.on_device = text == "device"};
  return scalar.on_device || read_number(text, scalar.value);
}

/// The text before `mark`, which is dropped with it; nothing if there is no mark.
std::optional<std::string_view> take_until(std::string_view& text, char mark) noexcept {
  const std::size_t end = text.find(mark);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end + 1);
  return taken;
}

/// "1,2,3" into the first entries of `values`; gives their count, or nothing.
std::optional<std::size_t> read_list(std::string_view text, Strides& values) noexcept {
  if (text.empty()) return 0;
  std::size_t count = 0;
  for (bool more = true; more;) {
    const std::optional<std::string_view> item = take_until(text, ',');
    more = item.has_value();
    if (count == values.size()) return std::nullopt;
    std::int64_t& value = values[count++];
    if (!read_number(item.value_or(text), value) || value < 0) return std::nullopt;
  }
  return count;
}

bool read(std::string_view text, DType& value) noexcept {
  for (int i = 0; i < kDTypeCount; ++i) {
    value = static_cast<DType>(i);
    if (text == girih::name(value)) return true;
  }
  return false;
}

bool read(std::string_view text, std::optional<ViewLine>& view) noexcept {
  if (text == "none") return true;
  ViewLine& result = view.emplace();
  const auto dtype = take_until(text, '[');
  const auto extents = dtype ? take_until(text, ']') : std::nullopt;
  if (!extents || !read(*dtype, result.dtype)) return false;
  if (text.empty() || text.front() != ':') return false;
  text.remove_prefix(1);
  const auto strides = take_until(text, '@');
  Strides shape{};
  const auto rank = read_list(*extents, shape);
  if (!strides || !rank || read_list(*strides, result.strides) != rank) return false;
  result.shape = Shape::of({shape.data(), *rank});
  return read_number(text, result.alignment) && result.alignment >= 0 && result.alignment < 64;
}

template <class Enum>
bool read_name(std::string_view text, Enum last, Enum& value) noexcept {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    value = static_cast<Enum>(i);
    if (text == name(value)) return true;
  }
  return false;
}
bool read(std::string_view text, Op& value) noexcept {
  return read_name(text, Op::Unpermute, value);
}
bool read(std::string_view text, Backend& value) noexcept {
  return read_name(text, Backend::Rocm, value);
}
template <Option T>
bool read(std::string_view text, T& value) noexcept {
  if (!text.starts_with(kNumberMark)) return read_name(text, last_of(value), value);
  std::uint8_t number = 0;
  if (!read_number(text.substr(1), number)) return false;
  value = static_cast<T>(number);
  return value > last_of(value);
}
bool read(std::string_view text, std::optional<Gate>& gate) noexcept {
  Gate& result = gate.emplace();
  const auto activation = take_until(text, ':');
  const auto order = take_until(text, ':');
  const auto alpha = take_until(text, ':');
  const auto limit = take_until(text, ':');
  return limit && read(*activation, result.activation) && read(*order, result.order) &&
         read_number(*alpha, result.alpha) && read_number(*limit, result.limit) &&
         read_number(text, result.up_offset);
}
bool read(std::string_view text, Code& value) noexcept {
  for (const Code code : {
           Code::Ok,
#define GIRIH_CODE(name, number, kind, meaning) Code::name,
#include <girih/codes.inc>
#undef GIRIH_CODE
       }) {
    value = code;
    if (text == name(code)) return true;
  }
  return false;
}

struct Field {
  std::string_view key, value;
  bool is_known = false;
};

/// A piece of a line as a message may quote it.
std::string quoted(std::string_view text) {
  std::string result(text.substr(0, 60));
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E) c = '?';
  }
  return result;
}

Result<std::vector<Field>> split_fields(std::string_view text) {
  std::vector<Field> fields;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string_view::npos) {
      return error(Code::FileFormat, "call line: '{}' is no key=value", quoted(word));
    }
    const std::string_view key = word.substr(0, equals);
    for (const Field& other : fields) {
      if (other.key == key) {
        return error(Code::FileFormat, "call line: {} is there twice", quoted(key));
      }
    }
    fields.push_back({key, word.substr(equals + 1)});
  }
  return fields;
}

Status read_fields(std::vector<Field> fields, CallLine& line) {
  std::string fault;
  for_each_field(line.op, [&](std::string_view key, auto member, Need need) {
    bool found = false;
    for (Field& field : fields) {
      if (field.key != key) continue;
      found = field.is_known = true;
      if (!read(field.value, line.*member) && fault.empty()) {
        fault = formatted("{} cannot be '{}'", key, quoted(field.value));
      }
    }
    if (!found && need == Need::Required && fault.empty()) fault = formatted("{} is missing", key);
  });
  for (const Field& field : fields) {
    if (!field.is_known && fault.empty()) {
      fault = formatted("{} is no field of {}", quoted(field.key), name(line.op));
    }
  }
  if (fault.empty()) return {};
  return error(Code::FileFormat, "call line: {}", fault);
}

}  // namespace

std::string to_text(const CallLine& line) {
  static const CallLine defaults;
  std::string text = formatted("{}{} {}", kFormat, kVersion, name(line.op));
  for_each_field(line.op, [&](std::string_view key, auto member, Need need) {
    if (need == Need::Optional && line.*member == defaults.*member) return;
    text += formatted(" {}={}", key, show(line.*member));
  });
  return text;
}

Result<CallLine> parse_call_line(std::string_view text) noexcept try {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.size() > kLongest) {
    return error(Code::FileFormat, "call line: {} characters, at most {}", text.size(), kLongest);
  }
  if (!text.starts_with(kFormat)) {
    return error(Code::FileFormat, "call line: begins with '{}', not with {}{}", quoted(text),
                 kFormat, kVersion);
  }
  text.remove_prefix(kFormat.size());
  const std::string_view version = text.substr(0, text.find(' '));
  if (version != kVersion) {
    return error(Code::FileUnsupported, "call line: version '{}', this girih reads {}",
                 quoted(version), kVersion);
  }
  text.remove_prefix(std::min(version.size() + 1, text.size()));
  const std::string_view op = text.substr(0, text.find(' '));
  CallLine line;
  if (!read(op, line.op)) {
    return error(Code::FileFormat, "call line: '{}' is no operation", quoted(op));
  }
  text.remove_prefix(std::min(op.size() + 1, text.size()));
  Result<std::vector<Field>> fields = split_fields(text);
  if (!fields) return fields.error();
  GIRIH_TRY(read_fields(*std::move(fields), line));
  return line;
} catch (...) {
  return error(Code::OutOfMemory, "no memory to read a call line");
}

}  // namespace girih::inline v0
