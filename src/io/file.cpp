#include "io/file.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "core/error.hpp"
#include "core/format.hpp"
#include "io/guard.hpp"

namespace girih::inline v0 {
namespace {

// One read or write call moves at most this much: Linux stops at 2^31 - 4096 bytes, macOS refuses
// more than INT_MAX.
constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;

std::string reason(int error_number) {
  return std::generic_category().message(error_number);
}

Error cannot_write(const std::string& path, int error_number) {
  return error(Code::FileWrite, "{}: cannot be written: {}", printable(path), reason(error_number));
}

bool has_nul(const std::string& path) {
  return path.find('\0') != std::string::npos;
}

/// The path that a rename must replace: `path`, or what it links to.
Result<std::string> resolve_target(const std::string& path) {
  if (path.empty()) return error(Code::FileWrite, "an output path is empty");
  if (has_nul(path)) return error(Code::FileWrite, "{}: a path holds a NUL", printable(path));
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return path;
    return cannot_write(path, errno);
  }
  std::string target = path;
  if (S_ISLNK(status.st_mode)) {
    const std::unique_ptr<char, void (*)(void*)> real{::realpath(path.c_str(), nullptr),
                                                      &std::free};
    if (!real || ::stat(real.get(), &status) != 0) return cannot_write(path, errno);
    target = real.get();
  }
  if (S_ISDIR(status.st_mode)) {
    return error(Code::FileWrite, "{}: cannot be written: it is a directory", printable(path));
  }
  // Renaming over a device node would replace the device.
  if (!S_ISREG(status.st_mode)) {
    return error(Code::FileWrite, "{}: cannot be written: it is not a regular file",
                 printable(path));
  }
  return target;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return path.substr(0, std::max<std::size_t>(slash, 1));
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    reset();
    descriptor_ = other.release();
  }
  return *this;
}

int FileDescriptor::release() noexcept {
  return std::exchange(descriptor_, -1);
}

bool FileDescriptor::reset() noexcept {
  const int descriptor = release();
  return descriptor < 0 || ::close(descriptor) == 0;
}

Result<InputFile> InputFile::open(const std::string& path) {
  if (has_nul(path)) return error(Code::FileNotFound, "{}: a path holds a NUL", printable(path));
  // O_NONBLOCK: opening a pipe must not wait for its writer before it can be refused.
  FileDescriptor descriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  if (descriptor.get() < 0 || ::fstat(descriptor.get(), &status) != 0) {
    return error(Code::FileNotFound, "{}: cannot be opened: {}", printable(path), reason(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    return error(Code::FileNotFound, "{}: cannot be opened: it is not a regular file",
                 printable(path));
  }
  return InputFile{path, std::move(descriptor), static_cast<std::int64_t>(status.st_size)};
}

Status InputFile::read_at(std::int64_t offset, std::span<std::byte> destination) const {
  while (!destination.empty()) {
    const ssize_t count = ::pread(descriptor_.get(), destination.data(),
                                  std::min(destination.size(), kMaxTransfer), off_t{offset});
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return error(Code::FileFormat, "{}: cannot be read at byte {}: {}", printable(path_), offset,
                   reason(errno));
    }
    if (count == 0) {
      return error(Code::FileFormat, "{}: ends at byte {}, {} bytes early", printable(path_),
                   offset, destination.size());
    }
    offset += count;
    destination = destination.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  Result<std::string> target = resolve_target(path);
  if (!target) return std::move(target).error();
  // O_EXCL makes the name ours. A name may be taken by a process that died and whose number was
  // given out again, hence the tries.
  static std::atomic<unsigned> serial{0};
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string temporary = formatted("{}/.girih-{}-{}.tmp", folder_of(*target), ::getpid(),
                                      serial.fetch_add(1, std::memory_order_relaxed));
    FileDescriptor descriptor{
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)};
    if (descriptor.get() >= 0) {
      return OutputFile{*std::move(target), std::move(temporary), std::move(descriptor)};
    }
    if (errno != EEXIST) return cannot_write(path, errno);
  }
  return cannot_write(path, EEXIST);
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::write(descriptor_.get(), bytes.data(), std::min(bytes.size(), kMaxTransfer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot_write(target_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Status OutputFile::commit() {
  if (::fsync(descriptor_.get()) != 0) return cannot_write(target_, errno);
  if (!descriptor_.reset()) return cannot_write(target_, errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return cannot_write(target_, errno);
  temporary_.clear();
  // The data is safe and the name is right; syncing the folder makes the name survive a power
  // failure as well. Some file systems refuse it, which is no reason to call the write failed.
  const FileDescriptor folder{
      ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.get() >= 0) static_cast<void>(::fsync(folder.get()));
  return {};
}

}  // namespace girih::inline v0
