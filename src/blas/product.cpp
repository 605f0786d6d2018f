#include "blas/product.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "backends/cpu/gemm.hpp"
#include "blas/workspaces.hpp"
#include "core/cores.hpp"
#include "core/environment.hpp"
#include "core/thread_pool.hpp"
#include "runtime/state.hpp"

namespace girih::inline v0::blas {
namespace {

/// Workspaces up to this size lie on the stack: with a depth of 64, products up to about 16 by 16.
constexpr std::int64_t kStackBytes = std::int64_t{16} << 10;

[[noreturn]] void give_up(const Error& error) noexcept {
  std::fprintf(stderr, "girih_blas: %s\n", error.message.c_str());
  std::abort();
}

/// What all calls of the process share. Never destroyed: another thread may multiply while the
/// process exits.
struct Machine {
  std::shared_ptr<Executor> executor;
  std::shared_ptr<detail::RuntimeState> runtime;  ///< what `context` refers to
  SelectionContext context;
};

/// The pool has no threads yet: it starts them at its first loop, so programs with small products
/// alone never have any.
Machine* open_machine() noexcept try {
  const Result<Environment> environment = read_environment();
  if (!environment) give_up(environment.error());
  auto machine = std::make_unique<Machine>();
  machine->executor =
      std::make_shared<ThreadPool>(environment->threads ? *environment->threads : usable_cores());
  auto runtime =
      detail::RuntimeState::open({.backend = Backend::Cpu, .executor = machine->executor});
  if (!runtime) give_up(runtime.error());
  machine->runtime = *std::move(runtime);
  machine->context = machine->runtime->selection_context(Op::Gemm);
  return machine.release();
} catch (...) {
  give_up({Code::OutOfMemory, "no memory for the first call"});
}

/// No lock: a fork would leave one that another thread holds locked in the child for ever. Threads
/// that meet at the first call each make a machine, and one of them stays.
const Machine& machine() noexcept {
  static constinit std::atomic<Machine*> shared{nullptr};
  Machine* current = shared.load(std::memory_order_acquire);
  if (current != nullptr) return *current;
  std::unique_ptr<Machine> fresh(open_machine());
  if (!shared.compare_exchange_strong(current, fresh.get(), std::memory_order_acq_rel)) {
    return *current;
  }
  return *fresh.release();
}

constinit Workspaces workspaces;

/// C = beta * C, one rounding an element.
void scale(const Product& product) noexcept {
  for (std::int64_t j = 0; j < product.n; ++j) {
    float* const column = product.c + j * product.ldc;
    if (product.beta == 0) {
      std::fill_n(column, product.m, 0.0F);
    } else {
      for (std::int64_t i = 0; i < product.m; ++i) column[i] *= product.beta;
    }
  }
}

/// A view with unit stride along one of its two dimensions.
Geometry matrix(std::int64_t rows, std::int64_t columns, std::int64_t stride,
                bool stride_is_of_columns) noexcept {
  return {.dtype = DType::F32,
          .shape = {rows, columns},
          .strides = stride_is_of_columns ? Strides{1, stride} : Strides{stride, 1}};
}

/// girih refuses host scalars that are not finite and takes those of the device as they are.
ScalarTerm scalar(float value) noexcept {
  return {.on_device = !std::isfinite(value), .value = value};
}

/// The transposed product, whose C is row-major: girih's A is op(B) transposed, and its B op(A).
GemmCall call_of(const Product& product, const SelectionContext& context) noexcept {
  const Result<GemmProblem> problem =
      check({.a = matrix(product.n, product.k, product.ldb, product.transposes_b),
             .b = matrix(product.k, product.m, product.lda, product.transposes_a),
             .c = matrix(product.n, product.m, product.ldc, false),
             .alpha = scalar(product.alpha),
             .beta = scalar(product.beta)});
  if (!problem) give_up(problem.error());
  const Result<GemmSelection> selection = select(*problem, context);
  if (!selection) give_up(selection.error());
  return {.problem = *problem,
          .operands = {.a = reinterpret_cast<const std::byte*>(product.b),
                       .b = reinterpret_cast<const std::byte*>(product.a),
                       .c = reinterpret_cast<std::byte*>(product.c),
                       .alpha = &product.alpha,
                       .beta = &product.beta},
          .selection = *selection};
}

void launch(const GemmCall& call, Executor& executor) noexcept {
  const Status status = cpu::run(call, executor);
  if (!status) give_up(status.error());
}

void launch_on_stack(GemmCall& call, Executor& executor) noexcept {
  alignas(64) std::byte workspace[kStackBytes];
  call.scratch = workspace;
  launch(call, executor);
  call.scratch = nullptr;
}

void multiply(const Product& product, const Machine& machine) noexcept;

/// Without memory for a workspace: two products that need less.
void multiply_halves(const Product& whole, const Machine& machine) noexcept {
  Product first = whole;
  Product second = whole;
  if (whole.k > std::max(whole.m, whole.n)) {
    first.k = whole.k / 2;
    second.k = whole.k - first.k;
    second.a += first.k * (whole.transposes_a ? 1 : whole.lda);
    second.b += first.k * (whole.transposes_b ? whole.ldb : 1);
    second.beta = 1;
  } else if (whole.m > whole.n) {
    first.m = whole.m / 2;
    second.m = whole.m - first.m;
    second.a += first.m * (whole.transposes_a ? whole.lda : 1);
    second.c += first.m;
  } else {
    first.n = whole.n / 2;
    second.n = whole.n - first.n;
    second.b += first.n * (whole.transposes_b ? 1 : whole.ldb);
    second.c += first.n * whole.ldc;
  }
  multiply(first, machine);
  multiply(second, machine);
}

void multiply(const Product& product, const Machine& machine) noexcept {
  GemmCall call = call_of(product, machine.context);
  if (call.selection.workspace_bytes <= kStackBytes) {
    return launch_on_stack(call, *machine.executor);
  }
  call.scratch = workspaces.take(call.selection.workspace_bytes);
  if (call.scratch == nullptr) return multiply_halves(product, machine);
  launch(call, *machine.executor);
  workspaces.give_back(call.scratch);
}

}  // namespace

void run(const Product& product) noexcept {
  if (product.m == 0 || product.n == 0) return;
  if (product.alpha == 0 || product.k == 0) {
    if (product.beta != 1) scale(product);
    return;
  }
  multiply(product, machine());
}

}  // namespace girih::inline v0::blas
