/* The C header as a C compiler sees it. */
#include <girih/girih.h>

int32_t resolve_from_c(int32_t policy, int32_t backend, int32_t usable) {
  return girih_accel_resolve(policy, backend, usable);
}

uint32_t probe_size_from_c(void) { return (uint32_t)sizeof(girih_accel_device_probe); }
