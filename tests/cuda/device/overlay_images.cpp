#include "cuda/device/overlay_images.hpp"

// The assembler brings the files into the program.
#define GIRIH_TEST_IMAGE(name, file)                                                     \
  asm(".pushsection .rodata\n.balign 64\n" #name "_begin:\n.incbin \"" file "\"\n" #name \
      "_end:\n.byte 0\n.popsection\n");                                                  \
  extern "C" __attribute__((visibility("hidden"))) const std::byte name##_begin[], name##_end[]

GIRIH_TEST_IMAGE(girih_test_cubin, GIRIH_TEST_CUBIN);
GIRIH_TEST_IMAGE(girih_test_fatbin, GIRIH_TEST_FATBIN);
GIRIH_TEST_IMAGE(girih_test_ptx, GIRIH_TEST_PTX);

namespace girih::inline v0::testing {

std::span<const std::byte> cubin_image() {
  return {girih_test_cubin_begin, girih_test_cubin_end};
}
std::span<const std::byte> fatbin_image() {
  return {girih_test_fatbin_begin, girih_test_fatbin_end};
}
std::span<const std::byte> ptx_image() {
  return {girih_test_ptx_begin, girih_test_ptx_end};
}

}  // namespace girih::inline v0::testing
