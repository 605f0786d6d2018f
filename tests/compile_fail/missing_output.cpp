// wrong: Output
#include <girih/girih.hpp>

girih::GemmDesc product(const girih::Tensor& a, const girih::Tensor& b,
                        [[maybe_unused]] const girih::Tensor& c) {
#ifdef GIRIH_WRONG
  return girih::GemmDesc{.a = a, .b = b};
#else
  return girih::GemmDesc{.a = a, .b = b, .c = c};
#endif
}
