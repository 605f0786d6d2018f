#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <unistd.h>

#include "backends/cpu/device.hpp"
#include "core/cores.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#endif

namespace girih::inline v0::cpu {
namespace {

/// First word of a one-line file, or "".
std::string read_word(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

/// "512K", "32M" or "65536" in bytes.
std::int64_t parse_size(const std::string& text) {
  char* end = nullptr;
  const std::int64_t value = std::strtoll(text.c_str(), &end, 10);
  return value * (*end == 'K' ? 1024 : *end == 'M' ? 1024 * 1024 : 1);
}

struct Caches {
  std::int64_t l1 = 32 * 1024, l2 = 512 * 1024, l3 = 0;
};

/// Data caches of the first core, from sysfs; typical sizes where it has none.
Caches read_caches() {
  Caches caches;
  for (int index = 0; index < 8; ++index) {
    const std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    const std::string level = read_word(folder + "level");
    if (level.empty()) break;
    if (read_word(folder + "type") == "Instruction") continue;
    const std::int64_t bytes = parse_size(read_word(folder + "size"));
    if (bytes <= 0) continue;
    if (level == "1") caches.l1 = bytes;
    if (level == "2") caches.l2 = bytes;
    if (level == "3") caches.l3 = bytes;
  }
  return caches;
}

/// Maximum frequency, else the current one, else 3.
double read_clock_ghz() {
  const std::string khz = read_word("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  const double maximum = std::strtod(khz.c_str(), nullptr) * 1e-6;
  if (maximum > 0.1) return maximum;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("cpu MHz", 0) != 0) continue;
    const double mhz = std::strtod(line.c_str() + line.find(':') + 1, nullptr);
    if (mhz > 100) return mhz * 1e-3;
  }
  return 3;
}

#if defined(__x86_64__)
struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

/// One leaf; zeros where the processor has none.
Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d) == 0) return {};
  return r;
}

bool all(unsigned word, std::initializer_list<int> bits) {
  return std::all_of(bits.begin(), bits.end(), [&](int bit) { return (word >> bit & 1U) != 0; });
}

/// Register state that the system saves; 0 if it does not say.
std::uint64_t saved_state() {
  constexpr int kOsxsave = 27;
  if (!all(cpuid(1).c, {kOsxsave})) return 0;
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

/// True if the kernel would let this process use AMX tiles. Asks without requesting them.
bool system_offers_tiles() {
#if defined(__linux__)
  constexpr long kGetSupportedState = 0x1021;  // ARCH_GET_XCOMP_SUPP
  constexpr int kTileData = 18;
  std::uint64_t state = 0;
  return syscall(SYS_arch_prctl, kGetSupportedState, &state) == 0 && (state >> kTileData & 1) != 0;
#else
  return false;
#endif
}

Features read_features() {
  constexpr std::uint64_t kAvxState = 0x6, kAvx512State = 0xE6, kTileState = 0x60000;
  const std::uint64_t state = saved_state();
  const Registers basic = cpuid(1), extended = cpuid(7), more = cpuid(7, 1);
  Features features;
  // FMA, AVX, F16C, PCLMUL, AES; AVX2, BMI1, BMI2: everything that the unit is compiled with.
  if ((state & kAvxState) != kAvxState || !all(basic.c, {1, 12, 25, 28, 29}) ||
      !all(extended.b, {3, 5, 8})) {
    return features;
  }
  features.add(Feature::Avx2);
  // F, DQ, CD, BW, VL.
  if ((state & kAvx512State) == kAvx512State && all(extended.b, {16, 17, 28, 30, 31})) {
    features.add(Feature::Avx512);
    if (all(extended.c, {11})) features.add(Feature::Avx512Vnni);
    if (all(more.a, {5})) features.add(Feature::Avx512Bf16);
    if (all(extended.d, {23})) features.add(Feature::Avx512Fp16);
  }
  if ((state & kTileState) == kTileState && all(extended.d, {24}) && system_offers_tiles()) {
    if (all(extended.d, {22})) features.add(Feature::AmxBf16);
    if (all(extended.d, {25})) features.add(Feature::AmxInt8);
  }
  return features;
}

std::string read_name() {
  std::array<char, 49> brand{};
  for (unsigned i = 0; i < 3; ++i) {
    const Registers r = cpuid(0x80000002U + i);
    const unsigned words[4] = {r.a, r.b, r.c, r.d};
    std::memcpy(brand.data() + 16 * i, words, sizeof words);
  }
  const std::string name(brand.data());
  const std::size_t first = name.find_first_not_of(' ');
  if (first == std::string::npos) return "x86-64";
  return name.substr(first, name.find_last_not_of(' ') - first + 1);
}
#elif defined(__aarch64__)
// Advanced SIMD with FMA is part of the architecture's baseline.
Features read_features() {
  return {Feature::Neon};
}
std::string read_name() {
  return "aarch64";
}
#else
Features read_features() {
  return {};
}
std::string read_name() {
  return "cpu";
}
#endif

}  // namespace

DeviceInfo probe() {
  const Caches caches = read_caches();
  DeviceInfo info;
  info.backend = Backend::Cpu;
  info.name = read_name();
  info.features = read_features();
  info.cores = usable_cores();
  info.clock_ghz = read_clock_ghz();
  info.l1_bytes = caches.l1;
  info.l2_bytes = caches.l2;
  info.l3_bytes = caches.l3;
  // One core draws about 12 GB/s, a socket of many cores saturates near 200.
  info.memory_gb_per_s = std::min(12.0 * info.cores, 200.0);
  info.memory_bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return info;
}

}  // namespace girih::inline v0::cpu
