#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include <girih/io.hpp>

namespace girih::cli {

/// One array on disk: FILE.npy, or FILE.safetensors:NAME. The last ".safetensors:" ends the file's
/// name, so folders may hold colons.
struct OperandFile {
  std::string path;
  std::string tensor;  ///< name inside a safetensors file
  bool is_safetensors = false;

  /// As it is written on the command line.
  [[nodiscard]] std::string text() const { return is_safetensors ? path + ':' + tensor : path; }
};

/// Adds an option for one; what is neither form is a usage error.
CLI::Option* add_operand(CLI::App& app, const std::string& flag, std::optional<OperandFile>& target,
                         const std::string& help);

Result<ArrayInfo> inspect(const OperandFile& file);
Result<HostArray> load(const OperandFile& file);
/// Refuses what `save` would refuse by type or place, before the work is done.
Status check_output(const OperandFile& file, DType dtype, const Shape& shape);
Status save(const OperandFile& file, const HostView& view);
/// True if both are the same existing file, by whatever paths.
bool same_file(const OperandFile& a, const OperandFile& b);

}  // namespace girih::cli
