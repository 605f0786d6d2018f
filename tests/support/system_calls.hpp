#pragma once

#include <functional>
#include <initializer_list>
#include <optional>

namespace girih::inline v0::testing {

/// The number of the first system call that the calling thread makes in `work`, other than
/// `allowed`; `kNone` if it makes none. Runs `prepare`, then `work` behind a seccomp filter, in a
/// child process that ends at that call. Empty where the system has no such filter, or `work`
/// failed. Other threads of the child are not watched.
inline constexpr int kNone = -1;
std::optional<int> first_system_call(const std::function<bool()>& prepare,
                                     const std::function<bool()>& work,
                                     std::initializer_list<int> allowed = {});

}  // namespace girih::inline v0::testing
