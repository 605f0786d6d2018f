#pragma once

#include <optional>

#include <girih/gemm.hpp>
#include <girih/io.hpp>

#include "girih/operand_file.hpp"
#include "girih/options.hpp"
#include "girih/progress.hpp"
#include "ops/gemm.hpp"
#include "verify/compare.hpp"

namespace girih::cli {

struct GemmOptions {
  ProductOptions product;
  std::optional<OperandFile> a, b, out, bias, c;
  float alpha = 1;
  float beta = 0;
  Activation activation = Activation::None;
  Policy policy = Policy::Auto;
  bool verify = false;
};

/// The arrays of one call as they are used: transposed, converted, of the types that C and the bias
/// take.
struct GemmInputs {
  HostArray a, b;
  std::optional<HostArray> bias, c;
  std::optional<float> c_scale;
};
Result<GemmInputs> load_inputs(const GemmOptions& options);

struct GemmOutcome {
  GemmProblem problem;
  Plan plan;
  HostArray result;
  int runs = 0;
  double seconds = 0;  ///< median of the runs; a product that reads C runs once
  std::optional<verify::Comparison> comparison;
};
/// Runs the product and, if asked to, compares. Writes nothing.
Result<GemmOutcome> run_gemm(const GemmOptions& options, GemmInputs inputs, Progress& progress);
/// The result held against the oracle's, of the same inputs.
verify::Comparison compare_with_reference(const GemmInputs& inputs, const GemmOutcome& outcome);

}  // namespace girih::cli
