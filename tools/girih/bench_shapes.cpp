#include "girih/bench_shapes.hpp"

#include <charconv>

#include "core/error.hpp"
#include "core/format.hpp"

namespace girih::cli {
namespace {

struct Ladder {
  std::string_view name;
  std::vector<BenchShape> shapes;
};

const std::vector<Ladder>& ladders() {
  static const std::vector<Ladder> kLadders = {
      {"square",
       {{512, 512, 512},
        {1024, 1024, 1024},
        {2048, 2048, 2048},
        {4096, 4096, 4096},
        {8192, 8192, 8192}}},
      // A transformer's projections, from small training runs.
      {"tessl",
       {{2048, 768, 768},
        {8192, 3072, 768},
        {8192, 768, 3072},
        {4096, 4096, 1024},
        {4096, 768, 2304},
        {4096, 2304, 768},
        {4096, 512, 2048},
        {2048, 2048, 512}}},
      // One chunk of a hybrid model's prompt: M tokens against its weights.
      {"strata",
       {{2048, 10240, 2560},
        {2048, 6144, 2560},
        {2048, 2560, 6144},
        {2048, 12288, 2560},
        {2048, 2560, 2560},
        {2048, 640, 2560},
        {2048, 2560, 640},
        {2048, 512, 2560},
        {2048, 128, 2560},
        {2048, 48, 2560},
        {2048, 10240, 320},
        {2048, 328, 10240},
        {1984, 10240, 2560}}},
      {"llm",
       {{4096, 14336, 4096},
        {4096, 4096, 14336},
        {16384, 4096, 4096},
        {256, 4096, 4096},
        {256, 14336, 4096},
        {256, 4096, 14336}}},
      {"tallk", {{128, 128, 8192}, {384, 128, 16384}, {64, 320, 32768}}},
      {"skinny",
       {{1, 4096, 4096},
        {1, 14336, 4096},
        {1, 4096, 14336},
        {8, 4096, 4096},
        {8, 14336, 4096},
        {8, 4096, 14336},
        {16, 4096, 4096},
        {16, 14336, 4096},
        {16, 4096, 14336},
        {64, 4096, 4096},
        {64, 14336, 4096},
        {64, 4096, 14336}}},
      {"gemv",
       {{1, 4096, 4096},
        {1, 14336, 4096},
        {1, 4096, 14336},
        {2, 4096, 4096},
        {2, 14336, 4096},
        {2, 4096, 14336},
        {4, 4096, 4096},
        {4, 14336, 4096},
        {4, 4096, 14336},
        {8, 4096, 4096},
        {8, 14336, 4096},
        {8, 4096, 14336},
        {16, 4096, 4096},
        {16, 14336, 4096},
        {16, 4096, 14336}}},
      // The last two are attention in 484 windows of 144 tokens, 6 heads of 32: scores, and values.
      {"batched",
       {{512, 512, 512, 16},
        {1024, 128, 1024, 64},
        {1024, 1024, 128, 64},
        {128, 128, 128, 256},
        {2048, 2048, 2048, 8},
        {144, 144, 32, 484 * 6},
        {144, 32, 144, 484 * 6}}},
      // Where the end of a product is a large part of it.
      {"epilogue",
       {{512, 512, 512},
        {1024, 1024, 1024},
        {2048, 2048, 512},
        {4096, 4096, 4096},
        {4096, 14336, 4096}}},
      {"tiny", {{8, 8, 8}, {16, 16, 16}, {32, 32, 32}, {64, 64, 64}, {128, 128, 128}}},
  };
  return kLadders;
}

/// The extents of one "MxNxK" or "MxNxKxBATCH".
bool parse_extents(std::string_view text, BenchShape& shape) {
  std::int64_t* const extents[] = {&shape.m, &shape.n, &shape.k, &shape.batch};
  for (std::size_t i = 0;; ++i) {
    if (i == std::size(extents)) return false;
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, *extents[i]);
    if (failure != std::errc{} || *extents[i] < 1) return false;
    if (stop == end) return i >= 2;
    if (*stop != 'x') return false;
    text.remove_prefix(static_cast<std::size_t>(stop + 1 - text.data()));
  }
}

}  // namespace

std::string ladder_names() {
  std::string names;
  for (const Ladder& each : ladders()) {
    if (!names.empty()) names += '|';
    names += each.name;
  }
  return names;
}

Result<std::vector<BenchShape>> ladder(std::string_view name) {
  for (const Ladder& each : ladders()) {
    if (each.name == name) return each.shapes;
  }
  return error(Code::InvalidOption, "ladder '{}' is not one of {}", name, ladder_names());
}

std::string to_string(const BenchShape& shape) {
  std::string text = formatted("{}x{}x{}", shape.m, shape.n, shape.k);
  if (shape.batch != 1) text += formatted("x{}", shape.batch);
  return text;
}

Result<std::vector<BenchShape>> parse_shapes(std::string_view text) {
  std::vector<BenchShape> shapes;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    BenchShape shape;
    if (!parse_extents(rest.substr(0, comma), shape)) {
      return error(Code::InvalidOption,
                   "shapes '{}': must be MxNxK or MxNxKxBATCH, ..., with extents over 0", text);
    }
    shapes.push_back(shape);
    if (comma == std::string_view::npos) return shapes;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace girih::cli
