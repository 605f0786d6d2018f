#include "girih/replay_operands.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "core/storage.hpp"
#include "reference/element.hpp"
#include "verify/random.hpp"

namespace girih::cli {
namespace {

using detail::TensorAccess;

constexpr std::int64_t kMostBytes = std::int64_t{4} << 30;

/// Uniform in [-1, 1); bytes at random in integers.
void fill_at_random(DType dtype, std::uint64_t seed, std::vector<std::byte>& bytes) {
  verify::Random random(seed);
  if (!is_float(dtype)) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.integer(0, 255));
    return;
  }
  const std::int64_t count = static_cast<std::int64_t>(bytes.size()) * 8 / bit_width(dtype);
  for (std::int64_t i = 0; i < count; ++i) store_element(bytes.data(), dtype, i, random.real());
}

}  // namespace

Result<Tensor> ReplayOperands::make(const std::optional<ViewLine>& view, const char* what) {
  if (!view) return Tensor();
  const std::int64_t bits = bit_width(view->dtype);
  if (view->alignment * 8 % bits != 0) {
    return error(Code::FileFormat, "{}: {} elements cannot begin {} bytes past a boundary", what,
                 name(view->dtype), view->alignment);
  }
  const Geometry geometry{view->dtype, view->shape, view->strides, view->alignment * 8 / bits};
  GIRIH_TRY(check_view(geometry, std::numeric_limits<std::int64_t>::max(), what));
  const std::int64_t bytes = std::max(byte_range(geometry).end, std::int64_t{1});
  if (bytes > kMostBytes - bytes_) {
    return error(Code::OutOfMemory, "{}: {} bytes, with {} of other operands over the {} allowed",
                 what, bytes, bytes_, kMostBytes);
  }
  bytes_ += bytes;
  Result<Tensor> all =
      runtime_.tensor({ceil_div(bytes * 8, bits)}, view->dtype, girih::Memory::Hot);
  if (!all) return all;
  Memory& memory = memories_.emplace_back();
  memory.all = *all;
  memory.host.resize(static_cast<std::size_t>(ceil_div(all->size() * bits, 8)));
  fill_at_random(view->dtype, memories_.size(), memory.host);
  GIRIH_TRY(runtime_.upload(memory.all, memory.host.data(), memory.host.size()));
  return memory.all.view(view->shape, view->strides, geometry.offset);
}

Result<std::optional<Tensor>> ReplayOperands::make_optional(const std::optional<ViewLine>& view,
                                                            const char* what) {
  if (!view) return std::optional<Tensor>();
  Result<Tensor> tensor = make(view, what);
  if (!tensor) return tensor.error();
  return std::optional<Tensor>(*std::move(tensor));
}

Result<ScalarArg<float>> ReplayOperands::make_scalar(const ScalarLine& scalar) {
  if (!scalar.on_device) return ScalarArg<float>(scalar.value);
  const Result<Tensor> tensor = make(ViewLine{.shape = {1}, .strides = {1}}, "scalar");
  if (!tensor) return tensor.error();
  store_element(memories_.back().host.data(), DType::F32, 0, 1);
  GIRIH_TRY(runtime_.upload(*tensor, memories_.back().host.data(), sizeof(float)));
  return ScalarArg<float>(*tensor);
}

Result<GemmDesc> ReplayOperands::gemm(const CallLine& line) {
  Result<Tensor> a = make(line.a, "a");
  if (!a) return a.error();
  Result<Tensor> b = make(line.b, "b");
  if (!b) return b.error();
  Result<Tensor> c = make(line.c, "c");
  if (!c) return c.error();
  Result<ScalarArg<float>> alpha = make_scalar(line.alpha);
  if (!alpha) return alpha.error();
  Result<ScalarArg<float>> beta = make_scalar(line.beta);
  if (!beta) return beta.error();
  Result<std::optional<Tensor>> bias = make_optional(line.bias, "bias");
  if (!bias) return bias.error();
  Result<std::optional<Tensor>> residual = make_optional(line.residual, "residual");
  if (!residual) return residual.error();
  if (line.residual_is_c) *residual = *c;
  Result<std::optional<Tensor>> a_scale = make_optional(line.a_scale, "a_scale");
  if (!a_scale) return a_scale.error();
  Result<std::optional<Tensor>> b_scale = make_optional(line.b_scale, "b_scale");
  if (!b_scale) return b_scale.error();
  Result<std::optional<Tensor>> c_scale = make_optional(line.c_scale, "c_scale");
  if (!c_scale) return c_scale.error();
  GemmDesc desc{.a = *a,
                .b = *b,
                .c = *c,
                .alpha = *alpha,
                .beta = *beta,
                .epilogue = {.bias = *bias,
                             .activation = line.activation,
                             .gate = line.gate,
                             .residual = *residual},
                .precision = line.precision,
                .path = line.path,
                .reproducibility = line.reproducibility};
  if (*a_scale) desc.a_scale = Scale{**a_scale, line.a_granularity};
  if (*b_scale) desc.b_scale = Scale{**b_scale, line.b_granularity};
  if (*c_scale) desc.c_scale = Scale{**c_scale, line.c_granularity};
  Result<std::optional<Tensor>> workspace = make_optional(line.workspace, "workspace");
  if (!workspace) return workspace.error();
  desc.workspace = *workspace;
  return desc;
}

