#include "girih/options.hpp"

#include <charconv>
#include <limits>
#include <utility>

#include "core/format.hpp"

namespace girih::cli {

CLI::Option* add_integer(CLI::App& app, const std::string& flag,
                         std::optional<std::int64_t>& target, const std::string& help) {
  const auto take = [&target, flag](const std::string& text) {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, value);
    if (failure != std::errc{} || stop != end) {
      throw CLI::ValidationError(flag, formatted("'{}' is no integer of 64 bits", text));
    }
    target = value;
  };
  return app.add_option_function<std::string>(flag, take, help)->type_name("N");
}

namespace {

void add_gate_options(CLI::App& app, ProductOptions& options) {
  CLI::Option* const gate = add_choice<Activation>(
      app, "--gate", options.gate_activation,
      {Activation::None, Activation::Relu, Activation::GeluTanh, Activation::Silu},
      "B is [K, 2N]: out = activation(g) * u of its two halves, each with its bias");
  Gate& terms = options.gate_terms;
  add_choice<GateOrder>(app, "--gate-order", terms.order,
                        {GateOrder::Concatenated, GateOrder::Interleaved},
                        "Where g and u lie: all of g first, or in turn; default concatenated")
      ->needs(gate);
  const auto add_term = [&](const char* flag, float& value, const char* help) {
    app.add_option(flag, value, help)->type_name("X")->needs(gate);
  };
  add_term("--gate-alpha", terms.alpha, "SiLU is x / (1 + exp(-alpha x)); default 1");
  add_term("--gate-limit", terms.limit, "g is at most X, u within X of 0; default no limit");
  add_term("--gate-offset", terms.up_offset, "Added to u; default 0");
}

}  // namespace

void add_product_options(CLI::App& app, ProductOptions& options) {
  app.add_flag("--trans-a", options.trans_a, "Use A transposed (a view; nothing is moved)");
  app.add_flag("--trans-b", options.trans_b, "Use B transposed");
  const std::vector<DType> operands{DType::F32,    DType::BF16,   DType::F16,
                                    DType::F8E4M3, DType::F8E5M2, DType::I8};
  add_choice<DType>(app, "--in-dtype", options.in_dtype, operands,
                    "Round A and B to this type first (to nearest even)");
  add_choice<DType>(
      app, "--out-dtype", options.out_dtype,
      {DType::F32, DType::BF16, DType::F16, DType::F8E4M3, DType::F8E5M2, DType::I8, DType::I32},
      "Type of the result; default f32, and i32 for i8 operands. 8-bit ones saturate");
  add_choice<Precision>(app, "--precision", options.precision,
                        {Precision::Exact, Precision::Fast, Precision::Tf32},
                        "How f32 operands are multiplied; default exact");
  add_choice<Path>(app, "--path", options.path, {Path::Auto, Path::Matrix, Path::Portable},
                   "Family of kernels; default auto");
  add_gate_options(app, options);
  add_choice<Backend>(app, "--backend", options.backend,
                      {Backend::Cpu, Backend::Cuda, Backend::Metal},
                      "Exactly this backend, or an error");
  add_integer(app, "--threads", options.threads,
              "CPU threads; 0 takes GIRIH_THREADS, else the usable cores");
  app.add_flag("--json", options.json, "Print one JSON object instead");
}

void add_c_scale(CLI::App& app, ProductOptions& options) {
  app.add_option("--c-scale", options.c_scale,
                 "Factor of an 8-bit result, before it is rounded; default 1")
      ->type_name("X");
}

std::optional<Gate> gate_of(const ProductOptions& options) noexcept {
  if (!options.gate_activation) return std::nullopt;
  Gate gate = options.gate_terms;
  gate.activation = *options.gate_activation;
  return gate;
}

DType default_output(DType operand, bool has_gate) noexcept {
  return operand == DType::I8 && !has_gate ? DType::I32 : DType::F32;
}

int thread_count(const ProductOptions& options) noexcept {
  const std::int64_t count = options.threads.value_or(0);
  return std::in_range<int>(count) ? static_cast<int>(count) : std::numeric_limits<int>::max();
}

}  // namespace girih::cli
