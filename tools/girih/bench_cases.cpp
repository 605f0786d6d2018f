#include "girih/bench_cases.hpp"

#include "core/format.hpp"
#include "girih/options.hpp"
#include "girih/text_list.hpp"

namespace girih::cli {

DType bench_output(DType operands, const CaseOptions& options) {
  const bool is_half = operands == DType::BF16 || operands == DType::F16;
  const bool is_eighth = operands == DType::F8E4M3 || operands == DType::F8E5M2;
  const bool is_scaled = operands == DType::I8 && options.epilogue.scales;
  return options.output.value_or(is_half                  ? operands
                                 : is_eighth || is_scaled ? DType::BF16
                                                          : default_output(operands));
}

Result<std::vector<BenchCase>> bench_cases(const CaseOptions& options) {
  std::vector<BenchCase> shapes;
  const auto add = [&](const std::vector<BenchShape>& list, const std::string& ladder) {
    for (const BenchShape& shape : list) shapes.push_back({.shape = shape, .ladder = ladder});
  };
  if (options.shapes) {
    const Result<std::vector<BenchShape>> list = parse_shapes(*options.shapes);
    if (!list) return list.error();
    add(*list, "");
  } else {
    for (const std::string& name : split(options.ladders)) {
      const Result<std::vector<BenchShape>> list = ladder(name);
      if (!list) return list.error();
      add(*list, name);
    }
  }
  std::vector<BenchCase> cases;
  for (const DType dtype : options.dtypes) {
    for (const Layout layout : options.layouts) {
      for (BenchCase bench : shapes) {
        bench.layout = layout;
        bench.operands = dtype;
        bench.output = bench_output(dtype, options);
        bench.precision = options.precision;
        bench.reproducibility =
            options.row_invariant ? Reproducibility::RowInvariant : Reproducibility::PerShape;
        bench.epilogue = options.epilogue;
        cases.push_back(std::move(bench));
      }
    }
  }
  return cases;
}

void add_case_options(CLI::App& app, CaseOptions& options) {
  CLI::Option* const ladder =
      app.add_option("--ladder", options.ladders, "Named lists of shapes; default square")
          ->type_name(ladder_names());
  app.add_option("--shapes", options.shapes, "Shapes of your own instead")
      ->type_name("MxNxK[xBATCH],...")
      ->excludes(ladder);
  add_list(app, "--layout", options.layouts,
           std::vector{Layout::NN, Layout::NT, Layout::TN, Layout::TT},
           "A and B as stored (N) or transposed (T); default NN");
  add_list(
      app, "--dtype", options.dtypes,
      std::vector{DType::F32, DType::BF16, DType::F16, DType::I8, DType::F8E4M3, DType::F8E5M2},
      "Types of A and B; default f32");
  add_choice(
      app, "--out-dtype", options.output,
      std::vector{DType::F32, DType::BF16, DType::F16, DType::I32},
      "Type of C; default i32 for i8, bf16 for 8-bit floats and scaled i8, else that of A and B");
  add_choice(app, "--precision", options.precision,
             std::vector{Precision::Exact, Precision::Fast, Precision::Tf32},
             "How f32 and 8-bit float operands are multiplied; default exact");
  const auto reproducibility = [&options](const std::string& text) {
    if (text != "per-shape" && text != "row-invariant") {
      throw CLI::ValidationError("--reproducibility",
                                 formatted("'{}' is not one of per-shape|row-invariant", text));
    }
    options.row_invariant = text == "row-invariant";
  };
  app.add_option_function<std::string>("--reproducibility", reproducibility,
                                       "What girih promises about bits; default per-shape")
      ->type_name("per-shape|row-invariant");
  const auto epilogue = [&options](const std::string& text) {
    for (const std::string& part : split(text)) {
      if (part == "bias") {
        options.epilogue.bias = true;
      } else if (part == "relu") {
        options.epilogue.activation = Activation::Relu;
      } else if (part == "gelu") {
        options.epilogue.activation = Activation::GeluTanh;
      } else if (part == "silu") {
        options.epilogue.activation = Activation::Silu;
      } else if (part == "scales") {
        options.epilogue.scales = true;
      } else {
        throw CLI::ValidationError(
            "--epilogue", formatted("'{}' is not one of bias|relu|gelu|silu|scales", part));
      }
    }
  };
  app.add_option_function<std::string>(
         "--epilogue", epilogue,
         "Time products that end in these, and what that costs over plain ones")
      ->type_name("bias,gelu,scales");
}

}  // namespace girih::cli
