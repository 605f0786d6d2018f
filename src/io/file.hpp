#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <girih/status.hpp>

namespace girih::inline v0 {

/// An open file descriptor, closed by its owner.
class FileDescriptor {
 public:
  FileDescriptor() noexcept = default;
  explicit FileDescriptor(int descriptor) noexcept : descriptor_(descriptor) {}
  FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { reset(); }

  [[nodiscard]] int get() const noexcept { return descriptor_; }
  int release() noexcept;
  /// Closes; false if the system reported an error then.
  bool reset() noexcept;

 private:
  int descriptor_ = -1;
};

/// A regular file, open for reading at any place. Its size is that of the moment it was opened.
class InputFile {
 public:
  /// Errors: FileNotFound, also for what is no regular file.
  static Result<InputFile> open(const std::string& path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// Fills `destination` from byte `offset` on. Errors: FileFormat if the file ends before that.
  Status read_at(std::int64_t offset, std::span<std::byte> destination) const;

 private:
  InputFile(std::string path, FileDescriptor descriptor, std::int64_t size) noexcept
      : path_(std::move(path)), descriptor_(std::move(descriptor)), size_(size) {}

  std::string path_;
  FileDescriptor descriptor_;
  std::int64_t size_ = 0;
};

/// A file that is written beside its final place and moved there by `commit`. Dropped before that,
/// it leaves nothing behind, and whatever had the name keeps it.
class OutputFile {
 public:
  /// Errors: FileWrite, also where `path` exists and is no regular file.
  static Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept = default;
  OutputFile& operator=(OutputFile&& other) = delete;
  ~OutputFile();

  Status write(std::span<const std::byte> bytes);
  /// Flushes to the disk, then renames. Errors: FileWrite; nothing is left behind then.
  Status commit();

 private:
  OutputFile(std::string target, std::string temporary, FileDescriptor descriptor) noexcept
      : target_(std::move(target)),
        temporary_(std::move(temporary)),
        descriptor_(std::move(descriptor)) {}

  std::string target_;     ///< symbolic links resolved: the link stays, its target is replaced
  std::string temporary_;  ///< empty once it has been renamed, or moved from
  FileDescriptor descriptor_;
};

}  // namespace girih::inline v0
