#ifndef GIRIH_GIRIH_H
#define GIRIH_GIRIH_H

/*
 * The C interface: the accel contract of <girih/accel.hpp>, which holds the rules. This is the
 * interface with a stable ABI. A structure begins with its own size, which the caller sets to
 * sizeof before the call; a field that lies beyond it is not touched.
 *
 * Functions return a status: 340 for success, else 341..359, or where a backend identifier is
 * returned, the negated refusal. Nothing is thrown, printed or aborted, whatever the arguments.
 */

/* NOLINTBEGIN(modernize-*): C as well as C++. */
#include <stddef.h>
#include <stdint.h>

#include <girih/export.hpp>

#ifdef __cplusplus
extern "C" {
#endif

enum { GIRIH_ACCEL_OK = 340 };
enum { GIRIH_POLICY_AUTO = 0, GIRIH_POLICY_ACCEL = 1, GIRIH_POLICY_CPU = 2 };
enum {
  GIRIH_BACKEND_CPU = 0,
  GIRIH_BACKEND_METAL = 1,
  GIRIH_BACKEND_CUDA = 2,
  GIRIH_BACKEND_ROCM = 3,
  GIRIH_BACKEND_NONE = 4
};

/* Static strings; "unknown_status" and "unknown_backend" for values that are none. */
GIRIH_API const char* girih_accel_status_name(int32_t status);
GIRIH_API const char* girih_accel_backend_name(int32_t backend);

/* A backend identifier, or the refusal negated. `usable`: 0 or not. */
GIRIH_API int32_t girih_accel_resolve(int32_t policy, int32_t backend, int32_t usable);

/* 1 or 0; 0 as well for arguments that make no sense. */
GIRIH_API int32_t girih_accel_worth_offloading(int64_t cells, double intensity, double peak_tflops,
                                               double bandwidth_tb_per_s, double launch_us);

typedef struct girih_accel_device_probe {
  uint32_t size; /* sizeof(girih_accel_device_probe), set by the caller */
  int32_t device_present;
  int32_t launch_verified;
  int32_t backend;
  int64_t name_length;
  int32_t status;
} girih_accel_device_probe;
/* Fills `probe` without compiling or launching anything. 344 for a null or an unsized structure. */
GIRIH_API int32_t girih_accel_probe(girih_accel_device_probe* probe);

/* 1 if the build has an accelerator backend. */
GIRIH_API int32_t girih_accel_gemm_available(void);

/*
 * c[m,n] = a[m,k] b[k,n], row-major, on the accelerator, in f32. The lengths count the elements
 * that the pointers offer; c is written only on success. `backend_used`, if not null, is set to
 * the backend, or to GIRIH_BACKEND_NONE.
 */
GIRIH_API int32_t girih_accel_gemm_flat(const double* a, size_t a_length, const double* b,
                                        size_t b_length, int64_t m, int64_t n, int64_t k, double* c,
                                        size_t c_length, int32_t* backend_used);

typedef struct girih_accel_agreement {
  uint32_t size; /* sizeof(girih_accel_agreement), set by the caller */
  int32_t within_float32_precision;
  double max_abs_delta;
  double float32_bound;
  int64_t compared;
  int32_t status;
} girih_accel_agreement;
/* The same product held against the oracle. 344 for a null or an unsized structure. */
GIRIH_API int32_t girih_accel_gemm_agreement(const double* a, size_t a_length, const double* b,
                                             size_t b_length, int64_t m, int64_t n, int64_t k,
                                             girih_accel_agreement* agreement);

#ifdef __cplusplus
} /* extern "C" */
#endif
/* NOLINTEND(modernize-*) */

#endif /* GIRIH_GIRIH_H */
