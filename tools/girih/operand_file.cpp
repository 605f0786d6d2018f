#include "girih/operand_file.hpp"

#include <array>
#include <string_view>
#include <sys/stat.h>

#include "core/error.hpp"
#include "core/format.hpp"
#include "io/file.hpp"
#include "io/npy_header.hpp"

namespace girih::cli {
namespace {

constexpr std::string_view kContainer = ".safetensors";

OperandFile parse(const std::string& flag, const std::string& text) {
  const std::size_t at = text.rfind(formatted("{}:", kContainer));
  if (at != std::string::npos && at > 0) {
    const std::size_t colon = at + kContainer.size();
    if (colon + 1 == text.size()) {
      throw CLI::ValidationError(flag, formatted("'{}' must name a tensor after the ':'", text));
    }
    return {text.substr(0, colon), text.substr(colon + 1), true};
  }
  const std::string_view view = text;
  if (view.ends_with(kContainer)) {
    throw CLI::ValidationError(flag, formatted("'{}' must name a tensor: {}:NAME", text, text));
  }
  if (!view.ends_with(".npy")) {
    throw CLI::ValidationError(flag,
                               formatted("'{}' must be FILE.npy or FILE.safetensors:NAME", text));
  }
  return {text, {}, false};
}

}  // namespace

CLI::Option* add_operand(CLI::App& app, const std::string& flag, std::optional<OperandFile>& target,
                         const std::string& help) {
  const auto take = [&target, flag](const std::string& text) { target = parse(flag, text); };
  return app.add_option_function<std::string>(flag, take, help)->type_name("FILE");
}

Result<ArrayInfo> inspect(const OperandFile& file) {
  if (!file.is_safetensors) return inspect_npy(file.path);
  const Result<Safetensors> container = Safetensors::open(file.path);
  if (!container) return container.error();
  return container->inspect(file.tensor);
}

Result<HostArray> load(const OperandFile& file) {
  if (!file.is_safetensors) return read_npy(file.path);
  const Result<Safetensors> container = Safetensors::open(file.path);
  if (!container) return container.error();
  return container->read(file.tensor);
}

Status check_output(const OperandFile& file, DType dtype, const Shape& shape) {
  if (!file.is_safetensors) {
    const Result<std::string> header = format_npy_header(dtype, shape, file.path);
    if (!header) return header.error();
  }
  // Made beside the output, and removed again on return.
  const Result<OutputFile> trial = OutputFile::create(file.path);
  if (!trial) return trial.error();
  return {};
}

Status save(const OperandFile& file, const HostView& view) {
  if (!file.is_safetensors) return write_npy(file.path, view);
  return write_safetensors(file.path, std::array{NamedView{file.tensor, view}});
}

bool same_file(const OperandFile& a, const OperandFile& b) {
  struct stat first {};
  struct stat second {};
  return ::stat(a.path.c_str(), &first) == 0 && ::stat(b.path.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace girih::cli
