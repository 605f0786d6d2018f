#pragma once

#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <utility>

#include <girih/status.hpp>

namespace girih::inline v0::testing {

/// The value of a result that must hold one; else the test ends with the error's message.
template <class T>
T must(Result<T> result) {
  if (!result)
    throw std::runtime_error(std::string(name(result.error().code)) + ": " +
                             result.error().message);
  return *std::move(result);
}
inline void must(const Status& status) {
  if (!status)
    throw std::runtime_error(std::string(name(status.error().code)) + ": " +
                             status.error().message);
}

/// Success of a Status or Result, with the message of the error if it is none.
template <class T>
::testing::AssertionResult succeeded(const Result<T>& result) {
  if (result) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << name(result.error().code) << ": " << result.error().message;
}

/// True for an error of this code, and of the kind that the code has, whose message contains
/// `word`.
template <class T>
::testing::AssertionResult refused(const Result<T>& result, Code code, const std::string& word) {
  if (result) return ::testing::AssertionFailure() << "was accepted, expected " << name(code);
  const Error& error = result.error();
  if (error.code != code) {
    return ::testing::AssertionFailure()
           << name(error.code) << " instead of " << name(code) << ": " << error.message;
  }
  if (error.kind() != kind(code))
    return ::testing::AssertionFailure() << "kind does not match code";
  if (error.message.find(word) == std::string::npos) {
    return ::testing::AssertionFailure()
           << "'" << error.message << "' does not name '" << word << "'";
  }
  if (error.message.find('\n') != std::string::npos) {
    return ::testing::AssertionFailure() << "'" << error.message << "' is not one line";
  }
  return ::testing::AssertionSuccess();
}

}  // namespace girih::inline v0::testing
