#include "core/environment.hpp"

#include <cstdlib>
#include <gtest/gtest.h>

#include "support/expect.hpp"

namespace girih {
namespace {

/// Sets a variable for the length of a scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value, 1);
  }
  ~ScopedVariable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

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

}  // namespace
}  // namespace girih
