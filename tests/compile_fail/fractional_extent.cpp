// wrong: no matching function|could not convert|cannot convert
#include <girih/girih.hpp>

girih::Shape shape() {
#ifdef GIRIH_WRONG
  return girih::Shape(2.5, 3);
#else
  return girih::Shape(2, 3U);
#endif
}
