#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "girih/bench_operands.hpp"

namespace girih::cli {

/// Which products a bench times: each shape in each layout and type.
struct CaseOptions {
  std::string ladders = "square";
  std::optional<std::string> shapes;  ///< instead of the ladders
  std::vector<Layout> layouts = {Layout::NN};
  std::vector<DType> dtypes = {DType::F32};
  std::optional<DType> output;
  Precision precision = Precision::Exact;
  bool row_invariant = false;
  BenchEpilogue epilogue;
};
void add_case_options(CLI::App& app, CaseOptions& options);

/// What people run: the result has the type of the operands, or i32 for i8.
DType bench_output(DType operands, const CaseOptions& options);
/// InvalidOption for a ladder or a shape that is none.
Result<std::vector<BenchCase>> bench_cases(const CaseOptions& options);

}  // namespace girih::cli
