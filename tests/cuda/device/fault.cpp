#include "core/storage.hpp"
#include "cuda/device/child.hpp"
#include "cuda/device/gpu_test.hpp"

// A kernel that faults ends the context for its whole process, so it does so in a child.

namespace girih::testing {
namespace {

/// A view of memory that does not exist.
Tensor nowhere(Runtime& runtime) {
  auto storage = std::make_shared<detail::Storage>();
  storage->data = reinterpret_cast<std::byte*>(std::uintptr_t{64});
  storage->bytes = storage->capacity = 4096;
  storage->runtime = runtime.id();
  return detail::TensorAccess::make(storage,
                                    {DType::F32, Shape{1024}, contiguous_strides({1024}), 0});
}

class CudaFault : public BackendTest {};

TEST_P(CudaFault, ABadAddressEndsTheChildsRuntimeAndNotOurs) {
  EXPECT_EQ(run_alone("Gpu/CudaFault.DISABLED_ABadAddressPoisons/cuda"), 0);
  expect_passes(runtime_, {.m = 64, .n = 64, .k = 64, .operands = DType::BF16},
                verify::Mode::Replayed);
  // A test that fails is seen to fail.
  EXPECT_EQ(run_alone("Gpu/CudaFault.DISABLED_Fails/cuda"), 1);
}

TEST_P(CudaFault, DISABLED_Fails) {
  FAIL();
}

TEST_P(CudaFault, DISABLED_ABadAddressPoisons) {
  const Tensor good = must(runtime_.tensor({64, 64}, DType::F32));
  const GemmDesc desc{.a = good, .b = good, .c = must(runtime_.tensor({64, 64}, DType::F32))};
  Graph graph = must(capture(runtime_, [&] { return gemm(runtime_, desc); }));
  must(runtime_.synchronize());
  must(fill(runtime_, {.destination = nowhere(runtime_), .value = 1}));
  const Status fault = runtime_.synchronize();
  ASSERT_TRUE(refused(fault, Code::DeviceFailed, "cudaErrorIllegalAddress"));
  EXPECT_EQ(fault.error().kind(), ErrorKind::Failed);
  EXPECT_TRUE(refused(runtime_.health(), Code::RuntimePoisoned, "cudaErrorIllegalAddress"));
  const std::uint64_t before = runtime_.dispatch_count();
  std::vector<float> host(64 * 64);
  EXPECT_TRUE(refused(gemm(runtime_, desc), Code::RuntimePoisoned, "cudaErrorIllegalAddress"));
  EXPECT_TRUE(refused(graph.replay(), Code::RuntimePoisoned, ""));
  EXPECT_TRUE(refused(runtime_.download(good, std::span(host)), Code::RuntimePoisoned, ""));
  EXPECT_TRUE(refused(runtime_.tensor({4}, DType::F32), Code::RuntimePoisoned, ""));
  EXPECT_TRUE(refused(runtime_.synchronize(), Code::RuntimePoisoned, ""));
  EXPECT_EQ(runtime_.dispatch_count(), before);
  // The context is gone for this process: another runtime says so instead of failing later.
  EXPECT_TRUE(refused(Runtime::open({.backend = Backend::Cuda}), Code::BackendUnavailable, "cuda"));
}

GIRIH_FOR_EVERY_GPU(CudaFault);

}  // namespace
}  // namespace girih::testing
