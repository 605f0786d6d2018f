#include "io/npy_header.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/format.hpp"
#include "io/guard.hpp"

namespace girih::inline v0 {
namespace {

constexpr std::array<std::pair<std::string_view, DType>, 6> kDescriptors{{
    {"<f4", DType::F32},
    {"<f8", DType::F64},
    {"<f2", DType::F16},
    {"|i1", DType::I8},
    {"|u1", DType::U8},
    {"<i4", DType::I32},
}};

/// A reader of the few Python literals that the header may hold.
class Parser {
 public:
  Parser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  Result<NpyHeader> parse() {
    GIRIH_TRY(expect('{'));
    while (!accept('}')) {
      GIRIH_TRY(parse_item());
      if (accept(',')) continue;
      GIRIH_TRY(expect('}'));
      break;
    }
    skip_spaces();
    if (text_.substr(at_) != "\n") return broken("one newline must end the header");
    if (!dtype_) return broken("'descr' is missing");
    if (!fortran_order_) return broken("'fortran_order' is missing");
    if (!shape_) return broken("'shape' is missing");
    return NpyHeader{*dtype_, *fortran_order_, *shape_};
  }

 private:
  [[nodiscard]] Error broken(std::string_view rule) const {
    return error(Code::FileFormat, "{}: .npy header, character {}: {}", printable(path_), at_,
                 rule);
  }
  [[nodiscard]] Error unsupported(std::string_view what) const {
    return error(Code::FileUnsupported, "{}: {}", printable(path_), what);
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  [[nodiscard]] char peek() {
    skip_spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  Status expect(char c) {
    if (accept(c)) return {};
    return broken(formatted("'{}' expected", c));
  }
  bool accept_word(std::string_view word) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Result<std::string_view> parse_string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return broken("a string is expected");
    const std::size_t begin = ++at_;
    const std::size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) return broken("a string does not end");
    const std::string_view value = text_.substr(begin, end - begin);
    if (value.find('\\') != std::string_view::npos) return broken("a string holds an escape");
    at_ = end + 1;
    return value;
  }

  Status parse_item() {
    const Result<std::string_view> key = parse_string();
    if (!key) return key.error();
    GIRIH_TRY(expect(':'));
    if (*key == "descr") return parse_descr();
    if (*key == "fortran_order") return parse_order();
    if (*key == "shape") return parse_shape();
    return broken(formatted("unknown key '{}'", printable(*key)));
  }

  Status parse_descr() {
    if (dtype_) return broken("'descr' appears twice");
    if (peek() == '[') return unsupported("structured elements are not read");
    const Result<std::string_view> descr = parse_string();
    if (!descr) return descr.error();
    for (const auto& [text, dtype] : kDescriptors) {
      if (*descr == text) dtype_ = dtype;
    }
    if (dtype_) return {};
    const std::string shown = printable(*descr);
    if (descr->size() < 2 || std::string_view{"<>|="}.find((*descr)[0]) == std::string_view::npos) {
      return broken(formatted("'{}' is no element type", shown));
    }
    if ((*descr)[1] == 'O') {
      return unsupported(formatted("elements are Python objects (descr '{}')", shown));
    }
    if ((*descr)[0] == '>') {
      return unsupported(formatted("elements are big-endian (descr '{}')", shown));
    }
    return unsupported(
        formatted("descr '{}' is not read; girih reads <f4 <f8 <f2 |i1 |u1 <i4", shown));
  }

  Status parse_order() {
    if (fortran_order_) return broken("'fortran_order' appears twice");
    if (accept_word("True")) {
      fortran_order_ = true;
    } else if (accept_word("False")) {
      fortran_order_ = false;
    } else {
      return broken("'fortran_order' must be True or False");
    }
    return {};
  }

  Result<std::int64_t> parse_extent() {
    skip_spaces();
    std::int64_t value = 0;
    const char* const end = text_.data() + text_.size();
    const char* const begin = text_.data() + at_;
    if (begin == end || *begin < '0' || *begin > '9') return broken("an extent is expected");
    const auto [stop, failure] = std::from_chars(begin, end, value);
    if (failure != std::errc{}) return broken("an extent does not fit 64 bits");
    at_ += static_cast<std::size_t>(stop - begin);
    return value;
  }

  Status parse_shape() {
    if (shape_) return broken("'shape' appears twice");
    GIRIH_TRY(expect('('));
    std::vector<std::int64_t> extents;
    while (!accept(')')) {
      const Result<std::int64_t> extent = parse_extent();
      if (!extent) return extent.error();
      extents.push_back(*extent);
      if (accept(',')) continue;
      if (extents.size() == 1) return broken("a shape of one extent is written (n,)");
      GIRIH_TRY(expect(')'));
      break;
    }
    if (extents.size() > static_cast<std::size_t>(kMaxRank)) {
      return unsupported(formatted("rank {} is over the limit of {}", extents.size(), kMaxRank));
    }
    shape_ = Shape::of(extents);
    return {};
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t at_ = 0;
  std::optional<DType> dtype_;
  std::optional<bool> fortran_order_;
  std::optional<Shape> shape_;
};

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view text, const std::string& path) {
  return Parser{text, path}.parse();
}

Result<std::string> format_npy_header(DType dtype, const Shape& shape, const std::string& path) {
  std::string_view descr;
  for (const auto& [text, type] : kDescriptors) {
    if (type == dtype) descr = text;
  }
  if (descr.empty()) {
    return error(Code::FileUnsupported,
                 "{}: NumPy has no element type {}; write to FILE.safetensors:NAME instead",
                 printable(path), name(dtype));
  }
  std::string extents;
  for (const std::int64_t extent : shape) extents += formatted("{}, ", extent);
  if (shape.rank() == 1) {
    extents.pop_back();  // "(3,)"
  } else if (shape.rank() > 1) {
    extents.resize(extents.size() - 2);  // "(2, 3)"
  }
  std::string text =
      formatted("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, extents);
  constexpr std::size_t kPrefix = 10;
  text.append(63 - (kPrefix + text.size()) % 64, ' ');
  text += '\n';
  std::string result{"\x93NUMPY\x01\x00", 8};
  result += static_cast<char>(text.size() & 0xFF);
  result += static_cast<char>(text.size() >> 8);
  return result + text;
}

}  // namespace girih::inline v0
