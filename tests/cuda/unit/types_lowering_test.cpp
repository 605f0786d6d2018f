#include <gtest/gtest.h>
#include <optional>

#include "backends/cuda/kernels/gemm_kernels.hpp"
#include "backends/cuda/tensor_maps.hpp"
#include "cuda/unit/encoded_map.hpp"
#include "cuda/unit/lowering.hpp"

// What products of int8, 8-bit floats and tf32 hand to their kernels.

namespace girih::testing {
namespace {

using cuda::Element;
using cuda::GemmParams;
using cuda::Major;
using cuda::StoreMode;

constexpr std::int64_t kM = 512, kN = 640, kK = 384;

class Products final : public cuda::LaunchSink {
 public:
  Status add(const cuda::Launch& launch) noexcept override {
    function = launch.function;
    params = *static_cast<const GemmParams*>(launch.params);
    return {};
  }
  const void* function = nullptr;
  std::optional<GemmParams> params;
};

GemmSpec spec(DType operands, DType output) {
  return {.a = {operands, {kM, kK}, {kK, 1}, 0},
          .b = {operands, {kK, kN}, {1, kK}, 0},
          .c = {output, {kM, kN}, {kN, 1}, 0}};
}

/// The same as lower_for_h200, with factors.
Products lower(const GemmSpec& asked, GemmSelection* selection = nullptr) {
  const GemmProblem problem = must(check(asked));
  const GemmSelection chosen = must(select(problem, {.device = find_fixture("h200"),
                                                     .kernels = cuda::kernel_table(),
                                                     .threads = 1,
                                                     .forced_kernel = ""}));
  if (selection != nullptr) *selection = chosen;
  GemmOperands operands{.a = address(1), .b = address(2), .c = address(3)};
  if (problem.a_scale) operands.a_scale = reinterpret_cast<const float*>(address(5));
  if (problem.b_scale) operands.b_scale = reinterpret_cast<const float*>(address(6));
  cuda::TensorMaps maps(encode);
  Products record;
  must(cuda::lower(GemmCall{problem, operands, chosen, address(4)},
                   {.multiprocessors = 132, .maps = &maps}, record));
  return record;
}

TEST(CudaTypesLowering, MapsHave128BytesOfKAndTheTypeThatIsCopied) {
  struct Expected {
    DType operands;
    Precision precision;
    Element element;
    CUtensorMapDataType type;
    int bytes;
  };
  for (const auto& [operands, precision, element, type, bytes] :
       {Expected{DType::I8, Precision::Exact, Element::I8, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},
        {DType::F8E4M3, Precision::Exact, Element::F8E4M3, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},
        {DType::F8E5M2, Precision::Fast, Element::F8E5M2, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},
        {DType::F32, Precision::Tf32, Element::TF32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 4}}) {
    GemmSpec asked = spec(operands, DType::F32);
    asked.precision = precision;
    GemmSelection selection;
    const Products record = lower(asked, &selection);
    const auto tile = static_cast<int>(selection.kernel - cuda::kernel_table().data());
    EXPECT_EQ(record.function, cuda::gemm_wgmma_kernel(tile, element, Major::K, Major::K));
    ASSERT_NE(record.function, nullptr);
    const auto a = contents(selection.swaps_sides ? record.params->b : record.params->a);
    EXPECT_EQ(a[0], reinterpret_cast<cuuint64_t>(address(1)));
    EXPECT_EQ(a[1], static_cast<cuuint64_t>(kK));
    EXPECT_EQ(a[2], static_cast<cuuint64_t>(kM));
    EXPECT_EQ(a[4], static_cast<cuuint64_t>(kK * bytes));
    EXPECT_EQ(a[6], static_cast<cuuint64_t>(128 / bytes));
    EXPECT_EQ(a[9], static_cast<cuuint64_t>(type));
    EXPECT_EQ(a[10], static_cast<cuuint64_t>(CU_TENSOR_MAP_SWIZZLE_128B));
  }
}

TEST(CudaTypesLowering, TilesAreCompiledForTheirTypesAlone) {
  for (int tile = 0; tile < cuda::kTileCount; ++tile) {
    const KernelInfo& row = cuda::kernel_table()[static_cast<std::size_t>(tile)];
    const auto has = [&](Element element) {
      return cuda::gemm_wgmma_kernel(tile, element, Major::K, Major::K) != nullptr;
    };
    EXPECT_EQ(has(Element::BF16), row.operands.has(DType::BF16)) << row.name;
    EXPECT_EQ(has(Element::I8), row.operands.has(DType::I8)) << row.name;
    EXPECT_EQ(has(Element::F8E5M2), row.operands.has(DType::F8E5M2)) << row.name;
    EXPECT_EQ(has(Element::TF32), row.operands.has(DType::F32)) << row.name;
  }
}

TEST(CudaTypesLowering, ScalesAreInTheEpilogueOfBoxes) {
  GemmSpec asked = spec(DType::I8, DType::BF16);
  EXPECT_EQ(lower(asked).params->store, StoreMode::Boxes);
  asked.a_scale = Geometry{DType::F32, {kM}, {1}, 0};
  asked.a_granularity = Granularity::PerRow;
  const Products scaled = lower(asked);
  EXPECT_EQ(scaled.params->store, StoreMode::FusedBoxes);
  EXPECT_EQ(scaled.params->epilogue.row_scale.data, address(5));
  EXPECT_EQ(scaled.params->epilogue.row_scale.stride, 1);
  EXPECT_EQ(scaled.params->epilogue.col_scale.data, nullptr);
  asked.c.dtype = DType::F32;
  EXPECT_EQ(lower(asked).params->store, StoreMode::General);
  GemmSpec sums = spec(DType::I8, DType::I32);
  EXPECT_EQ(lower(sums).params->store, StoreMode::Fragments);
  sums.beta.value = 1;
  EXPECT_EQ(lower(sums).params->store, StoreMode::General);
}

TEST(CudaTypesLowering, FactorsOfBlocksGoToTheMainLoop) {
  GemmSpec asked = spec(DType::F8E4M3, DType::BF16);
  asked.a_scale = Geometry{DType::F32, {kM, 3}, {1, kM}, 0};
  asked.a_granularity = Granularity::PerRowBlock;
  asked.b_scale = Geometry{DType::F32, {3, 5}, {5, 1}, 0};
  asked.b_granularity = Granularity::PerBlock;
  const Products record = lower(asked);
  const GemmParams& p = *record.params;
  EXPECT_FALSE(p.transposed);
  EXPECT_EQ(p.store, StoreMode::Boxes);
  EXPECT_EQ(static_cast<const void*>(p.row_factors.data), address(5));
  EXPECT_EQ(p.row_factors.stride, 1);
  EXPECT_EQ(p.row_factors.k_stride, kM);
  EXPECT_EQ(p.row_factors.shift, 0);
  EXPECT_EQ(static_cast<const void*>(p.col_factors.data), address(6));
  EXPECT_EQ(p.col_factors.stride, 1);
  EXPECT_EQ(p.col_factors.k_stride, 5);
  EXPECT_EQ(p.col_factors.shift, 7);
}

}  // namespace
}  // namespace girih::testing
