// A linear layer with bias and GELU: c = gelu(a.b + bias), bf16 in, f32 out.

#include <cstdio>
#include <vector>

#include <girih/girih.hpp>

namespace {

girih::Status run() {
  auto rt = girih::Runtime::open({.policy = girih::Policy::Auto});
  if (!rt) return rt.error();

  auto a = rt->tensor({64, 384}, girih::DType::BF16);
  auto b = rt->tensor({384, 1536}, girih::DType::BF16);
  auto bias = rt->tensor({1536}, girih::DType::F32);
  auto c = rt->tensor({64, 1536}, girih::DType::F32);
  for (const auto* tensor : {&a, &b, &bias, &c}) {
    if (!*tensor) return tensor->error();
  }
  if (auto s = girih::fill(*rt, {.destination = *a, .value = 0.5}); !s) return s;
  if (auto s = girih::fill(*rt, {.destination = *b, .value = 0.0078125}); !s) return s;
  if (auto s = girih::fill(*rt, {.destination = *bias, .value = -0.25}); !s) return s;

  const girih::GemmDesc layer{
      .a = *a,
      .b = *b,
      .c = *c,
      .epilogue = {.bias = *bias, .activation = girih::Activation::GeluTanh}};
  if (auto s = girih::gemm(*rt, layer); !s) return s;

  std::vector<float> result(64 * 1536);
  if (auto s = rt->download(*c, std::span(result)); !s) return s;

  auto plan = girih::plan(*rt, layer);
  if (!plan) return plan.error();
  std::printf("c[0][0] = %.4f, by %s\n", static_cast<double>(result[0]), plan->kernel.c_str());
  return {};
}

}  // namespace

int main() {
  if (const girih::Status status = run(); !status) {
    std::fprintf(stderr, "%s: %s\n", girih::name(status.error().code).data(),
                 status.error().message.c_str());
    return 1;
  }
  return 0;
}
