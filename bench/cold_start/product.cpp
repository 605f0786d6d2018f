// A first product: 512 cubed, bf16, on the backend that is named. Prints "right" once a sample of
// it is what it should be.

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include <girih/girih.hpp>

namespace {

constexpr std::int64_t kExtent = 512;

/// bf16 of small multiples of 1/8, which are exact, as are sums of their products.
std::vector<std::uint16_t> matrix(unsigned seed) {
  std::vector<std::uint16_t> values(kExtent * kExtent);
  for (std::uint16_t& value : values) {
    seed = seed * 1664525U + 1013904223U;
    const float x = (static_cast<float>(seed >> 28) - 8.0F) / 8.0F;
    std::uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    value = static_cast<std::uint16_t>(bits >> 16);
  }
  return values;
}

float widened(std::uint16_t value) {
  const std::uint32_t bits = std::uint32_t{value} << 16;
  float x = 0;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

bool is_right(const std::vector<std::uint16_t>& a, const std::vector<std::uint16_t>& b,
              const std::vector<float>& c) {
  for (std::int64_t i = 0; i < kExtent; i += 37) {
    for (std::int64_t j = 0; j < kExtent; j += 41) {
      float sum = 0;
      for (std::int64_t k = 0; k < kExtent; ++k) {
        sum += widened(a[static_cast<std::size_t>(i * kExtent + k)]) *
               widened(b[static_cast<std::size_t>(k * kExtent + j)]);
      }
      if (c[static_cast<std::size_t>(i * kExtent + j)] != sum) return false;
    }
  }
  return true;
}

girih::Status run(girih::Backend backend, bool& right) {
  auto rt = girih::Runtime::open({.backend = backend});
  if (!rt) return rt.error();
  auto a = rt->tensor({kExtent, kExtent}, girih::DType::BF16);
  auto b = rt->tensor({kExtent, kExtent}, girih::DType::BF16);
  auto c = rt->tensor({kExtent, kExtent}, girih::DType::F32);
  for (const auto* tensor : {&a, &b, &c}) {
    if (!*tensor) return tensor->error();
  }
  const std::vector<std::uint16_t> host_a = matrix(1), host_b = matrix(2);
  std::vector<float> host_c(kExtent * kExtent);
  if (auto s = rt->upload(*a, std::span(host_a)); !s) return s;
  if (auto s = rt->upload(*b, std::span(host_b)); !s) return s;
  if (auto s = girih::gemm(*rt, {.a = *a, .b = *b, .c = *c}); !s) return s;
  if (auto s = rt->download(*c, std::span(host_c)); !s) return s;
  right = is_right(host_a, host_b, host_c);
  std::puts(right ? "right" : "wrong");
  std::fflush(stdout);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const bool on_cuda = argc == 2 && std::strcmp(argv[1], "cuda") == 0;
  if (argc != 2 || (!on_cuda && std::strcmp(argv[1], "cpu") != 0)) {
    std::fprintf(stderr, "usage: %s cpu|cuda\n", argv[0]);
    return 2;
  }
  bool right = false;
  const girih::Status status = run(on_cuda ? girih::Backend::Cuda : girih::Backend::Cpu, right);
  if (!status) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    return 1;
  }
  return right ? 0 : 1;
}