Result<Tensor> ReplayOperands::make_offsets(const CallLine& line) {
  Result<Tensor> offsets = make(line.offsets, "offsets");
  const bool can_be_set = offsets && *offsets && offsets->dtype() == DType::I32 &&
                          offsets->rank() == 1 && offsets->extent(0) > 1 && line.a && line.c &&
                          line.a->shape.rank() == 2 && line.c->shape.rank() >= 2;
  if (!can_be_set) return offsets;  // the call is refused whatever they hold
  const bool by_rows = line.c->shape.rank() == 2;
  const double rows = static_cast<double>(by_rows ? line.c->shape[0] : line.a->shape[1]);
  const double most = std::numeric_limits<std::int32_t>::max();
  const std::int64_t groups = offsets->extent(0) - 1;
  Memory& memory = memories_.back();
  for (std::int64_t g = 0; g <= groups; ++g) {
    const double share = static_cast<double>(g) / static_cast<double>(groups);
    store_element(memory.host.data(), DType::I32, offsets->offset() + g * offsets->strides()[0],
                  std::floor(std::min(rows, most) * share));
  }
  GIRIH_TRY(runtime_.upload(memory.all, memory.host.data(), memory.host.size()));
  return offsets;
}

Result<GroupedGemmDesc> ReplayOperands::grouped_gemm(const CallLine& line) {
  Result<GemmDesc> product = gemm(line);
  if (!product) return product.error();
  Result<Tensor> offsets = make_offsets(line);
  if (!offsets) return offsets.error();
  return grouped_desc(*product, *offsets);
}

Result<RouteDesc> ReplayOperands::route(const CallLine& line) {
  Result<Tensor> logits = make(line.logits, "logits");
  if (!logits) return logits.error();
  Result<Tensor> chosen = make(line.chosen, "chosen");
  if (!chosen) return chosen.error();
  Result<Tensor> weights = make(line.weights, "weights");
  if (!weights) return weights.error();
  Result<Tensor> offsets = make(line.offsets, "offsets");
  if (!offsets) return offsets.error();
  Result<Tensor> rows = make(line.rows, "rows");
  if (!rows) return rows.error();
  Result<Tensor> sources = make(line.sources, "sources");
  if (!sources) return sources.error();
  Result<std::optional<Tensor>> workspace = make_optional(line.workspace, "workspace");
  if (!workspace) return workspace.error();
  return RouteDesc{.logits = *logits,
                   .chosen = *chosen,
                   .weights = *weights,
                   .offsets = *offsets,
                   .rows = *rows,
                   .sources = *sources,
                   .kind = line.router_weights,
                   .scale = line.scale,
                   .workspace = *workspace};
}

Result<Tensor> ReplayOperands::make_indices(const std::optional<ViewLine>& view, const char* what,
                                            const Tensor& x) {
  Result<Tensor> indices = make(view, what);
  const bool can_be_set =
      indices && *indices && indices->dtype() == DType::I32 && x && x.rank() > 0 && x.extent(0) > 0;
  if (!can_be_set) return indices;  // the call is refused whatever they hold, or reads none
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const std::int64_t rows = std::min(x.extent(0), most);
  Memory& memory = memories_.back();
  std::int64_t next = 0;
  for (const std::int64_t at : verify::element_offsets(geometry(*indices))) {
    store_element(memory.host.data(), DType::I32, at, static_cast<double>(next++ % rows));
  }
  GIRIH_TRY(runtime_.upload(memory.all, memory.host.data(), memory.host.size()));
  return indices;
}

Result<PermuteDesc> ReplayOperands::permute(const CallLine& line) {
  Result<Tensor> x = make(line.x, "x");
  if (!x) return x.error();
  Result<Tensor> sources = make_indices(line.sources, "sources", *x);
  if (!sources) return sources.error();
  Result<Tensor> y = make(line.y, "y");
  if (!y) return y.error();
  return PermuteDesc{.x = *x, .sources = *sources, .y = *y};
}

