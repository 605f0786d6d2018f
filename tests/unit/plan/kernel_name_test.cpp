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
      {"wgmma", cuda::TileForm::Cooperative},
      {"wgmmapingpong", cuda::TileForm::PingPong},
      {"wgmmacluster", cuda::TileForm::ClusterSplit}};
  const auto form = forms.find(parsed.target);
  if (form == forms.end()) return "target";
  if (form->second != row.form) return "target and form";
  if (!row.needs.has(Feature::Sm90a)) return "target's feature";
  // Tiles of one extent may differ in depth.
  if (parsed.tile_k != (row.form == cuda::TileForm::None ? 0 : row.tile_k)) return "depth";
  if ((parsed.target == "simt") != (row.path == Path::Portable)) return "target and path";
  if (parsed.types == "16bit" &&
      (!row.operands.has(DType::BF16) || !row.operands.has(DType::F16) ||
       row.operands.has(DType::F32) || row.reduction != Reduction::WgmmaF32)) {
    return "16bit";
  }
  if (multiplies && parsed.types == "f32" && row.reduction != Reduction::SequentialF32) {
    return "f32";
  }
  if (multiplies && parsed.types == "i8" && row.reduction != Reduction::ExactI32) return "i8";
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
        "cpu_gemm_16bit_128x256x64_wgmma", "cuda_gemm_16bit_128x256_avx2"}) {
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
