#include "backends/cuda/image.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <string>

#include "support/expect.hpp"

namespace girih::testing {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
void put(Bytes& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

/// A header of 64 bytes and two sections of 64, as `read_image` gives it.
Bytes cubin() {
  Bytes bytes(64 + 2 * 64 + 1);
  put(bytes, 0, std::uint32_t{0x464C457F});
  put(bytes, 18, std::uint16_t{190});
  put(bytes, 40, std::uint64_t{64});
  put(bytes, 58, std::uint16_t{64});
  put(bytes, 60, std::uint16_t{2});
  return bytes;
}
Bytes fatbin() {
  Bytes bytes(16 + 100 + 1);
  put(bytes, 0, std::uint32_t{0xBA55ED50});
  put(bytes, 6, std::uint16_t{16});
  put(bytes, 8, std::uint64_t{100});
  return bytes;
}
Bytes text(std::string_view contents) {
  Bytes bytes(contents.size() + 1);
  std::memcpy(bytes.data(), contents.data(), contents.size());
  return bytes;
}

TEST(CudaImage, CubinsFatbinsAndPtxPass) {
  EXPECT_TRUE(succeeded(cuda::check_image(cubin())));
  EXPECT_TRUE(succeeded(cuda::check_image(fatbin())));
  EXPECT_TRUE(succeeded(cuda::check_image(text("//\n.version 8.0\n.target sm_90\n"))));
}

TEST(CudaImage, OthersAreRefused) {
  for (const std::string_view other : {"", "x", "not a cubin",
                                       "\x7F"
                                       "EL",
                                       "PK\x03\x04 and more"}) {
    EXPECT_TRUE(refused(cuda::check_image(text(other)), Code::FileFormat, "no cubin")) << other;
  }
  Bytes hole = text(".version 8.0\nmore");
  hole[14] = std::byte{0};
  EXPECT_TRUE(refused(cuda::check_image(hole), Code::FileFormat, "no cubin"));
  Bytes host = cubin();
  put(host, 18, std::uint16_t{62});
  EXPECT_TRUE(refused(cuda::check_image(host), Code::FileFormat, "machine 62"));
}

TEST(CudaImage, OnesThatAreCutOffAreRefusedAtEveryLength) {
  for (const Bytes& whole : {cubin(), fatbin()}) {
    for (std::size_t length = 0; length + 2 < whole.size(); ++length) {
      Bytes part(whole.begin(), whole.begin() + static_cast<long>(length));
      part.push_back(std::byte{0});
      EXPECT_TRUE(refused(cuda::check_image(part), Code::FileFormat, "")) << length;
    }
  }
  Bytes far = cubin();
  put(far, 40, ~std::uint64_t{0} - 8);  // a section table past the end of all memory
  EXPECT_TRUE(refused(cuda::check_image(far), Code::FileFormat, "cut off"));
  far = fatbin();
  put(far, 8, ~std::uint64_t{0});
  EXPECT_TRUE(refused(cuda::check_image(far), Code::FileFormat, "cut off"));
}

TEST(CudaImage, AFileThatIsNotThereIsAnError) {
  EXPECT_TRUE(refused(cuda::read_image({.path = "/nowhere/at/all.cubin"}), Code::FileNotFound,
                      "/nowhere/at/all.cubin"));
  EXPECT_TRUE(refused(cuda::read_image({.path = "/"}), Code::FileNotFound, "'/'"));
  const Bytes some = text("ab");
  const Bytes read = must(cuda::read_image({.image = std::span(some).first(2)}));
  EXPECT_EQ(read, some);
}

}  // namespace
}  // namespace girih::testing
