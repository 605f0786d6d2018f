#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace girih::cli {

/// A line on standard error that names the stage at hand and its seconds, from the third second of
/// a stage on, rewritten in place and cleared at the end; nothing unless that is a terminal.
class Progress {
 public:
  Progress();
  ~Progress() { stop(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void stage(std::string name);
  /// Clears the line; call it before printing anything.
  void stop();

 private:
  void watch();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string stage_;
  unsigned serial_ = 0;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace girih::cli
