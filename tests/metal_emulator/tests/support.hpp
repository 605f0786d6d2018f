#pragma once

#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "emulator/kernel.hpp"
#include "emulator/memory.hpp"

namespace girih::inline v0::emulator {

/// Device memory for a test.
class DeviceArray {
 public:
  DeviceArray(std::size_t bytes, const std::string& label)
      : data_(allocate_buffer(bytes, label)), bytes_(bytes) {}
  template <class T>
  DeviceArray(const std::vector<T>& values, const std::string& label)
      : DeviceArray(values.size() * sizeof(T), label) {
    std::memcpy(data_, values.data(), bytes_);
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { free_buffer(data_); }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  template <class T>
  [[nodiscard]] std::vector<T> values() const {
    std::vector<T> result(bytes_ / sizeof(T));
    std::memcpy(result.data(), data_, result.size() * sizeof(T));
    return result;
  }

 private:
  std::byte* data_;
  std::size_t bytes_;
};

/// The configuration as it was, after a test that changes it.
class ConfigScope {
 public:
  ~ConfigScope() { config() = before_; }

 private:
  Config before_ = config();
};

/// Runs a kernel of a test library; what was found, if anything.
inline std::optional<Finding> run(const char* library, const char* kernel,
                                  std::initializer_list<const DeviceArray*> buffers, Dim3 groups,
                                  Dim3 threads, std::size_t threadgroup_bytes = 0) {
  const Library* const found = find_library_named(library);
  if (found == nullptr) return Finding{"test", std::string("no library ") + library};
  const Kernel* const row = find_kernel(*found, kernel);
  if (row == nullptr) return Finding{"test", std::string("no kernel ") + kernel};
  Arguments arguments;
  std::size_t index = 0;
  for (const DeviceArray* buffer : buffers) {
    arguments.buffers[index++] = buffer != nullptr ? buffer->data() : nullptr;
  }
  arguments.threadgroup_bytes[0] = threadgroup_bytes;
  order_dispatches();
  try {
    dispatch(*row, arguments, groups, threads);
  } catch (const Finding& finding) {
    return finding;
  }
  return std::nullopt;
}

/// Lines of tests/kernels/FILE with a comment "// fault: ... NAME ...".
std::vector<int> marked_lines(const std::string& file, const std::string& name);

/// A finding of one of these kinds ("race uninitialised") that names a marked line of the source.
::testing::AssertionResult found_at(const std::optional<Finding>& finding, const std::string& kinds,
                                    const std::string& file, const std::string& name);

}  // namespace girih::inline v0::emulator
