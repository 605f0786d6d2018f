#include "girih/bench_groups.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "core/format.hpp"
#include "core/storage.hpp"
#include "girih/bench_values.hpp"
#include "girih/text_list.hpp"
#include "ops/gemm.hpp"
#include "verify/compare.hpp"

namespace girih::cli {
namespace {

/// As of the products of `bench gemm`.
constexpr std::int64_t kRotatedBytes = std::int64_t{256} << 20;
constexpr std::int64_t kMostSets = 64;
/// Elements from one group's weights to the next one's.
constexpr std::int64_t kWeightsStep = 4099;
/// Groups that are checked, the first and the last among them, and how much of each.
constexpr std::int64_t kWindows = 8, kWindowRows = 16, kWindowColumns = 64;

std::int64_t bytes_of(DType dtype) {
  return bit_width(dtype) / 8;
}

bool parse_extents(std::string_view text, GroupsShape& shape) {
  for (std::int64_t* extent : {&shape.groups, &shape.rows, &shape.n, &shape.k}) {
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, *extent);
    if (failure != std::errc{} || *extent < 1) return false;
    const bool is_last = extent == &shape.k;
    if (is_last != (stop == end) || (!is_last && *stop != 'x')) return false;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()) + (is_last ? 0 : 1));
  }
  return true;
}

/// Bytes of one set of operands.
Result<std::int64_t> set_bytes(const GroupsCase& bench) {
  const GroupsShape& s = bench.shape;
  std::int64_t sum = 0;
  for (const auto& [shape, dtype] : {std::pair{Shape{s.groups, s.rows, s.k}, bench.operands},
                                     {Shape{s.groups, s.k, s.n}, bench.operands},
                                     {Shape{s.groups, s.rows, s.n}, bench.output}}) {
    Result<std::int64_t> size = checked_size(shape, "grouped operands");
    if (!size) return size;
    Result<std::int64_t> bytes = checked_bytes(*size, dtype, "grouped operands");
    if (!bytes) return bytes;
    const std::optional<std::int64_t> total = checked_add(sum, *bytes);
    if (!total) return error(Code::SizeOverflow, "grouped operands: bytes do not fit 64 bits");
    sum = *total;
  }
  if (s.groups * s.rows > std::numeric_limits<std::int32_t>::max()) {
    return error(Code::GemmShapeMismatch, "{} rows: i32 offsets count to 2^31 - 1",
                 s.groups * s.rows);
  }
  return sum;
}

}  // namespace

double GroupsShape::flops() const {
  return 2.0 * static_cast<double>(groups) * static_cast<double>(rows) * static_cast<double>(n) *
         static_cast<double>(k);
}

std::string to_string(const GroupsShape& shape) {
  return formatted("{}x{}x{}x{}", shape.groups, shape.rows, shape.n, shape.k);
}

Result<std::vector<GroupsShape>> groups_ladder(std::string_view name) {
  if (name != "experts") {
    return error(Code::InvalidOption, "ladder '{}' is not one of experts", name);
  }
  std::vector<GroupsShape> shapes;
  for (const auto& [groups, rows] : {std::pair{8, 512}, {128, 64}, {512, 40}}) {
    shapes.push_back({groups, rows, 4096, 2048});
    shapes.push_back({groups, rows, 2048, 4096});
  }
  return shapes;
}

Result<std::vector<GroupsShape>> parse_groups(std::string_view text) {
  std::vector<GroupsShape> shapes;
  for (const std::string& part : split(text)) {
    if (!parse_extents(part, shapes.emplace_back())) {
      return error(Code::InvalidOption,
                   "shapes '{}': must be GROUPSxROWSxNxK, ..., with extents over 0", text);
    }
  }
  return shapes;
}

Result<GroupsOperands> GroupsOperands::make(Runtime& runtime, const GroupsCase& bench) {
  GroupsOperands operands(bench);
  GIRIH_TRY(operands.fill(runtime));
  GIRIH_TRY(operands.sample(runtime.backend()));
  return operands;
}

std::span<const std::byte> GroupsOperands::weights_of(std::int64_t group) const {
  const std::int64_t width = bytes_of(case_.operands);
  return std::span(host_b_).subspan(
      static_cast<std::size_t>(group * kWeightsStep * width),
      static_cast<std::size_t>(case_.shape.k * case_.shape.n * width));
}

Status GroupsOperands::fill(Runtime& runtime) {
  const Result<std::int64_t> bytes = set_bytes(case_);
  if (!bytes) return bytes.error();
  const GroupsShape& s = case_.shape;
  const std::int64_t rows = s.groups * s.rows;
  std::mt19937_64 generator(1);
  host_a_ = random_elements(rows * s.k, case_.operands, generator);
  host_b_ = random_elements(s.k * s.n + (s.groups - 1) * kWeightsStep, case_.operands, generator);
  host_c_.resize(static_cast<std::size_t>(rows * s.n * bytes_of(case_.output)));
  const auto place = [&](Tensor& to, const Shape& shape, DType dtype) -> Status {
    Result<Tensor> made = runtime.tensor(shape, dtype);
    if (!made) return made.error();
    to = *std::move(made);
    return {};
  };
  const std::int64_t count =
      std::clamp<std::int64_t>(kRotatedBytes / std::max<std::int64_t>(*bytes, 1), 1, kMostSets);
  sets_.resize(static_cast<std::size_t>(count));
  for (Set& set : sets_) {
    GIRIH_TRY(place(set.a, {rows, s.k}, case_.operands));
    GIRIH_TRY(place(set.b, {s.groups, s.k, s.n}, case_.operands));
    GIRIH_TRY(place(set.c, {rows, s.n}, case_.output));
    GIRIH_TRY(runtime.upload(set.a, std::span<const std::byte>(host_a_)));
  }
  for (std::int64_t g = 0; g < s.groups; ++g) {
    const std::span<const std::byte> weights = weights_of(g);
    for (const Set& set : sets_) {
      const Result<Tensor> part = set.b.slice(0, g, g + 1);
      if (!part) return part.error();
      GIRIH_TRY(runtime.upload(*part, weights));
    }
  }
  std::vector<std::int32_t> offsets;
  for (std::int64_t g = 0; g <= s.groups; ++g) {
    offsets.push_back(static_cast<std::int32_t>(g * s.rows));
  }
  GIRIH_TRY(place(offsets_, {s.groups + 1}, DType::I32));
  return runtime.upload(offsets_, std::span<const std::int32_t>(offsets));
}

