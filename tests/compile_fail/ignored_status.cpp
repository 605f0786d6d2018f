// wrong: nodiscard
#include <girih/girih.hpp>

void wait(girih::Runtime& rt) {
#ifdef GIRIH_WRONG
  rt.synchronize();
#else
  if (!rt.synchronize()) return;
#endif
}
