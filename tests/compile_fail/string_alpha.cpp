// wrong: could not convert|cannot convert
#include <girih/girih.hpp>

girih::GemmDesc product(const girih::Tensor& x, const girih::Tensor& y) {
#ifdef GIRIH_WRONG
  return girih::GemmDesc{.a = x, .b = x, .c = y, .alpha = "1"};
#else
  return girih::GemmDesc{.a = x, .b = x, .c = y, .alpha = 0.5F};
#endif
}
