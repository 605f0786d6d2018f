#include "cuda/device/gpu_test.hpp"

// Every row on operands and outputs of more than 2^31 elements, of whole numbers, whose sums any
// order gives exactly. Needs about 30 GB of device memory.

namespace girih::testing {
namespace {

constexpr std::int64_t k31Bits = std::int64_t{1} << 31;
constexpr std::int64_t kTail = 5;  // rows at the end that are unlike the others

using Numbers = std::vector<int>;

Numbers numbers(std::int64_t count, std::uint64_t seed) {
  verify::Random random(seed);
  Numbers values(static_cast<std::size_t>(count));
  for (int& value : values) value = static_cast<int>(random.integer(-2, 2));
  return values;
}
Tensor tensor_of_numbers(Runtime& runtime, const Shape& shape, DType dtype, const Numbers& values) {
  Tensor tensor = must(runtime.tensor(shape, dtype));
  std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(bit_width(dtype)) / 8);
  for (std::size_t i = 0; i < values.size(); ++i) {
    store_element(bytes.data(), dtype, static_cast<std::int64_t>(i), values[i]);
  }
  must(runtime.upload(tensor, bytes.data(), bytes.size()));
  return tensor;
}
Numbers numbers_of(Runtime& runtime, const Tensor& tensor) {
  const std::vector<std::byte> bytes = bytes_of(runtime, tensor);
  Numbers values(static_cast<std::size_t>(tensor.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] =
        static_cast<int>(load_element(bytes.data(), tensor.dtype(), static_cast<std::int64_t>(i)));
  }
  return values;
}

/// Ones, but for the last rows.
struct Large {
  Tensor tensor;
  Numbers tail;

