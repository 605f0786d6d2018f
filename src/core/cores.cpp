#include "core/cores.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace girih::inline v0 {
namespace {

/// CPUs of "0-3,8,10-11" in a file of one line.
std::vector<int> read_cpu_list(const std::string& path) {
  std::vector<int> cpus;
  std::ifstream file(path);
  int first = 0;
  while (file >> first) {
    int last = first;
    if (file.peek() == '-') file.ignore() >> last;
    for (int cpu = first; cpu <= last && cpus.size() < 65536; ++cpu) cpus.push_back(cpu);
    if (file.peek() == ',') file.ignore();
  }
  return cpus;
}

#if defined(__linux__)
std::vector<int> affinity_mask() {
  for (int capacity = 1024; capacity <= 65536; capacity *= 4) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(capacity));
    if (set == nullptr) return {};
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(capacity));
    std::vector<int> cpus;
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; known && cpu < capacity; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (known) return cpus;
  }
  return {};
}

/// Cores in the affinity mask; a hardware thread whose sibling was counted is not.
int affinity_cores() {
  const std::vector<int> cpus = affinity_mask();
  int cores = 0;
  for (const int cpu : cpus) {
    const std::vector<int> siblings = read_cpu_list(
        "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
    const bool counted = std::any_of(siblings.begin(), siblings.end(), [&](int sibling) {
      return sibling < cpu && std::binary_search(cpus.begin(), cpus.end(), sibling);
    });
    if (!counted) ++cores;
  }
  return cores;
}

double read_number(const std::string& path, double otherwise) {
  std::ifstream file(path);
  double value = otherwise;
  return file >> value ? value : otherwise;
}

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

/// Quota of one group of the unified hierarchy: "max 100000" or "150000 100000".
double unified_quota(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return kNoQuota;
  return std::strtod(quota.c_str(), nullptr) / period;
}

double legacy_quota(const std::string& folder) {
  const double quota = read_number(folder + "/cpu.cfs_quota_us", -1);
  const double period = read_number(folder + "/cpu.cfs_period_us", 0);
  return quota > 0 && period > 0 ? quota / period : kNoQuota;
}

/// The least quota of the group at `path` and of those around it.
double quota_of_path(const std::string& root, std::string path,
                     double (*quota)(const std::string&)) {
  double least = quota(root);
  while (path.size() > 1) {
    least = std::min(least, quota(root + path));
    path.resize(path.rfind('/'));
  }
  return least;
}

/// CPU quota of this process's control groups, in cores.
double group_quota() {
  std::ifstream groups("/proc/self/cgroup");
  double least = kNoQuota;
  for (std::string line; std::getline(groups, line);) {  // "id:controllers:/path"
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos || second + 1 >= line.size() || line[second + 1] != '/')
      continue;
    std::string controllers = line.substr(first, second - first);  // ":cpu,cpuacct"
    controllers.front() = ',';
    controllers += ',';
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") {
      least = std::min(least, quota_of_path("/sys/fs/cgroup", path, unified_quota));
    } else if (controllers.find(",cpu,") != std::string::npos) {
      least = std::min(least, quota_of_path("/sys/fs/cgroup/cpu", path, legacy_quota));
    }
  }
  return least;
}
#else
int affinity_cores() {
  return static_cast<int>(std::thread::hardware_concurrency());
}
double group_quota() {
  return std::numeric_limits<double>::infinity();
}
#endif

}  // namespace

int usable_cores() noexcept {
  try {
    int cores = affinity_cores();
    if (cores < 1) cores = static_cast<int>(std::thread::hardware_concurrency());
    const double quota = std::floor(group_quota());
    if (quota < cores) cores = static_cast<int>(quota);
    return std::max(cores, 1);
  } catch (...) {
    return 1;
  }
}

}  // namespace girih::inline v0
