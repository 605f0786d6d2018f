#include "core/environment.hpp"

#include <cstdlib>
#include <gtest/gtest.h>

#include "support/expect.hpp"
#include "support/scoped_variable.hpp"

namespace girih {
namespace {

using testing::ScopedVariable;

TEST(EnvironmentTest, ThreadsIsParsedStrictly) {
  for (const char* bad :
       {"0", "-1", "1025", "99999999999999999999", "2 ", " 2", "2x", "two", "+2"}) {
    const ScopedVariable variable("GIRIH_THREADS", bad);
    EXPECT_TRUE(testing::refused(read_environment(), Code::InvalidOption, "GIRIH_THREADS")) << bad;
  }
  for (const char* good : {"1", "7", "1024"}) {
    const ScopedVariable variable("GIRIH_THREADS", good);
    EXPECT_EQ(testing::must(read_environment()).threads, std::atoi(good));
  }
  const ScopedVariable variable("GIRIH_THREADS", "");
  EXPECT_FALSE(testing::must(read_environment()).threads.has_value());
}

TEST(EnvironmentTest, IsReadAnewAtEachCall) {
  const ScopedVariable first("GIRIH_FORCE_KERNEL", "one");
  EXPECT_EQ(testing::must(read_environment()).force_kernel, "one");
  const ScopedVariable second("GIRIH_FORCE_KERNEL", "two");
  EXPECT_EQ(testing::must(read_environment()).force_kernel, "two");
}

TEST(EnvironmentTest, TheOnlyTraceIsOfLines) {
  EXPECT_FALSE(testing::must(read_environment()).traces_lines);
  const ScopedVariable file("GIRIH_TRACE_FILE", "calls.txt");
  EXPECT_FALSE(testing::must(read_environment()).traces_lines);
  for (const char* bad : {"1", "lines", "Line", " line"}) {
    const ScopedVariable variable("GIRIH_TRACE", bad);
    EXPECT_TRUE(testing::refused(read_environment(), Code::InvalidOption, "GIRIH_TRACE")) << bad;
  }
  const ScopedVariable variable("GIRIH_TRACE", "line");
  EXPECT_TRUE(testing::must(read_environment()).traces_lines);
  EXPECT_EQ(testing::must(read_environment()).trace_file, "calls.txt");
}

TEST(EnvironmentTest, CudaIsPortableOrWhatItIs) {
  EXPECT_FALSE(testing::must(read_environment()).is_cuda_portable);
  for (const char* bad : {"1", "Portable", "portable ", "sm_80"}) {
    const ScopedVariable variable("GIRIH_CUDA", bad);
    EXPECT_TRUE(testing::refused(read_environment(), Code::InvalidOption, "GIRIH_CUDA")) << bad;
  }
  const ScopedVariable variable("GIRIH_CUDA", "portable");
  EXPECT_TRUE(testing::must(read_environment()).is_cuda_portable);
}

}  // namespace
}  // namespace girih
