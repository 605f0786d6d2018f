#include "girih/options.hpp"

namespace girih::cli {

void add_product_options(CLI::App& app, ProductOptions& options) {
  app.add_flag("--trans-a", options.trans_a, "Use A transposed (a view; nothing is moved)");
  app.add_flag("--trans-b", options.trans_b, "Use B transposed");
  const std::vector<DType> operands{DType::F32,    DType::BF16,   DType::F16,
                                    DType::F8E4M3, DType::F8E5M2, DType::I8};
  add_choice<DType>(app, "--in-dtype", options.in_dtype, operands,
                    "Round A and B to this type first (to nearest even)");
  add_choice<DType>(app, "--out-dtype", options.out_dtype,
                    {DType::F32, DType::BF16, DType::F16, DType::I32, DType::F8E4M3, DType::F8E5M2},
                    "Type of the result; default f32, and i32 for i8 operands");
  add_choice<Precision>(app, "--precision", options.precision,
                        {Precision::Exact, Precision::Fast, Precision::Tf32},
                        "How f32 operands are multiplied; default exact");
  add_choice<Path>(app, "--path", options.path, {Path::Auto, Path::Matrix, Path::Portable},
                   "Family of kernels; default auto");
  add_choice<Backend>(app, "--backend", options.backend,
                      {Backend::Cpu, Backend::Cuda, Backend::Metal},
                      "Exactly this backend, or an error");
  app.add_option("--threads", options.threads,
                 "CPU threads; 0 takes GIRIH_THREADS, else the usable cores")
      ->type_name("N");
  app.add_flag("--json", options.json, "Print one JSON object instead");
}

DType default_output(DType operand) noexcept {
  return operand == DType::I8 ? DType::I32 : DType::F32;
}

}  // namespace girih::cli
