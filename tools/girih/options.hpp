#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <girih/dtype.hpp>
#include <girih/gemm.hpp>
#include <girih/runtime.hpp>

#include "core/format.hpp"

namespace girih::cli {

/// Adds an option that takes the `name()` of one of `values`; `target` is a T or an optional of it.
template <class T, class Target>
CLI::Option* add_choice(CLI::App& app, const std::string& flag, Target& target,
                        std::vector<T> values, const std::string& help) {
  std::string names;
  for (const T value : values) {
    if (!names.empty()) names += '|';
    names += name(value);
  }
  const auto take = [&target, flag, names, values](const std::string& text) {
    for (const T value : values) {
      if (name(value) == text) {
        target = value;
        return;
      }
    }
    throw CLI::ValidationError(flag, formatted("'{}' is not one of {}", text, names));
  };
  return app.add_option_function<std::string>(flag, take, help)->type_name(names);
}

/// Adds an option that takes a decimal integer; one that does not fit is a usage error.
CLI::Option* add_integer(CLI::App& app, const std::string& flag,
                         std::optional<std::int64_t>& target, const std::string& help);

/// What `gemm` and `plan gemm` share.
struct ProductOptions {
  bool trans_a = false;
  bool trans_b = false;
  std::optional<DType> in_dtype;
  std::optional<DType> out_dtype;
  Precision precision = Precision::Exact;
  Path path = Path::Auto;
  std::optional<Activation> gate_activation;  ///< with it there is a gate, of these terms
  Gate gate_terms{};
  std::optional<float> c_scale;  ///< of an 8-bit result
  std::optional<Backend> backend;
  std::optional<std::int64_t> threads;
  bool json = false;
};
void add_product_options(CLI::App& app, ProductOptions& options);
/// For products that take one.
void add_c_scale(CLI::App& app, ProductOptions& options);

std::optional<Gate> gate_of(const ProductOptions& options) noexcept;
/// The type of C if none is asked for: i32 for i8 operands without a gate, else f32.
DType default_output(DType operand, bool has_gate = false) noexcept;
/// The number of threads for `RuntimeOptions`; what does not fit its type stays out of range.
int thread_count(const ProductOptions& options) noexcept;

}  // namespace girih::cli
