/* A C program against the C header. */
#include <girih/girih.h>
#include <stdio.h>

int main(void) {
  girih_accel_device_probe probe = {.size = sizeof probe};
  printf("girih from C: %s, accelerator: %d\n", girih_accel_status_name(girih_accel_probe(&probe)),
         probe.device_present);
  return 0;
}
