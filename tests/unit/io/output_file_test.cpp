#include <csignal>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.hpp"
#include "unit/io/scratch.hpp"

namespace girih::testing {
namespace {

/// While it lives, no file may grow beyond `bytes`, and a write beyond fails instead of killing.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &saved_);
    const rlimit limit{bytes, saved_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &saved_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit saved_{};
};

using OutputFileTest = Scratch;

HostView megabyte() {
  static const std::vector<std::uint8_t> bytes(1 << 20, 7);
  return view_of(DType::U8, {1 << 20}, bytes);
}

TEST_F(OutputFileTest, AWriteThatFailsLeavesNothing) {
  const FileSizeLimit limit{64 << 10};
  const Status npy = write_npy(path("x.npy"), megabyte());
  ASSERT_FALSE(npy);
  expect_error(npy.error(), Code::FileWrite, path("x.npy"), "too large");
  const Status tensors =
      write_safetensors(path("x.safetensors"), std::vector<NamedView>{{"a", megabyte()}});
  ASSERT_FALSE(tensors);
  expect_error(tensors.error(), Code::FileWrite, path("x.safetensors"), "too large");
  EXPECT_TRUE(files().empty());
}

TEST_F(OutputFileTest, AWriteThatFailsKeepsTheOldFile) {
  write("x.npy", "old");
  {
    const FileSizeLimit limit{64 << 10};
    ASSERT_FALSE(write_npy(path("x.npy"), megabyte()));
  }
  EXPECT_EQ(read("x.npy"), "old");
  EXPECT_EQ(files(), std::vector<std::string>{"x.npy"});
  ASSERT_TRUE(write_npy(path("x.npy"), megabyte()));
  EXPECT_EQ(read("x.npy").size(), (1U << 20U) + 128U);
  EXPECT_EQ(files(), std::vector<std::string>{"x.npy"});
}

TEST_F(OutputFileTest, AppearsOnlyWhenCommitted) {
  {
    auto file = OutputFile::create(path("x"));
    ASSERT_TRUE(file) << file.error().message;
    const std::vector<std::byte> bytes(10);
    ASSERT_TRUE(file->write(bytes));
    EXPECT_EQ(files().size(), 1U);
    EXPECT_NE(files().front(), "x");
    OutputFile moved = *std::move(file);
    EXPECT_EQ(files().size(), 1U);
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(OutputFileTest, RefusesPlacesItCannotWrite) {
  const auto refuse = [](const std::string& target, std::string_view fragment) {
    const Status status = write_npy(target, megabyte());
    ASSERT_FALSE(status);
    expect_error(status.error(), Code::FileWrite, target, fragment);
  };
  refuse(path("missing/x.npy"), "No such file");
  refuse(path(""), "directory");
  refuse("", "empty");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  refuse(path("pipe"), "not a regular file");
  struct stat before {};
  struct stat after {};
  ASSERT_EQ(::stat("/dev/full", &before), 0);
  refuse("/dev/full", "not a regular file");
  ASSERT_EQ(::stat("/dev/full", &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  ASSERT_EQ(::symlink("nowhere", path("dangling").c_str()), 0);
  refuse(path("dangling"), "No such file");
  EXPECT_EQ(files(), (std::vector<std::string>{"dangling", "pipe"}));
}

TEST_F(OutputFileTest, ReplacesTheTargetOfALink) {
  write("target.npy", "old");
  ASSERT_EQ(::symlink("target.npy", path("link.npy").c_str()), 0);
  ASSERT_TRUE(write_npy(path("link.npy"), megabyte()));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.npy")));
  EXPECT_EQ(read("target.npy").size(), (1U << 20U) + 128U);
  EXPECT_EQ(files(), (std::vector<std::string>{"link.npy", "target.npy"}));
}

TEST_F(OutputFileTest, HasThePermissionsOfANewFile) {
  const mode_t mask = ::umask(027);
  ASSERT_TRUE(write_npy(path("x.npy"), megabyte()));
  ::umask(mask);
  struct stat status {};
  ASSERT_EQ(::stat(path("x.npy").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
}

}  // namespace
}  // namespace girih::testing
