#pragma once

#include <cstdint>

// Argument errors go where those of every BLAS go: to the routine of that name which the dynamic
// linker finds, so that a program or its BLAS decides what happens. Where there is none, a line on
// standard error says it. The width of `position` is the interface's: 64-bit ones have routines of
// their own (xerbla_64_, cblas_xerbla64_).

namespace girih::inline v0::blas {

/// Argument `position`, from 1, of a Fortran call of SGEMM breaks a rule.
void report_bad_argument(std::int32_t position) noexcept;
void report_bad_argument(std::int64_t position) noexcept;

/// The same for cblas_sgemm. `form` is a printf format for `value`, or "".
void report_bad_cblas_argument(std::int32_t position, const char* form, int value) noexcept;
void report_bad_cblas_argument(std::int64_t position, const char* form, int value) noexcept;

}  // namespace girih::inline v0::blas
