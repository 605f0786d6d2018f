// wrong: nodiscard
#include <girih/girih.hpp>

void allocate(girih::Runtime& rt) {
#ifdef GIRIH_WRONG
  rt.tensor({2, 3}, girih::DType::F32);
#else
  const auto tensor = rt.tensor({2, 3}, girih::DType::F32);
  if (!tensor) return;
#endif
}
