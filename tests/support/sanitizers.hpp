#pragma once

// Which sanitizer the tests are built with: some tests replace operator new or fork.

#if defined(__SANITIZE_ADDRESS__)
#define GIRIH_TEST_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define GIRIH_TEST_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(GIRIH_TEST_ASAN)
#define GIRIH_TEST_ASAN 1
#endif
#if __has_feature(thread_sanitizer) && !defined(GIRIH_TEST_TSAN)
#define GIRIH_TEST_TSAN 1
#endif
#endif
#if !defined(GIRIH_TEST_ASAN)
#define GIRIH_TEST_ASAN 0
#endif
#if !defined(GIRIH_TEST_TSAN)
#define GIRIH_TEST_TSAN 0
#endif
