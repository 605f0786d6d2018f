#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <limits>
#include <string>

#include "blas.hpp"

// girih's functions and those of Debian's reference BLAS in one process, on the same arguments.

namespace {

/// What a library says of a call's arguments. The reference checks extents in its Fortran half, and
/// so reports them one position lower and under the Fortran name.
struct Verdict {
  int calls = 0;
  std::int64_t position = 0;
};
Verdict verdict;
bool in_cblas = false;

}  // namespace

#define VISIBLE __attribute__((visibility("default")))
extern "C" {
VISIBLE void xerbla_(const char*, const std::int32_t* position, std::size_t) {
  verdict = {verdict.calls + 1, *position + (in_cblas ? 1 : 0)};
}
VISIBLE void cblas_xerbla(std::int32_t position, const char*, const char*, ...) {
  verdict = {verdict.calls + 1, position};
}
}

namespace girih_blas_test {
namespace {

struct Library {
  decltype(&sgemm_) fortran = nullptr;
  decltype(&cblas_sgemm) cblas = nullptr;
};

/// Loaded apart from each other: neither sees the other's functions, both see this program's.
bool load(const char* path, Library& library) {
  void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return false;
  library.fortran = reinterpret_cast<decltype(library.fortran)>(dlsym(handle, "sgemm_"));
  library.cblas = reinterpret_cast<decltype(library.cblas)>(dlsym(handle, "cblas_sgemm"));
  return library.fortran != nullptr && library.cblas != nullptr;
}

class BlasReference : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(load(GIRIH_BLAS_PATH, girih_)) << dlerror();
    if (!load(REFERENCE_BLAS_PATH, reference_)) GTEST_SKIP() << "Debian's libblas3 is not here";
    ASSERT_NE(girih_.fortran, reference_.fortran);
  }

  /// Both verdicts on one call must be equal.
  template <class Make>
  void compare_verdicts(bool is_cblas, const Make& make) {
    in_cblas = is_cblas;
    verdict = {};
    make(girih_);
    const Verdict ours = verdict;
    verdict = {};
    make(reference_);
    ASSERT_EQ(ours.calls, verdict.calls);
    ASSERT_EQ(ours.position, verdict.position);
    broken_ += verdict.calls;
  }

  Library girih_, reference_;
  int broken_ = 0;  ///< calls that both refused
};

TEST_F(BlasReference, EveryCombinationOfBadArgumentsIsReportedAlike) {
  constexpr std::int64_t kValues[] = {-1, 0, 1, 2};
  std::vector<float> memory(64);
  for (int index = 0; index < 4096; ++index) {
    Call call;
    std::int64_t* const extents[] = {&call.m, &call.n, &call.k, &call.lda, &call.ldb, &call.ldc};
    for (int rest = index; std::int64_t * extent : extents) {
      *extent = kValues[rest % 4];
      rest /= 4;
    }
    call.a = memory.data();
    call.b = memory.data() + 16;
    call.c = memory.data() + 32;
    for (const char transa : {'N', 'T', 'Q'}) {
      for (const char transb : {'N', 'T', 'Q'}) {
        call.transa = transa;
        call.transb = transb;
        SCOPED_TRACE(::testing::Message()
                     << transa << transb << " m " << call.m << " n " << call.n << " k " << call.k
                     << " lda " << call.lda << " ldb " << call.ldb << " ldc " << call.ldc);
        compare_verdicts(false, [&](const Library& library) {
          call_fortran<std::int32_t>(library.fortran, call);
        });
        for (const int layout : {kColMajor, kRowMajor, 0}) {
          compare_verdicts(true, [&](const Library& library) {
            call_cblas<std::int32_t>(library.cblas, layout, call);
          });
        }
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GT(broken_, 100000);
}

std::vector<float> random_numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1;
  }
  return values;
}

std::vector<float> absolute(std::vector<float> values) {
  for (float& value : values) value = std::abs(value);
  return values;
}

TEST_F(BlasReference, ProductsAgreeWithinTheRoundingOfBoth) {
  std::uint32_t seed = 1;
  for (const std::int64_t extent : {1, 7, 16, 33, 100, 181}) {
    for (const char transa : {'N', 'T'}) {
      for (const char transb : {'N', 'T'}) {
        Call call{.transa = transa,
                  .transb = transb,
                  .m = extent,
                  .n = extent + 3,
                  .k = extent + 9,
                  .alpha = 0.7F,
                  .beta = 1.3F};
        call.lda = (transa == 'N' ? call.m : call.k) + 2;
        call.ldb = (transb == 'N' ? call.k : call.n) + 1;
        call.ldc = call.m + 5;
        const std::vector<float> a = random_numbers(call.lda * (extent + 9), ++seed);
        const std::vector<float> b = random_numbers(call.ldb * (extent + 9), ++seed);
        const std::vector<float> c = random_numbers(call.ldc * call.n, ++seed);
        const auto run = [&call](const Library& library, const std::vector<float>& left,
                                 const std::vector<float>& right, std::vector<float> result) {
          Call bound = call;
          bound.a = left.data();
          bound.b = right.data();
          bound.c = result.data();
          call_fortran<std::int32_t>(library.fortran, bound);
          return result;
        };
        const std::vector<float> got = run(girih_, a, b, c);
        const std::vector<float> want = run(reference_, a, b, c);
        // The sum of the absolute terms, which bounds what k + 3 roundings can do to each.
        const std::vector<float> size = run(reference_, absolute(a), absolute(b), absolute(c));
        const float unit = std::numeric_limits<float>::epsilon();
        for (std::size_t i = 0; i < got.size(); ++i) {
          ASSERT_LE(std::abs(got[i] - want[i]), static_cast<float>(call.k + 3) * unit * size[i])
              << transa << transb << ' ' << extent << " at " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace girih_blas_test
