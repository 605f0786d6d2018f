#include "girih/progress.hpp"

#include <chrono>
#include <cstdio>
#include <unistd.h>
#include <utility>

namespace girih::cli {

Progress::Progress() {
  if (::isatty(STDERR_FILENO) != 0) thread_ = std::thread([this] { watch(); });
}

void Progress::stage(std::string name) {
  const std::lock_guard lock{mutex_};
  stage_ = std::move(name);
  ++serial_;
  changed_.notify_one();
}

void Progress::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock{mutex_};
    stopped_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

void Progress::watch() {
  using namespace std::chrono_literals;
  std::unique_lock lock{mutex_};
  bool shown = false;
  while (!stopped_) {
    const unsigned serial = serial_;
    const auto begin = std::chrono::steady_clock::now();
    auto wake = begin + 2s;
    while (!changed_.wait_until(lock, wake, [&] { return stopped_ || serial_ != serial; })) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
          std::chrono::steady_clock::now() - begin);
      std::fprintf(stderr, "\r\033[Kgirih: %s, %lld s", stage_.c_str(),
                   static_cast<long long>(seconds.count()));
      shown = true;
      wake += 1s;
    }
  }
  if (shown) std::fprintf(stderr, "\r\033[K");
}

}  // namespace girih::cli
