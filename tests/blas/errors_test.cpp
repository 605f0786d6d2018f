#include <cstring>
#include <string>

#include "blas.hpp"

// Argument errors: reported once, at the position that reference BLAS gives, to the routine that
// the program defines; and nothing is computed.

namespace {

struct Report {
  int calls = 0;
  std::string routine;
  std::int64_t position = 0;
};
Report fortran, fortran64, cblas, cblas64;

void note(Report& report, std::string_view routine, std::int64_t position) {
  ++report.calls;
  report.routine = routine;
  report.position = position;
}

}  // namespace

// The linker exports them, because the library refers to them.
#define VISIBLE __attribute__((visibility("default")))
extern "C" {
VISIBLE void xerbla_(const char* routine, const std::int32_t* position, std::size_t length) {
  note(fortran, {routine, length}, *position);
}
VISIBLE void xerbla_64_(const char* routine, const std::int64_t* position, std::size_t length) {
  note(fortran64, {routine, length}, *position);
}
VISIBLE void cblas_xerbla(std::int32_t position, const char* routine, const char*, ...) {
  note(cblas, routine, position);
}
VISIBLE void cblas_xerbla64_(std::int64_t position, const char* routine, const char*, ...) {
  note(cblas64, routine, position);
}
}

namespace girih_blas_test {
namespace {

/// A call with broken arguments, and the position of the first one in SGEMM's list.
struct BadCall {
  Call call;
  int position;
};

std::vector<BadCall> bad_calls() {
  const Call valid{.m = 2, .n = 3, .k = 4, .lda = 2, .ldb = 4, .ldc = 2};
  std::vector<BadCall> calls;
  const auto add = [&](int position, auto change) {
    BadCall bad{valid, position};
    change(bad.call);
    calls.push_back(bad);
  };
  add(1, [](Call& c) { c.transa = 'X'; });
  add(2, [](Call& c) { c.transb = '\0'; });
  add(3, [](Call& c) { c.m = -1; });
  add(4, [](Call& c) { c.n = -1; });
  add(5, [](Call& c) { c.k = -1; });
  add(8, [](Call& c) { c.lda = 1; });
  add(8, [](Call& c) { c.transa = 'T', c.lda = 3; });
  add(8, [](Call& c) { c.m = 0, c.lda = 0; });
  add(10, [](Call& c) { c.ldb = 3; });
  add(10, [](Call& c) { c.transb = 'T', c.ldb = 2; });
  add(13, [](Call& c) { c.ldc = 1; });
  add(1, [](Call& c) { c.transa = c.transb = 'X', c.m = -1, c.ldc = 0; });
  add(3, [](Call& c) { c.m = c.n = c.k = -1, c.lda = c.ldb = c.ldc = 0; });
  return calls;
}

class BlasErrors : public ::testing::Test {
 protected:
  void SetUp() override { fortran = fortran64 = cblas = cblas64 = {}; }

  /// Exactly one report, to `expected`.
  static void expect_one(const Report& expected, const char* routine, std::int64_t position) {
    EXPECT_EQ(fortran.calls + fortran64.calls + cblas.calls + cblas64.calls, 1);
    EXPECT_EQ(expected.calls, 1);
    EXPECT_EQ(expected.routine, routine);
    EXPECT_EQ(expected.position, position);
  }

  float c_[6] = {1, 2, 3, 4, 5, 6};
  void TearDown() override {
    for (int i = 0; i < 6; ++i) EXPECT_EQ(c_[i], static_cast<float>(i + 1));
  }
};

TEST_F(BlasErrors, FortranPositions) {
  for (BadCall& bad : bad_calls()) {
    bad.call.c = c_;
    SetUp();
    call_fortran<std::int32_t>(sgemm_, bad.call);
    expect_one(fortran, "SGEMM ", bad.position);
    SetUp();
    call_fortran<std::int64_t>(sgemm_64_, bad.call);
    expect_one(fortran64, "SGEMM ", bad.position);
  }
}

TEST_F(BlasErrors, ColumnMajorPositionsComeAfterTheLayout) {
  for (BadCall& bad : bad_calls()) {
    bad.call.c = c_;
    SetUp();
    call_cblas<std::int32_t>(cblas_sgemm, kColMajor, bad.call);
    expect_one(cblas, "cblas_sgemm", bad.position + 1);
    SetUp();
    call_cblas<std::int64_t>(cblas_sgemm64_, kColMajor, bad.call);
    expect_one(cblas64, "cblas_sgemm", bad.position + 1);
  }
}

TEST_F(BlasErrors, RowMajorPositionsAreThoseOfTheSwappedCall) {
  // `call_cblas` swaps what it is given, and the library swaps it back.
  for (BadCall& bad : bad_calls()) {
    if (bad.position <= 2) continue;
    bad.call.c = c_;
    SetUp();
    call_cblas<std::int32_t>(cblas_sgemm, kRowMajor, bad.call);
    expect_one(cblas, "cblas_sgemm", bad.position + 1);
    SetUp();
    call_cblas<std::int64_t>(cblas_sgemm64_, kRowMajor, bad.call);
    expect_one(cblas64, "cblas_sgemm", bad.position + 1);
  }
}

TEST_F(BlasErrors, LayoutAndTransposesOfCblas) {
  const auto call = [this](int layout, int transa, int transb) {
    SetUp();
    cblas_sgemm(layout, transa, transb, -1, 0, 0, 1, nullptr, 1, nullptr, 1, 0, c_, 1);
  };
  call(0, kNoTrans, kNoTrans);
  expect_one(cblas, "cblas_sgemm", 1);
  call(kColMajor, 'N', 'N');
  expect_one(cblas, "cblas_sgemm", 2);
  call(kColMajor, kNoTrans, 114);
  expect_one(cblas, "cblas_sgemm", 3);
  call(kRowMajor, 110, kNoTrans);
  expect_one(cblas, "cblas_sgemm", 2);
  call(kRowMajor, kNoTrans, 114);
  expect_one(cblas, "cblas_sgemm", 2);  // as the reference has it
}

}  // namespace
}  // namespace girih_blas_test
