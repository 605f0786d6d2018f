#include "girih/gemm_run.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "girih/convert.hpp"
#include "girih/product.hpp"
#include "reference/gemm.hpp"

namespace girih::cli {
namespace {

// Short products are run again, so that the time printed is not that of the first touch of memory.
constexpr int kMaxRuns = 9;
constexpr double kRunsBudget = 0.25;  // seconds

ArrayInfo info_of(const HostArray& array) {
  return {array.dtype, array.shape, array.strides};
}
Geometry geometry_of(const HostArray& array) {
  return {array.dtype, array.shape, array.strides, 0};
}

Result<HostArray> load_operand(const OperandFile& file, std::optional<DType> in_dtype,
                               bool is_transposed) {
  Result<HostArray> array = load(file);
  if (!array) return array;
  const Result<DType> dtype = operand_type(array->dtype, in_dtype, file.text());
  if (!dtype) return dtype.error();
  array = convert(*std::move(array), *dtype, file.text());
  if (!array) return array;
  return is_transposed ? transposed(*std::move(array)) : array;
}

/// The bias, or the C that is added to. f64 is rounded to `f64_as` where --in-dtype allows
/// rounding.
Result<HostArray> load_term(const OperandFile& file, const GemmOptions& options, DType f64_as) {
  Result<HostArray> array = load(file);
  if (!array || array->dtype != DType::F64) return array;
  if (!options.product.in_dtype) {
    return error(Code::GemmTypeMismatch,
                 "{} holds f64, which is not narrowed unasked; any --in-dtype rounds it to {}",
                 file.text(), name(f64_as));
  }
  return convert(*std::move(array), f64_as, file.text());
}

/// The array on the runtime, with the strides that it has here.
Result<Tensor> upload(Runtime& runtime, const HostArray& array) {
  const std::int64_t count =
      static_cast<std::int64_t>(array.bytes.size()) * 8 / bit_width(array.dtype);
  const Result<Tensor> memory = runtime.tensor({count}, array.dtype, Memory::Hot);
  if (!memory) return memory;
  GIRIH_TRY(runtime.upload(*memory, array.bytes.data(), array.bytes.size()));
  return memory->view(array.shape, array.strides, 0);
}

/// The product's operands on the runtime.
Result<GemmDesc> make_desc(Runtime& runtime, const GemmOptions& options, const GemmInputs& inputs,
                           const GemmSpec& spec) {
  const Result<Tensor> a = upload(runtime, inputs.a);
  if (!a) return a.error();
  const Result<Tensor> b = upload(runtime, inputs.b);
  if (!b) return b.error();
  const Result<Tensor> c = inputs.c ? upload(runtime, *inputs.c)
                                    : runtime.tensor(spec.c.shape, spec.c.dtype, Memory::Hot);
  if (!c) return c.error();
  GemmDesc desc{.a = *a,
                .b = *b,
                .c = *c,
                .alpha = options.alpha,
                .beta = options.beta,
                .epilogue = {.activation = options.activation, .gate = gate_of(options.product)},
                .precision = options.product.precision,
                .path = options.product.path};
  if (inputs.bias) {
    const Result<Tensor> bias = upload(runtime, *inputs.bias);
    if (!bias) return bias.error();
    desc.epilogue.bias = *bias;
  }
  if (inputs.c_scale) {
    const Result<Tensor> factor = runtime.tensor({1}, DType::F32, Memory::Hot);
    if (!factor) return factor.error();
    GIRIH_TRY(runtime.upload(*factor, &*inputs.c_scale, sizeof(float)));
    desc.c_scale = Scale{*factor, Granularity::PerTensor};
  }
  return desc;
}

/// Runs the product, more than once if it is short and does not read C.
Status run_timed(Runtime& runtime, const GemmDesc& desc, bool reads_c, GemmOutcome& outcome) {
  std::vector<double> seconds;
  double total = 0;
  do {
    const auto begin = std::chrono::steady_clock::now();
    GIRIH_TRY(gemm(runtime, desc));
    GIRIH_TRY(runtime.synchronize());
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    total += seconds.back();
  } while (!reads_c && static_cast<int>(seconds.size()) < kMaxRuns && total < kRunsBudget);
  std::sort(seconds.begin(), seconds.end());
  outcome.runs = static_cast<int>(seconds.size());
  outcome.seconds = seconds[seconds.size() / 2];
  return {};
}

/// The rules of the product, without its tensors.
GemmSpec make_full_spec(const GemmOptions& options, const GemmInputs& inputs) {
  GemmSpec spec = make_spec(info_of(inputs.a), info_of(inputs.b), options.product);
  if (inputs.bias) spec.bias = geometry_of(*inputs.bias);
  if (inputs.c) spec.c = geometry_of(*inputs.c);
  spec.alpha.value = options.alpha;
  spec.beta.value = options.beta;
  spec.activation = options.activation;
  return spec;
}

}  // namespace

Result<GemmInputs> load_inputs(const GemmOptions& options) {
  Result<HostArray> a = load_operand(*options.a, options.product.in_dtype, options.product.trans_a);
  if (!a) return std::move(a).error();
  Result<HostArray> b = load_operand(*options.b, options.product.in_dtype, options.product.trans_b);
  if (!b) return std::move(b).error();
  GemmInputs inputs{*std::move(a), *std::move(b), {}, {}, options.product.c_scale};
  if (options.bias) {
    Result<HostArray> bias = load_term(*options.bias, options, DType::F32);
    if (!bias) return std::move(bias).error();
    inputs.bias = *std::move(bias);
  }
  if (options.c) {
    const DType type = options.product.out_dtype.value_or(default_output(inputs.a.dtype));
    Result<HostArray> c = load_term(*options.c, options, type);
    if (!c) return std::move(c).error();
    if (c->dtype != type) {
      return error(Code::GemmTypeMismatch, "{} holds {}, but the result is {}: --out-dtype sets it",
                   options.c->text(), name(c->dtype), name(type));
    }
    inputs.c = *std::move(c);
  }
  return inputs;
}

verify::Comparison compare_with_reference(const GemmInputs& inputs, const GemmOutcome& outcome) {
  // Where C is read the oracle reads the array that was loaded; it writes nothing.
  auto* const c = const_cast<std::byte*>(inputs.c ? inputs.c->bytes.data() : nullptr);
  const GemmReference reference =
      reference_gemm(outcome.problem,
                     {.a = inputs.a.bytes.data(),
                      .b = inputs.b.bytes.data(),
                      .c = c,
                      .bias = inputs.bias ? inputs.bias->bytes.data() : nullptr,
                      .c_scale = inputs.c_scale ? &*inputs.c_scale : nullptr},
                     outcome.plan.backend);
  return verify::compare(reference.value, reference.bound,
                         {geometry_of(outcome.result), outcome.result.bytes.data()});
}

Result<GemmOutcome> run_gemm(const GemmOptions& options, GemmInputs inputs, Progress& progress) {
  const GemmSpec spec = make_full_spec(options, inputs);
  const Result<GemmProblem> problem = check(spec);
  if (!problem) return problem.error();
  GIRIH_TRY(check_output(*options.out, spec.c.dtype, spec.c.shape));
  GemmOutcome outcome{.problem = *problem, .plan = {}, .result = {}, .comparison = {}};
  Result<Runtime> runtime = Runtime::open({.policy = options.policy,
                                           .backend = options.product.backend,
                                           .threads = thread_count(options.product)});
  if (!runtime) return std::move(runtime).error();
  const Result<GemmDesc> desc = make_desc(*runtime, options, inputs, spec);
  if (!desc) return desc.error();
  if (!options.verify) inputs = {};  // the runtime has its own copy
  Result<Plan> plan = girih::plan(*runtime, *desc);
  if (!plan) return std::move(plan).error();
  outcome.plan = *std::move(plan);

  progress.stage("multiplying");
  GIRIH_TRY(run_timed(*runtime, *desc, outcome.problem.reads_c(), outcome));
  Result<HostArray> result = HostArray::make(spec.c.shape, spec.c.dtype);
  if (!result) return std::move(result).error();
  GIRIH_TRY(runtime->download(desc->c.tensor(), result->bytes.data(), result->bytes.size()));
  outcome.result = *std::move(result);
  if (options.verify) {
    progress.stage("verifying against the oracle");
    outcome.comparison = compare_with_reference(inputs, outcome);
  }
  return outcome;
}

}  // namespace girih::cli