GroupedGemmDesc GroupsOperands::desc(std::int64_t i) const {
  const Set& set = sets_[static_cast<std::size_t>(i) % sets_.size()];
  return {.a = set.a, .b = set.b, .c = set.c, .offsets = offsets_};
}

Result<std::vector<GemmDesc>> GroupsOperands::products(std::int64_t i) const {
  const Set& set = sets_[static_cast<std::size_t>(i) % sets_.size()];
  const GroupsShape& s = case_.shape;
  std::vector<GemmDesc> products;
  for (std::int64_t g = 0; g < s.groups; ++g) {
    const Result<Tensor> a = set.a.slice(0, g * s.rows, (g + 1) * s.rows);
    if (!a) return a.error();
    const Result<Tensor> part = set.b.slice(0, g, g + 1);
    if (!part) return part.error();
    const Result<Tensor> b = part->view({s.k, s.n}, {s.n, 1}, part->offset());
    if (!b) return b.error();
    const Result<Tensor> c = set.c.slice(0, g * s.rows, (g + 1) * s.rows);
    if (!c) return c.error();
    products.push_back({.a = *a, .b = *b, .c = *c});
  }
  return products;
}

std::vector<PeerProduct> GroupsOperands::peer_products() const {
  const GroupsShape& s = case_.shape;
  const std::int64_t in = bytes_of(case_.operands), out = bytes_of(case_.output);
  std::vector<PeerProduct> products;
  for (const Set& set : sets_) {
    for (std::int64_t g = 0; g < s.groups; ++g) {
      products.push_back({.operands = case_.operands,
                          .output = case_.output,
                          .m = s.rows,
                          .n = s.n,
                          .k = s.k,
                          .a = detail::TensorAccess::address(set.a) + g * s.rows * s.k * in,
                          .b = detail::TensorAccess::address(set.b) + g * s.k * s.n * in,
                          .c = detail::TensorAccess::address(set.c) + g * s.rows * s.n * out,
                          .lda = s.k,
                          .ldb = s.n,
                          .ldc = s.n});
    }
  }
  return products;
}

Status GroupsOperands::poison(Runtime& runtime) {
  std::fill(host_c_.begin(), host_c_.end(), std::byte{0xFF});
  GIRIH_TRY(runtime.upload(sets_.front().c, std::span<const std::byte>(host_c_)));
  return runtime.synchronize();  // a peer's queue is another
}

Status GroupsOperands::sample(Backend backend) {
  const GroupsShape& s = case_.shape;
  const std::int64_t count = std::min(s.groups, kWindows);
  std::mt19937_64 generator(1);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto any = [&](std::int64_t most) {
      return static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(most + 1));
    };
    Window w{.rows = std::min(s.rows, kWindowRows), .columns = std::min(s.n, kWindowColumns)};
    w.group = count == 1 ? 0 : i * (s.groups - 1) / (count - 1);
    w.row = i % 2 == 0 ? s.rows - w.rows : any(s.rows - w.rows);
    w.column = i % 3 == 0 ? s.n - w.columns : any(s.n - w.columns);
    const GemmSpec spec{.a = {case_.operands, {w.rows, s.k}, {s.k, 1}, 0},
                        .b = {case_.operands, {s.k, w.columns}, {s.n, 1}, 0},
                        .c = {case_.output, {w.rows, w.columns}, {w.columns, 1}, 0}};
    const Result<GemmProblem> problem = girih::check(spec);
    if (!problem) return problem.error();
    const std::span<const std::byte> weights = weights_of(w.group);
    const std::int64_t width = bytes_of(case_.operands);
    w.want = reference_gemm(*problem,
                            {.a = host_a_.data() + (w.group * s.rows + w.row) * s.k * width,
                             .b = weights.data() + w.column * width},
                            backend);
    windows_.push_back(std::move(w));
  }
  return {};
}

Status GroupsOperands::check(Runtime& runtime, std::string_view who) {
  const GroupsShape& s = case_.shape;
  GIRIH_TRY(runtime.download(sets_.front().c, std::span(host_c_)));
  const std::int64_t unwritten = find_nan(host_c_, case_.output);
  if (unwritten >= 0) {
    return error(Code::DeviceFailed, "{} is wrong: NaN in row {}, column {}", who, unwritten / s.n,
                 unwritten % s.n);
  }
  for (const Window& w : windows_) {
    const std::int64_t first = (w.group * s.rows + w.row) * s.n + w.column;
    const verify::Comparison comparison =
        verify::compare(w.want.value, w.want.bound,
                        {{case_.output, {w.rows, w.columns}, {s.n, 1}, 0},
                         host_c_.data() + first * bytes_of(case_.output)});
    if (comparison.passed()) continue;
    return error(Code::DeviceFailed, "{} is wrong from row {}, column {} of group {} on: {}", who,
                 w.row, w.column, w.group, comparison.to_string());
  }
  return {};
}

}  // namespace girih::cli
