
#include "backends/cpu/device.hpp"
#include "backends/cuda/device.hpp"
#include "backends/metal/device.hpp"
#include "core/format.hpp"
#include "girih/commands.hpp"
#include "girih/options.hpp"
#include "girih/print.hpp"
#include "runtime/registry.hpp"

namespace girih::cli {
namespace {

struct Row {
  KernelInfo kernel;
  std::string obstacle;  ///< why it cannot run here; empty if it can
};

std::vector<Row> list_rows(std::optional<Backend> only) {
  std::vector<Row> rows;
  if (only.value_or(Backend::Cpu) == Backend::Cpu) {
    const Features here = cpu::probe().features;
    const std::span<const KernelInfo> table = cpu::kernel_table();
    for (std::size_t i = 0; i < table.size(); ++i) {
      const Features missing = here.missing(table[i].needs);
      std::string obstacle;
      if (!missing.empty()) {
        obstacle = formatted("this cpu lacks {}", describe(missing));
      } else if (!cpu::is_built(i)) {
        obstacle = "not in this build";
      }
      rows.push_back({table[i], std::move(obstacle)});
    }
  }
  if (only.value_or(Backend::Cuda) == Backend::Cuda) {
    const cuda::Probe here = cuda::probe();
    for (const KernelInfo& kernel : cuda::kernel_table()) rows.push_back({kernel, here.reason});
  }
  if (only.value_or(Backend::Metal) == Backend::Metal) {
    const metal::Probe here = metal::probe();
    for (const KernelInfo& kernel : metal::kernel_table()) {
      std::string obstacle = here.reason;
      if (const Features missing = here.info.features.missing(kernel.needs);
          obstacle.empty() && !missing.empty()) {
        obstacle = formatted("this gpu lacks {}", describe(missing));
      }
      rows.push_back({kernel, std::move(obstacle)});
    }
  }
  return rows;
}

std::vector<std::int64_t> extents_of(const KernelInfo& kernel) {
  return {kernel.tile_m, kernel.tile_n, kernel.tile_k};
}

void print_as_json(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) {
    const KernelInfo& kernel = row.kernel;
    list.push_back({{"name", kernel.name},
                    {"backend", name(kernel.backend)},
                    {"op", name(kernel.op)},
                    {"operands", to_json(kernel.operands)},
                    {"outputs", to_json(kernel.outputs)},
                    {"tile", extents_of(kernel)},
                    {"path", name(kernel.path)},
                    {"needs", to_json(kernel.needs)},
                    {"reduction", name(kernel.reduction)},
                    {"usable", row.obstacle.empty()},
                    {"reason", row.obstacle}});
  }
  print_json({{"kernels", list}});
}

void print_for_people(const std::vector<Row>& rows) {
  Table table;
  table.add({"kernel", "here", "tile", "path", "needs", "operands", "outputs"});
  for (const Row& row : rows) {
    const KernelInfo& kernel = row.kernel;
    table.add({std::string(kernel.name), row.obstacle.empty() ? "usable" : row.obstacle,
               formatted("{}", joined(extents_of(kernel), "x")), std::string(name(kernel.path)),
               describe(kernel.needs), describe(kernel.operands), describe(kernel.outputs)});
  }
  table.print();
}

struct Options {
  std::optional<Backend> backend;
  bool json = false;
};

}  // namespace

void add_kernels(CLI::App& app, Action& action) {
  CLI::App* const command =
      app.add_subcommand("kernels", "List every kernel and whether it can run here");
  const auto options = std::make_shared<Options>();
  add_choice<Backend>(*command, "--backend", options->backend,
                      {Backend::Cpu, Backend::Cuda, Backend::Metal}, "Only this backend's");
  command->add_flag("--json", options->json, "Print one JSON object instead");
  command->footer(
      "JSON: kernels [{name, backend, op, operands [dtype], outputs [dtype], tile [m, n, k],\n"
      "path, needs [feature], reduction, usable, reason}].\n\n"
      "Example:\n"
      "  girih kernels --backend cpu");
  command->callback([&action, options] {
    action = [options]() -> Result<int> {
      const std::vector<Row> rows = list_rows(options->backend);
      if (options->json) {
        print_as_json(rows);
      } else {
        print_for_people(rows);
      }
      return kDone;
    };
  });
}

}  // namespace girih::cli
