#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "backends/cpu/device.hpp"
#include "backends/cuda/device.hpp"
#include "backends/metal/device.hpp"
#include "plan/kernel_info.hpp"

namespace girih {
namespace {

/// The words of <backend>_<op>_<types>_<tile>_<target>; a tile is rows x columns, or x depth too.
struct KernelName {
  std::string backend, op, types, target;
  long tile_m = 0, tile_n = 0, tile_k = 0;
};

std::optional<KernelName> parse(std::string_view text) {
  std::vector<std::string> words;
  std::istringstream stream{std::string(text)};
  for (std::string word; std::getline(stream, word, '_');) words.push_back(word);
  // One operation has two words.
  if (words.size() == 6 && words[1] == "grouped") {
    words[1] += "_" + words[2];
    words.erase(words.begin() + 2);
  }
  if (words.size() != 5) return std::nullopt;
  for (const std::string& word : words) {
    if (word.empty() ||
        word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos) {
      return std::nullopt;
    }
  }
  KernelName name{words[0], words[1], words[2], words[4]};
  char between = 0;
  std::istringstream tile(words[3]);
  if (!(tile >> name.tile_m >> between >> name.tile_n) || between != 'x') return std::nullopt;
  if (!tile.eof() && (!(tile >> between >> name.tile_k) || between != 'x')) return std::nullopt;
  if (!tile.eof()) return std::nullopt;
  return name;
}

/// Of the words that only rows of the cuda backend have.
std::string cuda_disagreement(const KernelInfo& row, const KernelName& parsed) {
  const bool multiplies = row.op == Op::Gemm || row.op == Op::GroupedGemm;
  const std::map<std::string, cuda::TileForm> forms = {
      {"simt", cuda::TileForm::None},
      {"skinny", cuda::TileForm::None},
      {"mma", cuda::TileForm::None},
      {"wgmma", cuda::TileForm::Cooperative},
      {"wgmmapingpong", cuda::TileForm::PingPong},
      {"wgmmacluster", cuda::TileForm::ClusterSplit}};
  const auto form = forms.find(parsed.target);
  if (form == forms.end()) return "target";
  if (form->second != row.form) return "target and form";
  const bool is_wgmma = row.form != cuda::TileForm::None;
  if (is_wgmma != row.needs.has(Feature::Sm90a) || is_wgmma == row.needs.has(Feature::Sm80)) {
    return "target's feature";
  }
  // Tiles of one extent may differ in depth.
  if (parsed.tile_k != (row.form == cuda::TileForm::None ? 0 : row.tile_k)) return "depth";
  if ((parsed.target == "skinny") != row.skinny) return "target and skinny";
  if (row.skinny) {
    if ((parsed.types == "f32") != (row.path == Path::Portable)) return "types and path";
    const bool is_exact = row.reduction == Reduction::ExactI32;
    if (!is_exact && row.reduction != Reduction::SlicedF32) return "target and reduction";
    return is_exact == row.operands.has(DType::I8) ? "" : "i8";
  }
  if ((parsed.target == "mma") != row.mma) return "target and mma";
  if ((parsed.target == "simt") != (row.path == Path::Portable)) return "target and path";
  const Reduction sum_of_halves = is_wgmma  ? Reduction::WgmmaF32
                                  : row.mma ? Reduction::MmaF32
                                            : Reduction::SequentialF32;
  if (parsed.types == "16bit" && (!row.operands.has(DType::BF16) || !row.operands.has(DType::F16) ||
                                  row.operands.has(DType::F32) || row.reduction != sum_of_halves)) {
    return "16bit";
  }
  if ((parsed.types == "f32x3") != row.splits_f32 ||
      (row.splits_f32 && (!row.operands.has(DType::F32) || row.operands.has(DType::BF16) ||
                          row.reduction != Reduction::WgmmaPartsF32))) {
    return "f32x3";
  }
  if (multiplies && parsed.types == "f32" && row.reduction != Reduction::SequentialF32) {
    return "f32";
  }
  if (multiplies && parsed.types == "i8" && row.reduction != Reduction::ExactI32) {
    return "i8";
  }
  if (row.form == cuda::TileForm::None && !row.mma) return {};
  struct Types {
    DType operands;
    Reduction reduction;
    std::optional<Precision> precision;
    int bytes;
  };
  const std::map<std::string, Types> types = {
      {"16bit", {DType::BF16, Reduction::WgmmaF32, {}, 2}},
      {"f32x3", {DType::F32, Reduction::WgmmaPartsF32, {}, 2}},
      {"i8", {DType::I8, Reduction::ExactI32, {}, 1}},
      {"f8", {DType::F8E4M3, Reduction::WgmmaF8, Precision::Exact, 1}},
      {"f8block", {DType::F8E4M3, Reduction::WgmmaF8, Precision::Exact, 1}},
      {"f8fast", {DType::F8E4M3, Reduction::WgmmaF8Fast, Precision::Fast, 1}},
      {"tf32", {DType::F32, Reduction::WgmmaTf32, Precision::Tf32, 4}}};
  const std::map<std::string, Types> mma_types = {
      {"16bit", {DType::BF16, Reduction::MmaF32, {}, 2}},
      {"i8", {DType::I8, Reduction::ExactI32, {}, 2}},
      {"f8", {DType::F8E4M3, Reduction::MmaF32, {}, 2}},
      {"tf32", {DType::F32, Reduction::MmaTf32, Precision::Tf32, 2}}};
  const auto& known = row.mma ? mma_types : types;
  const auto found = known.find(parsed.types);
  if (found == known.end()) return "types";
  const auto& [operands, reduction, precision, bytes] = found->second;
  if (!row.operands.has(operands) || row.reduction != reduction || row.precision != precision ||
      row.operand_bytes != bytes || row.scales_blocks != (parsed.types == "f8block")) {
    return "types and what they are";
  }
  return {};
}

/// Of the words that only rows of the metal backend have.
std::string metal_disagreement(const KernelInfo& row, const KernelName& parsed) {
  if (parsed.tile_k != 0) return "depth";
  const bool is_tensor = parsed.target == "tensorops";
  if (!is_tensor && parsed.target != "simdgroup" && parsed.target != "simt") return "target";
  if (!row.needs.has(Feature::Metal4)) return "target's feature";
  if (is_tensor != row.needs.has(Feature::TensorOps)) return "target and features";
  if (is_tensor != (row.path == Path::Matrix)) return "target and path";
  if (row.op != Op::Gemm) return parsed.target == "simt" ? "" : "target and op";
  if (row.flops_per_cycle <= 0) return "flops";
  const bool is_integer = row.operands.has(DType::I8);
  if ((parsed.types == "i8") != is_integer) return "i8";
  if (is_integer != (row.reduction == Reduction::ExactI32)) return "i8";
  if (is_integer) return {};
  const Reduction sum = is_tensor ? Reduction::TensorOpsF32 : Reduction::SimdgroupF32;
  if (row.reduction != sum) return "target and reduction";
  const bool is_single = row.operands.has(DType::F32);
  if (row.multiplies_tf32 != (is_single && is_tensor)) return "f32 on a unit that truncates it";
  if ((parsed.types == "f32") != is_single) return "f32";
  if ((parsed.types == "16bit") != row.operands.has(DType::BF16)) return "16bit";
  return {};
}

/// Why a row's name does not say what its fields say; empty if it does.
std::string disagreement(const KernelInfo& row) {
  const std::optional<KernelName> parsed = parse(row.name);
  if (!parsed) return "is not <backend>_<op>_<types>_<tile>_<target>";
  if (parsed->backend != name(row.backend)) return "backend";
  if (parsed->op != name(row.op)) return "op";
  if (parsed->tile_m != row.tile_m || parsed->tile_n != row.tile_n) return "tile";
  if (row.backend == Backend::Cuda) return cuda_disagreement(row, *parsed);
  if (row.backend == Backend::Metal) return metal_disagreement(row, *parsed);
  if (parsed->tile_k != 0) return "depth";
  const std::set<std::string> targets = {"scalar", "avx2", "avx512", "neon", "amx"};
  if (targets.count(parsed->target) == 0) return "target";
  if ((parsed->target == "scalar") != row.needs.empty()) return "target and features";
  if ((parsed->target == "scalar") != (row.path == Path::Portable)) return "target and path";
  for (const Feature feature : {Feature::Avx2, Feature::Avx512, Feature::Neon}) {
    if (parsed->target == name(feature) && !row.needs.has(feature)) return "target's feature";
  }
  if (row.op == Op::Gemm) {
    if (parsed->types == "i8" &&
        (!row.operands.has(DType::I8) || row.reduction != Reduction::ExactI32)) {
      return "i8";
    }
    if (parsed->types == "f32" && (!row.operands.has(DType::F32) || row.operands.has(DType::I8) ||
                                   row.reduction != Reduction::SequentialF32)) {
      return "f32";
    }
    if (row.flops_per_cycle <= 0) return "flops";
  }
  return {};
}

TEST(KernelNameTest, EveryRowIsNamedByItsFields) {
  std::set<std::string_view> names;
  for (const auto table : {cpu::kernel_table(), cuda::kernel_table(), metal::kernel_table()}) {
    ASSERT_FALSE(table.empty());
    for (const KernelInfo& row : table) {
      EXPECT_EQ(disagreement(row), "") << row.name;
      EXPECT_TRUE(names.insert(row.name).second) << row.name << " is there twice";
    }
  }
}

TEST(KernelNameTest, EveryOperationHasARowThatRunsAnywhere) {
  for (const Op op : {Op::Gemm, Op::Copy, Op::Cast, Op::Fill}) {
    bool found = false;
    for (std::size_t i = 0; i < cpu::kernel_table().size(); ++i) {
      const KernelInfo& row = cpu::kernel_table()[i];
      found = found || (row.op == op && row.needs.empty() && cpu::is_built(i));
    }
    EXPECT_TRUE(found) << name(op);
  }
}

TEST(KernelNameTest, WrongRowsAreCaught) {
  KernelInfo row = cpu::kernel_table().front();
  ASSERT_EQ(disagreement(row), "");
  for (const char* wrong :
       {"cpu_gemm_f32_scalar", "cpu_gemm_f32_4x_scalar", "cpu_gemm_f32_4x5_scalar",
        "cuda_gemm_f32_4x4_scalar", "cpu_copy_f32_4x4_scalar", "cpu_gemm_f32_4x4_avx2",
        "cpu_gemm_f32_4x4_sse", "cpu_gemm_i8_4x4_scalar", "cpu_Gemm_f32_4x4_scalar",
        "cpu_gemm_f32_4x4_scalar_v2", "cpu_gemm_f32_4x4x1_scalar"}) {
    row.name = wrong;
    EXPECT_NE(disagreement(row), "") << wrong;
  }
  row = cuda::kernel_table().front();
  ASSERT_EQ(disagreement(row), "");
  for (const char* wrong :
       {"cuda_gemm_16bit_128x256x64_wgmmapingpong", "cuda_gemm_16bit_128x192x64_wgmma",
        "cuda_gemm_16bit_128x256_wgmma", "cuda_gemm_16bit_128x256x128_wgmma",
        "cuda_gemm_f32_128x256_wgmma", "cuda_gemm_16bit_128x256_simt", "cuda_gemm_16bit_wgmma",
        "cpu_gemm_16bit_128x256x64_wgmma", "cuda_gemm_16bit_128x256_avx2",
        "cuda_gemm_f8_128x256x64_wgmma", "cuda_gemm_tf32_128x256x64_wgmma",
        "cuda_gemm_9bit_128x256x64_wgmma"}) {
    row.name = wrong;
    EXPECT_NE(disagreement(row), "") << wrong;
  }
  row = metal::kernel_table().front();
  ASSERT_EQ(disagreement(row), "");
  for (const char* wrong :
       {"metal_gemm_16bit_64x64_tensorops", "metal_gemm_16bit_128x64_simdgroup",
        "metal_gemm_f32_128x64_tensorops", "metal_gemm_16bit_128x64_wgmma",
        "cuda_gemm_16bit_128x64_tensorops", "metal_copy_16bit_128x64_tensorops"}) {
    row.name = wrong;
    EXPECT_NE(disagreement(row), "") << wrong;
  }
}

}  // namespace
}  // namespace girih
