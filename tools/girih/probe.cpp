#include <array>

#include <girih/version.hpp>

#include "backends/cpu/device.hpp"
#include "backends/cuda/device.hpp"
#include "backends/metal/device.hpp"
#include "core/format.hpp"
#include "girih/commands.hpp"
#include "girih/print.hpp"
#include "plan/device_info.hpp"
#include "runtime/registry.hpp"

namespace girih::cli {
namespace {

struct BackendState {
  Backend backend = Backend::None;
  std::string state;  ///< "usable", "not built", or why it cannot run
  int threads = 0;    ///< of the CPU backend, if it is usable
};

BackendState state_of(Backend backend) {
  const bool is_built = backend == Backend::Cuda    ? cuda::is_built()
                        : backend == Backend::Metal ? metal::is_built()
                                                    : !kernels_of(backend).empty();
  if (!is_built) return {backend, "not built"};
  const Result<Environment> environment = read_environment();
  if (!environment) return {backend, environment.error().message};
  const auto device = open_device({.backend = backend}, *environment);
  if (!device) return {backend, device.error().message};
  return {backend, "usable", (*device)->threads()};
}

void print_as_json(const DeviceInfo& cpu, const std::vector<BackendState>& states) {
  Json backends = Json::array();
  for (const BackendState& state : states) {
    backends.push_back({{"name", name(state.backend)},
                        {"usable", state.state == "usable"},
                        {"state", state.state}});
  }
  print_json({{"version", version()},
              {"cpu",
               {{"name", cpu.name},
                {"features", to_json(cpu.features)},
                {"cores", cpu.cores},
                {"threads", states.front().threads},
                {"clock_ghz", cpu.clock_ghz},
                {"l1_bytes", cpu.l1_bytes},
                {"l2_bytes", cpu.l2_bytes},
                {"l3_bytes", cpu.l3_bytes},
                {"memory_bytes", cpu.memory_bytes}}},
              {"backends", backends}});
}

void print_for_people(const DeviceInfo& cpu, const std::vector<BackendState>& states) {
  Table table;
  table.add({"girih", version()});
  table.add({"cpu", cpu.name});
  table.add({"features", describe(cpu.features)});
  table.add(
      {"cores", formatted("{} usable, {} threads by default", cpu.cores, states.front().threads)});
  table.add({"caches", formatted("L1 {}, L2 {} a core, L3 {}", show_bytes(cpu.l1_bytes),
                                 show_bytes(cpu.l2_bytes), show_bytes(cpu.l3_bytes))});
  table.add({"memory", show_bytes(cpu.memory_bytes)});
  for (const BackendState& state : states) {
    table.add({formatted("backend {}", name(state.backend)), state.state});
  }
  table.print();
}

}  // namespace

void add_probe(CLI::App& app, Action& action) {
  CLI::App* const command = app.add_subcommand("probe", "Show this machine and the backends");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print one JSON object instead");
  command->footer(
      "JSON: version; cpu {name, features [name], cores, threads, clock_ghz, l1_bytes, l2_bytes,\n"
      "l3_bytes, memory_bytes}; backends [{name, usable, state}].\n\n"
      "Example:\n"
      "  girih probe --json");
  command->callback([&action, json] {
    action = [json]() -> Result<int> {
      const DeviceInfo cpu = cpu::probe();
      std::vector<BackendState> states;
      for (const Backend backend : {Backend::Cpu, Backend::Cuda, Backend::Metal}) {
        states.push_back(state_of(backend));
      }
      if (*json) {
        print_as_json(cpu, states);
      } else {
        print_for_people(cpu, states);
      }
      return kDone;
    };
  });
}

}  // namespace girih::cli
