#include <gtest/gtest.h>

#include <girih/accel.hpp>

#include "backends/cuda/device.hpp"
#include "support/expect.hpp"

// What this machine says of its GPU agrees with what it then does, whichever of the states it is
// in.

namespace girih::testing {
namespace {

TEST(CudaProbe, AgreesWithWhatOpeningDoes) {
  const cuda::Probe found = cuda::probe();
  EXPECT_EQ(found.presence == cuda::Presence::NotBuilt, !cuda::is_built());
  EXPECT_EQ(found.presence == cuda::Presence::Usable, found.reason.empty());
  const Result<Runtime> exact = Runtime::open({.backend = Backend::Cuda});
  const Result<Runtime> accel = Runtime::open({.policy = Policy::Accel});
  const Result<Runtime> automatic = Runtime::open({.policy = Policy::Auto});
  ASSERT_TRUE(succeeded(automatic));
  if (found.presence == cuda::Presence::Usable) {
    ASSERT_TRUE(succeeded(exact));
    ASSERT_TRUE(succeeded(accel));
    EXPECT_EQ(exact->backend(), Backend::Cuda);
    EXPECT_EQ(accel->backend(), Backend::Cuda);
    EXPECT_EQ(automatic->backend(), Backend::Cuda);
    EXPECT_FALSE(found.info.name.empty());
    EXPECT_GT(found.info.multiprocessors, 0);
  } else {
    EXPECT_TRUE(refused(exact, Code::BackendUnavailable, found.reason));
    EXPECT_TRUE(refused(accel, Code::BackendUnavailable, ""));
    EXPECT_EQ(automatic->backend(), Backend::Cpu);
  }
}

TEST(CudaProbe, IsRepeatable) {
  const cuda::Probe first = cuda::probe();
  for (int i = 0; i < 3; ++i) {
    const cuda::Probe again = cuda::probe();
    EXPECT_EQ(again.presence, first.presence);
    EXPECT_EQ(again.reason, first.reason);
  }
}

}  // namespace
}  // namespace girih::testing