Result<UnpermuteDesc> ReplayOperands::unpermute(const CallLine& line) {
  Result<Tensor> x = make(line.x, "x");
  if (!x) return x.error();
  Result<Tensor> rows = make_indices(line.rows, "rows", *x);
  if (!rows) return rows.error();
  Result<std::optional<Tensor>> weights = make_optional(line.weights, "weights");
  if (!weights) return weights.error();
  Result<Tensor> y = make(line.y, "y");
  if (!y) return y.error();
  return UnpermuteDesc{.x = *x, .rows = *rows, .y = *y, .weights = *weights};
}

Result<CopyDesc> ReplayOperands::copy(const CallLine& line) {
  Result<Tensor> source = make(line.source, "source");
  if (!source) return source.error();
  Result<Tensor> destination = make(line.destination, "destination");
  if (!destination) return destination.error();
  return CopyDesc{.source = *source, .destination = *destination};
}

Result<CastDesc> ReplayOperands::cast(const CallLine& line) {
  Result<CopyDesc> pair = copy(line);
  if (!pair) return pair.error();
  return CastDesc{.source = pair->source, .destination = pair->destination};
}

Result<FillDesc> ReplayOperands::fill(const CallLine& line) {
  Result<Tensor> destination = make(line.destination, "destination");
  if (!destination) return destination.error();
  return FillDesc{.destination = *destination, .value = line.value};
}

ReplayOperands::Memory* ReplayOperands::memory_of(const Tensor& tensor) {
  for (Memory& memory : memories_) {
    if (TensorAccess::storage(memory.all) == TensorAccess::storage(tensor)) return &memory;
  }
  return nullptr;
}

std::byte* ReplayOperands::host_address(const Tensor& tensor) {
  Memory* const memory = memory_of(tensor);
  if (memory == nullptr) return nullptr;
  return memory->host.data() + tensor.offset() * bit_width(tensor.dtype()) / 8;
}

GemmOperands ReplayOperands::host(const GemmDesc& desc) {
  const auto floats = [this](const Tensor& tensor) {
    return reinterpret_cast<const float*>(host_address(tensor));
  };
  GemmOperands operands{.a = host_address(desc.a.tensor()),
                        .b = host_address(desc.b.tensor()),
                        .c = host_address(desc.c.tensor())};
  if (desc.epilogue.bias) operands.bias = host_address(*desc.epilogue.bias);
  if (desc.epilogue.residual) operands.residual = host_address(*desc.epilogue.residual);
  if (desc.a_scale) operands.a_scale = floats(desc.a_scale->tensor);
  if (desc.b_scale) operands.b_scale = floats(desc.b_scale->tensor);
  if (desc.c_scale) operands.c_scale = floats(desc.c_scale->tensor);
  if (desc.alpha.on_device()) operands.alpha = floats(desc.alpha.tensor());
  if (desc.beta.on_device()) operands.beta = floats(desc.beta.tensor());
  return operands;
}

GroupedGemmOperands ReplayOperands::host(const GroupedGemmDesc& desc) {
  return {.product = host(product_of(desc)),
          .offsets = reinterpret_cast<const std::int32_t*>(host_address(desc.offsets.tensor()))};
}

std::int32_t* ReplayOperands::host_indices(const Tensor& tensor) {
  return reinterpret_cast<std::int32_t*>(host_address(tensor));
}

RouteOperands ReplayOperands::host(const RouteDesc& desc) {
  return {.logits = host_address(desc.logits.tensor())};
}

PermuteOperands ReplayOperands::host(const PermuteDesc& desc) {
  return {.x = host_address(desc.x.tensor()),
          .sources = host_indices(desc.sources.tensor()),
          .y = host_address(desc.y.tensor())};
}

UnpermuteOperands ReplayOperands::host(const UnpermuteDesc& desc) {
  return {.x = host_address(desc.x.tensor()),
          .indices = host_indices(desc.rows.tensor()),
          .weights =
              desc.weights ? reinterpret_cast<const float*>(host_address(*desc.weights)) : nullptr};
}

ElementwiseOperands ReplayOperands::host(const Tensor& source, const Tensor& destination) {
  return {.source = host_address(source), .destination = host_address(destination)};
}

Result<std::vector<std::byte>> ReplayOperands::observe(const Tensor& tensor) {
  const Memory& memory = *memory_of(tensor);
  std::vector<std::byte> bytes(memory.host.size());
  GIRIH_TRY(runtime_.download(memory.all, bytes.data(), bytes.size()));
  return bytes;
}

Geometry ReplayOperands::geometry(const Tensor& tensor) {
  return TensorAccess::geometry(tensor);
}

}  // namespace girih::cli
