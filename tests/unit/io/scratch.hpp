#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <girih/io.hpp>

namespace girih::testing {

/// A folder of its own for each test, removed with all that is in it.
class Scratch : public ::testing::Test {
 protected:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "girih-io-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Scratch() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(std::string_view name) const { return (folder_ / name).string(); }
  std::string write(std::string_view name, std::string_view bytes) const {
    std::ofstream{path(name), std::ios::binary}.write(bytes.data(),
                                                      static_cast<std::streamsize>(bytes.size()));
    return path(name);
  }
  [[nodiscard]] std::string read(std::string_view name) const {
    std::ifstream file{path(name), std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }
  /// Names in the folder, sorted.
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator{folder_}) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::filesystem::path folder_;
};

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string bytes_of(const HostArray& array) {
  return {reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size()};
}

/// A row-major view of `values`.
template <class T>
HostView view_of(DType dtype, const Shape& shape, const std::vector<T>& values) {
  Strides strides{};
  std::int64_t step = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    strides[static_cast<std::size_t>(d)] = step;
    step *= shape[d];
  }
  return {dtype, shape, strides, std::as_bytes(std::span{values})};
}

/// One error of this code whose message is one line that names the file and holds `fragment`.
inline void expect_error(const Error& error, Code code, std::string_view file,
                         std::string_view fragment) {
  EXPECT_EQ(name(error.code), name(code)) << error.message;
  EXPECT_NE(error.message.find(file), std::string::npos) << error.message;
  EXPECT_NE(error.message.find(fragment), std::string::npos)
      << error.message << "\nlacks: " << fragment;
  EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
}

}  // namespace girih::testing
