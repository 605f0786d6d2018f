// wrong: deleted
#include <utility>

#include <girih/girih.hpp>

girih::Runtime keep(girih::Runtime& rt) {
#ifdef GIRIH_WRONG
  return rt;
#else
  return std::move(rt);
#endif
}