  static Large make(Runtime& runtime, std::int64_t rows, std::int64_t columns, DType dtype) {
    Large x{must(runtime.tensor({rows, columns}, dtype)), numbers(kTail * columns, 3)};
    must(fill(runtime, {.destination = x.tensor, .value = 1}));
    must(copy(runtime, {.source = tensor_of_numbers(runtime, {kTail, columns}, dtype, x.tail),
                        .destination = must(x.tensor.slice(0, rows - kTail, rows))}));
    return x;
  }
};

/// Row i of x times row j of y, or times ones if there is no y.
int dot(const Numbers& x, std::int64_t i, const Numbers* y, std::int64_t j, std::int64_t k) {
  int sum = 0;
  for (std::int64_t at = 0; at < k; ++at) {
    sum += x[static_cast<std::size_t>(i * k + at)] *
           (y != nullptr ? (*y)[static_cast<std::size_t>(j * k + at)] : 1);
  }
  return sum;
}

DType operands_of(const KernelInfo& row) {
  for (const DType type : {DType::BF16, DType::I8, DType::F8E4M3, DType::F32}) {
    if (row.operands.has(type)) return type;
  }
  return DType::F16;
}

class CudaLargeProducts : public BackendTest {};

// Products of a few rows, and of a few columns.
TEST_P(CudaLargeProducts, EveryRowReadsAnOperandOfMoreThan31Bits) {
  constexpr std::int64_t kFew = 8, kDepth = 8192, kMany = k31Bits / kDepth + 72;
  for (const UsableKernel& kernel : usable_kernels(GetParam(), Op::Gemm)) {
    Runtime runtime = open(GetParam(), {.force_kernel = std::string(kernel.info.name)});
    const DType type = operands_of(kernel.info);
    const Large large = Large::make(runtime, kMany, kDepth, type);
    const Numbers few = numbers(kFew * kDepth, 4);
    const Tensor small = tensor_of_numbers(runtime, {kFew, kDepth}, type, few);
    for (const bool is_b : {false, true}) {
      const Tensor c =
          must(runtime.tensor(is_b ? Shape{kFew, kMany} : Shape{kMany, kFew}, DType::F32));
      const Tensor sums = is_b ? c.transposed() : c;  // along the many, then the few
      const GemmDesc desc{.a = is_b ? small : large.tensor,
                          .b = (is_b ? large.tensor : small).transposed(),
                          .c = c,
                          .precision = precision_of(kernel.info)};
      const Status status = gemm(runtime, desc);
      ASSERT_TRUE(succeeded(status)) << kernel.info.name;
      for (const std::int64_t first : {std::int64_t{0}, k31Bits / kDepth - 2, kMany - kTail - 3}) {
        const Numbers got = numbers_of(runtime, must(sums.slice(0, first, first + 3)));
        for (std::int64_t i = 0; i < 3 * kFew; ++i) {
          ASSERT_EQ(got[static_cast<std::size_t>(i)], dot(few, i % kFew, nullptr, 0, kDepth))
              << kernel.info.name << ' ' << is_b << ", at " << first << " + " << i / kFew;
        }
      }
      const Numbers got = numbers_of(runtime, must(sums.slice(0, kMany - kTail, kMany)));
      for (std::int64_t i = 0; i < kTail * kFew; ++i) {
        ASSERT_EQ(got[static_cast<std::size_t>(i)],
                  dot(few, i % kFew, &large.tail, i / kFew, kDepth))
            << kernel.info.name << ' ' << is_b << ", row " << i / kFew << " of the last";
      }
    }
  }
}

TEST_P(CudaLargeProducts, EveryRowWritesAnOutputOfMoreThan31Bits) {
  constexpr std::int64_t kSide = 46'352, kDepth = 32;
  static_assert(kSide * kSide > k31Bits);
  const Numbers a = numbers(kSide * kDepth, 5), b = numbers(kSide * kDepth, 6);
  for (const UsableKernel& kernel : usable_kernels(GetParam(), Op::Gemm)) {
    if (kernel.info.skinny) continue;  // at most 16 rows
    Runtime runtime = open(GetParam(), {.force_kernel = std::string(kernel.info.name)});
    const DType type = operands_of(kernel.info);
    const Tensor c =
        must(runtime.tensor({kSide, kSide}, type == DType::BF16 ? DType::BF16 : DType::F32));
    const Status status =
        gemm(runtime, {.a = tensor_of_numbers(runtime, {kSide, kDepth}, type, a),
                       .b = tensor_of_numbers(runtime, {kSide, kDepth}, type, b).transposed(),
                       .c = c,
                       .precision = precision_of(kernel.info)});
    ASSERT_TRUE(succeeded(status)) << kernel.info.name;
    for (const std::int64_t row : {std::int64_t{0}, kSide / 2, kSide - 17, kSide - 1}) {
      const Numbers got = numbers_of(runtime, must(c.slice(0, row, row + 1)));
      for (std::int64_t j = 0; j < kSide; ++j) {
        ASSERT_EQ(got[static_cast<std::size_t>(j)], dot(a, row, &b, j, kDepth))
            << kernel.info.name << ", row " << row << ", column " << j;
      }
    }
  }
}

// Group g has rows 2 g and 2 g + 1.
Tensor offsets_of_pairs(Runtime& runtime, std::int64_t groups) {
  std::vector<std::int32_t> offsets;
  for (std::int64_t g = 0; g <= groups; ++g) offsets.push_back(static_cast<std::int32_t>(2 * g));
  return tensor_of(runtime, {groups + 1}, DType::I32, offsets);
}

TEST_P(CudaLargeProducts, EveryRowOfGroupsReadsWeightsAndWritesOutputsOfMoreThan31Bits) {
  constexpr std::int64_t kN = 2048, kDepth = 1024, kGroups = k31Bits / (kN * kDepth) + 6;
  for (const UsableKernel& kernel : usable_kernels(GetParam(), Op::GroupedGemm)) {
    Runtime runtime = open(GetParam(), {.force_kernel = std::string(kernel.info.name)});
    const DType type = operands_of(kernel.info);
    const Tensor offsets = offsets_of_pairs(runtime, kGroups);
    const Numbers a = numbers(2 * kGroups * kDepth, 7);
    const Tensor rows = tensor_of_numbers(runtime, {2 * kGroups, kDepth}, type, a);
    {
      // Weights along K: the last columns of the last group are the tail.
      const Large weights = Large::make(runtime, kGroups * kN, kDepth, type);
      const Tensor b = must(weights.tensor.reshape({kGroups, kN, kDepth})).transposed();
      const Tensor c = must(runtime.tensor({2 * kGroups, kN}, DType::F32));
      ASSERT_TRUE(succeeded(grouped_gemm(runtime, {.a = rows, .b = b, .c = c, .offsets = offsets})))
          << kernel.info.name;
      for (const std::int64_t row : {std::int64_t{0}, kGroups, 2 * kGroups - 1}) {
        const Numbers got = numbers_of(runtime, must(c.slice(0, row, row + 1)));
        for (std::int64_t j = 0; j < kN; ++j) {
          const std::int64_t of_tail = row < 2 * kGroups - 2 ? -1 : j - (kN - kTail);
          ASSERT_EQ(got[static_cast<std::size_t>(j)],
                    dot(a, row, of_tail < 0 ? nullptr : &weights.tail, of_tail, kDepth))
              << kernel.info.name << ", row " << row << ", column " << j;
        }
      }
    }
    // Rows are the depth: each group's C is the sum of two outer products.
    const Numbers b = numbers(2 * kGroups * kN, 8);
    const Tensor c = must(runtime.tensor({kGroups, kDepth, kN}, DType::F32));
    const Status status =
        grouped_gemm(runtime, {.a = rows.transposed(),
                               .b = tensor_of_numbers(runtime, {2 * kGroups, kN}, type, b),
                               .c = c,
                               .offsets = offsets});
    if (!status && status.error().code == Code::GemmNoKernel) continue;  // of rows alone
    ASSERT_TRUE(succeeded(status)) << kernel.info.name;
    for (const std::int64_t g : {std::int64_t{0}, kGroups / 2, kGroups - 1}) {
      const Tensor own = must(must(c.slice(0, g, g + 1)).reshape({kDepth, kN}));
      for (const std::int64_t m : {std::int64_t{0}, kDepth - 1}) {
        const Numbers got = numbers_of(runtime, must(own.slice(0, m, m + 1)));
        for (std::int64_t j = 0; j < kN; ++j) {
          int want = 0;
          for (std::int64_t k = 2 * g; k < 2 * g + 2; ++k) {
            want += a[static_cast<std::size_t>(k * kDepth + m)] *
                    b[static_cast<std::size_t>(k * kN + j)];
          }
          ASSERT_EQ(got[static_cast<std::size_t>(j)], want)
              << kernel.info.name << ", group " << g << ", row " << m << ", column " << j;
        }
      }
    }
  }
}

GIRIH_FOR_EVERY_GPU(CudaLargeProducts);

}  // namespace
}  // namespace girih::testing
