#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <string_view>

#include "tests/small_floats.hpp"
#include "tests/support.hpp"

// Right kernels give right numbers, and nothing is found, in every order of lanes and every layout
// of cooperative tensors.

namespace girih::inline v0::emulator {
namespace {

template <class T>
std::vector<T> random_values(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values(count);
  for (T& value : values) {
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(std::uniform_int_distribution<int>(-128, 127)(random));
    } else {
      value = T(std::uniform_real_distribution<double>(-1, 1)(random));
    }
  }
  return values;
}

struct Product {
  int m, n, k;
};

/// Largest error of C against double arithmetic, in units of sum |a b|.
template <class T, class D>
double error_of(const Product& product, const std::vector<T>& a, const std::vector<T>& b,
                const std::vector<D>& c) {
  double worst = 0;
  for (int i = 0; i < product.m; ++i) {
    for (int j = 0; j < product.n; ++j) {
      double sum = 0, magnitude = 1e-30;
      for (int k = 0; k < product.k; ++k) {
        const double term =
            double(a[std::size_t(i * product.k + k)]) * double(b[std::size_t(k * product.n + j)]);
        sum += term;
        magnitude += std::fabs(term);
      }
      const double error = std::fabs(sum - double(c[std::size_t(i * product.n + j)])) / magnitude;
      if (!(error <= worst)) worst = std::isnan(error) ? 1 : error;
    }
  }
  return worst;
}

/// The same with rows that start at multiples of 16 bytes.
template <class T>
std::vector<T> padded(const std::vector<T>& dense, int rows, int columns) {
  constexpr int kUnit = 16 / sizeof(T);
  const int stride = (columns + kUnit - 1) / kUnit * kUnit;
  std::vector<T> values(std::size_t(rows * stride));
  for (int i = 0; i < rows; ++i) {
    std::copy_n(dense.begin() + i * columns, columns, values.begin() + i * stride);
  }
  return values;
}

unsigned tiles(int extent, int tile) {
  return static_cast<unsigned>((extent + tile - 1) / tile);
}

template <class T, class D>
void expect_product(const char* kernel, const Product& product, Dim3 groups, Dim3 threads,
                    double bound) {
  const auto a = random_values<T>(std::size_t(product.m * product.k), 1);
  const auto b = random_values<T>(std::size_t(product.k * product.n), 2);
  const bool is_padded = std::string_view(kernel).starts_with("product_tensor");
  const DeviceArray da(is_padded ? padded(a, product.m, product.k) : a, "A");
  const DeviceArray db(is_padded ? padded(b, product.k, product.n) : b, "B");
  const DeviceArray dc(std::size_t(product.m * product.n) * sizeof(D), "C");
  const DeviceArray arguments(std::vector<Product>{product}, "arguments");
  const auto finding = run("products", kernel, {&da, &db, &dc, &arguments}, groups, threads);
  ASSERT_FALSE(finding) << finding->kind << ": " << finding->text;
  EXPECT_LE(error_of(product, a, b, dc.values<D>()), bound) << kernel;
}

class EveryOrder : public ::testing::TestWithParam<Order> {
 protected:
  EveryOrder() { config().order = GetParam(); }
  ConfigScope scope_;
};

TEST_P(EveryOrder, ProductsAreRight) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    config().seed = seed;
    const Product shapes[] = {{64, 32, 64}, {45, 37, 50}, {1, 1, 1}, {65, 70, 19}};
    for (const Product& p : shapes) {
      const Dim3 small{tiles(p.n, 32), tiles(p.m, 32)}, large{tiles(p.n, 32), tiles(p.m, 64)};
      const Dim3 registers{tiles(p.n, 32), tiles(p.m, 16)};
      expect_product<float, float>("product_simdgroup_f32", p, small, {128}, 1e-6);
      expect_product<Half, float>("product_simdgroup_f16", p, small, {128}, 1e-6);
      expect_product<Half, float>("product_tensor_f16", p, large, {128}, 1e-6);
      expect_product<BFloat, float>("product_tensor_bf16", p, large, {128}, 1e-6);
      expect_product<std::int8_t, std::int32_t>("product_tensor_i8", p, large, {128}, 0);
      expect_product<Half, float>("product_registers_f16", p, registers, {32}, 1e-6);
    }
  }
}

TEST_P(EveryOrder, SoftmaxIsRight) {
  struct Arguments {
    unsigned columns, stride;
    float scale;
  };
  for (const bool has_mask : {false, true}) {
    for (const FunctionConstant& constant : function_constants("softmax")) {
      std::memcpy(constant.value, &has_mask, constant.bytes);
    }
    for (const unsigned columns : {1U, 33U, 300U}) {
      const unsigned rows = 3, stride = columns + 3;
      const auto x = random_values<float>(std::size_t{rows} * stride, 4);
      const auto mask = random_values<float>(columns, 5);
      const DeviceArray dx(x, "x"), dy(x.size() * 4, "y"), dm(mask, "mask");
      const DeviceArray da(std::vector<Arguments>{{columns, stride, 0.5F}}, "arguments");
      const auto finding =
          run("softmax", "softmax_f32", {&dx, &dy, &da, has_mask ? &dm : nullptr}, {rows}, {96});
      ASSERT_FALSE(finding) << finding->kind << ": " << finding->text;
      const auto y = dy.values<float>();
      for (unsigned r = 0; r < rows; ++r) {
        const auto term = [&](unsigned c) {
          return std::exp(0.5 * double(x[r * stride + c]) + (has_mask ? double(mask[c]) : 0.0));
        };
        double sum = 0;
        for (unsigned c = 0; c < columns; ++c) sum += term(c);
        for (unsigned c = 0; c < columns; ++c) {
          EXPECT_NEAR(y[r * stride + c], term(c) / sum, 1e-6) << r << ", " << c;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, EveryOrder,
                         ::testing::Values(Order::Forward, Order::Reverse, Order::Random,
                                           Order::Greedy, Order::GreedyReverse));

TEST(MatrixUnit, TruncatesF32OperandsAsTheM5Does) {
  const Product p{40, 33, 70};
  const Dim3 groups{2, 1};
  const ConfigScope scope;
  const auto error = [&] {
    const auto a = random_values<float>(std::size_t(p.m * p.k), 1);
    const auto b = random_values<float>(std::size_t(p.k * p.n), 2);
    const DeviceArray da(padded(a, p.m, p.k), "A"), db(padded(b, p.k, p.n), "B");
    const DeviceArray dc(std::size_t(p.m * p.n) * 4, "C");
    const DeviceArray arguments(std::vector<Product>{p}, "arguments");
    EXPECT_FALSE(run("products", "product_tensor_f32", {&da, &db, &dc, &arguments}, groups, {128}));
    return error_of(p, a, b, dc.values<float>());
  };
  const double truncated = error();
  EXPECT_GT(truncated, 1e-5);
  EXPECT_LT(truncated, 0x1p-9);
  config().truncates_f32 = false;
  EXPECT_LT(error(), 1e-6);
}

}  // namespace
}  // namespace girih::inline v0::emulator
