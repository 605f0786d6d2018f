#include "blas/bad_argument.hpp"

#include <cstddef>
#include <cstdio>

// Weak: the library loads where they are missing.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
[[gnu::weak]] void xerbla_(const char* routine, const std::int32_t* position, std::size_t length);
[[gnu::weak]] void xerbla_64_(const char* routine, const std::int64_t* position,
                              std::size_t length);
[[gnu::weak]] void cblas_xerbla(std::int32_t position, const char* routine, const char* form, ...);
[[gnu::weak]] void cblas_xerbla64_(std::int64_t position, const char* routine, const char* form,
                                   ...);
}
// NOLINTEND(readability-identifier-naming)

namespace girih::inline v0::blas {
namespace {

constexpr char kFortranName[] = "SGEMM ";  // padded to six characters
constexpr std::size_t kFortranNameLength = 6;
constexpr char kCblasName[] = "cblas_sgemm";

void say(const char* routine, std::int64_t position) noexcept {
  std::fprintf(stderr, " ** On entry to %s parameter number %2lld had an illegal value\n", routine,
               static_cast<long long>(position));
}

}  // namespace

void report_bad_argument(std::int32_t position) noexcept {
  if (xerbla_ == nullptr) return say(kFortranName, position);
  xerbla_(kFortranName, &position, kFortranNameLength);
}

void report_bad_argument(std::int64_t position) noexcept {
  if (xerbla_64_ == nullptr) return say(kFortranName, position);
  xerbla_64_(kFortranName, &position, kFortranNameLength);
}

void report_bad_cblas_argument(std::int32_t position, const char* form, int value) noexcept {
  if (cblas_xerbla == nullptr) return say(kCblasName, position);
  cblas_xerbla(position, kCblasName, form, value);
}

void report_bad_cblas_argument(std::int64_t position, const char* form, int value) noexcept {
  if (cblas_xerbla64_ == nullptr) return say(kCblasName, position);
  cblas_xerbla64_(position, kCblasName, form, value);
}

}  // namespace girih::inline v0::blas
