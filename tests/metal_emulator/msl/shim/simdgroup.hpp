#pragma once

#include "shim/types.hpp"

// What the lanes of a SIMD group exchange.

namespace metal {
namespace shim {

template <class T>
struct Exchange {
  T value;
  T result;
  int argument;
  Site site;
};

template <class Function, class T>
GIRIH_EMULATOR_UNCHECKED void lead(void** payloads, unsigned count) {
  Exchange<T>* lanes[emulator::kSimdWidth] = {};
  for (unsigned i = 0; i < count; ++i) lanes[i] = static_cast<Exchange<T>*>(payloads[i]);
  Function::run(lanes);
}

/// All lanes meet; Function::run fills in their results from an array with null for absent lanes.
template <class Function, class T>
inline T exchange(T value, int argument, Site site) {
  Exchange<T> mine{value, value, argument, site};
  emulator::rendezvous(Scope::Simd, site, &mine, &lead<Function, T>);
  return mine.result;
}

/// In halves, as a machine does it, so that nothing relies on a sequential sum.
template <class Operation>
struct Reduction {
  template <class T>
  static void run(Exchange<T>* (&lanes)[emulator::kSimdWidth]) {
    T sum[emulator::kSimdWidth];
    bool is_there[emulator::kSimdWidth];
    for (unsigned i = 0; i < emulator::kSimdWidth; ++i) {
      is_there[i] = lanes[i] != nullptr;
      sum[i] = is_there[i] ? lanes[i]->value : T(0);
    }
    for (unsigned step = emulator::kSimdWidth / 2; step > 0; step /= 2) {
      for (unsigned i = 0; i < step; ++i) {
        if (!is_there[i + step]) continue;
        sum[i] = is_there[i] ? Operation::apply(sum[i], sum[i + step]) : sum[i + step];
        is_there[i] = true;
      }
    }
    for (Exchange<T>* lane : lanes) {
      if (lane != nullptr) lane->result = sum[0];
    }
  }
};
struct Add {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct Larger {
  template <class T>
  static T apply(T a, T b) {
    return a > b ? a : b;
  }
};
struct Smaller {
  template <class T>
  static T apply(T a, T b) {
    return a < b ? a : b;
  }
};

enum class Source { Lane, Xor, Down, Up };
template <Source kSource>
struct Shuffle {
  template <class T>
  static void run(Exchange<T>* (&lanes)[emulator::kSimdWidth]) {
    constexpr int kWidth = emulator::kSimdWidth;
    for (int i = 0; i < kWidth; ++i) {
      if (lanes[i] == nullptr) continue;
      const int argument = lanes[i]->argument;
      const int from = kSource == Source::Lane   ? argument
                       : kSource == Source::Xor  ? i ^ argument
                       : kSource == Source::Down ? i + argument
                                                 : i - argument;
      const bool is_there = from >= 0 && from < kWidth && lanes[from] != nullptr;
      if (is_there) {
        lanes[i]->result = lanes[from]->value;
      } else if (kSource == Source::Lane || kSource == Source::Xor) {
        emulator::fail_at("divergence", "a shuffle from a lane that is absent", lanes[i]->site);
      }
    }
  }
};

struct ExclusiveSum {
  template <class T>
  static void run(Exchange<T>* (&lanes)[emulator::kSimdWidth]) {
    T sum = T(0);
    for (Exchange<T>* lane : lanes) {
      if (lane == nullptr) continue;
      lane->result = sum;
      sum = static_cast<T>(sum + lane->value);
    }
  }
};

}  // namespace shim

#define GIRIH_SHIM_SIMD(name, ...)                                    \
  template <class T>                                                  \
  inline T name(T value, shim::Site site = shim::Site::here(#name)) { \
    return shim::exchange<__VA_ARGS__>(value, 0, site);               \
  }
#define GIRIH_SHIM_SHUFFLE(name, source)                                           \
  template <class T>                                                               \
  inline T name(T value, ushort lane, shim::Site site = shim::Site::here(#name)) { \
    return shim::exchange<shim::Shuffle<shim::Source::source>>(value, lane, site); \
  }
GIRIH_SHIM_SIMD(simd_sum, shim::Reduction<shim::Add>)
GIRIH_SHIM_SIMD(simd_max, shim::Reduction<shim::Larger>)
GIRIH_SHIM_SIMD(simd_min, shim::Reduction<shim::Smaller>)
GIRIH_SHIM_SIMD(simd_prefix_exclusive_sum, shim::ExclusiveSum)
GIRIH_SHIM_SHUFFLE(simd_shuffle, Lane)
GIRIH_SHIM_SHUFFLE(simd_broadcast, Lane)
GIRIH_SHIM_SHUFFLE(simd_shuffle_xor, Xor)
GIRIH_SHIM_SHUFFLE(simd_shuffle_down, Down)
GIRIH_SHIM_SHUFFLE(simd_shuffle_up, Up)
#undef GIRIH_SHIM_SHUFFLE
#undef GIRIH_SHIM_SIMD

}  // namespace metal
