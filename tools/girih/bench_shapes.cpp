#include "girih/bench_shapes.hpp"

#include <charconv>

#include "core/error.hpp"

namespace girih::cli {
namespace {

struct Ladder {
  std::string_view name;
  std::vector<BenchShape> shapes;
};

const std::vector<Ladder>& ladders() {
  static const std::vector<Ladder> kLadders = {
      {"square", {{512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096}}},
      // A transformer's projections, from small training runs.
      {"tessl",
       {{2048, 768, 768},
        {8192, 3072, 768},
        {8192, 768, 3072},
        {4096, 4096, 1024},
        {4096, 768, 2304},
        {4096, 512, 2048}}},
      // One chunk of a hybrid model's prompt: M tokens against its weights.
      {"strata",
       {{2048, 324, 10240},
        {2048, 10240, 2560},
        {2048, 6144, 2560},
        {2048, 2560, 6144},
        {2048, 12288, 2560},
        {2048, 2560, 2560},
        {2048, 640, 2560},
        {2048, 2560, 640},
        {2048, 512, 2560},
        {2048, 128, 2560},
        {2048, 48, 2560},
        {2048, 10240, 320}}},
      {"llm", {{4096, 14336, 4096}, {4096, 4096, 14336}, {256, 14336, 4096}, {256, 4096, 4096}}},
      {"tallk", {{128, 128, 8192}, {384, 128, 16384}, {64, 320, 32768}, {1024, 1024, 16384}}},
      {"skinny", {{1, 4096, 4096}, {8, 4096, 4096}, {16, 14336, 4096}, {64, 4096, 14336}}},
      {"tiny", {{8, 8, 8}, {16, 16, 16}, {32, 32, 32}, {64, 64, 64}, {128, 128, 128}}},
  };
  return kLadders;
}

/// Takes one extent and the separator after it off the front of `text`.
bool take_extent(std::string_view& text, char separator, std::int64_t& extent) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), extent);
  if (failure != std::errc{} || extent < 1) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.empty()) return separator == ',';
  if (text.front() != separator) return false;
  text.remove_prefix(1);
  return separator != ',' || !text.empty();
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

Result<std::vector<BenchShape>> parse_shapes(std::string_view text) {
  std::vector<BenchShape> shapes;
  std::string_view rest = text;
  while (!rest.empty()) {
    BenchShape shape;
    if (!take_extent(rest, 'x', shape.m) || !take_extent(rest, 'x', shape.n) ||
        !take_extent(rest, ',', shape.k)) {
      return error(Code::InvalidOption, "shapes '{}': must be MxNxK,MxNxK,... with extents over 0",
                   text);
    }
    shapes.push_back(shape);
  }
  if (shapes.empty()) return error(Code::InvalidOption, "shapes: none given");
  return shapes;
}

}  // namespace girih::cli
