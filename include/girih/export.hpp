#pragma once

/*
 * Symbols of a shared girih are exported one by one; in a static one nothing is, so that a shared
 * object which holds girih does not offer girih's symbols to its neighbours.
 */
#if defined(GIRIH_SHARED) && (defined(__GNUC__) || defined(__clang__))
#define GIRIH_API __attribute__((visibility("default")))
#else
#define GIRIH_API
#endif
