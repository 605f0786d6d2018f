#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <string>

#include "support/expect.hpp"
#include "verify/bound_gemm.hpp"
#include "verify/elementwise_case.hpp"

// `run_case` must catch each of these wrong implementations.

namespace girih {
namespace {

using testing::must;
using verify::CaseReport;
using verify::GemmCase;
using verify::GemmLauncher;
using verify::Mode;
using verify::run_case;

/// Sets one element of a tensor's allocation, uncounted, from the host.
void poke(Runtime& runtime, const Tensor& tensor, std::int64_t offset, float value) {
  must(runtime.upload(must(tensor.view({1}, {1}, offset)), &value, sizeof value));
}
float peek(Runtime& runtime, const Tensor& tensor, std::int64_t offset) {
  float value = 0;
  must(runtime.download(must(tensor.view({1}, {1}, offset)), &value, sizeof value));
  return value;
}

struct Fault {
  const char* name;
  const char* finding;  ///< part of what the report must say
  std::function<Status(Runtime&, GemmDesc)> launch;
  std::function<void(GemmCase&)> change = [](GemmCase&) {};
};

Status gemm_then(Runtime& runtime, const GemmDesc& desc, const std::function<void()>& fault) {
  Status status = gemm(runtime, desc);
  if (status) fault();
  return status;
}

const Fault kFaults[] = {
    {"AnElementJustOutOfBound", "worst at [2, 3]",
     [](Runtime& runtime, GemmDesc desc) {
       const Tensor c = desc.c.tensor();
       return gemm_then(runtime, desc, [&] {
         const std::int64_t at = c.offset() + 2 * c.strides()[0] + 3;
         poke(runtime, c, at, peek(runtime, c, at) + 1e-4F);
       });
     }},
    {"AGuardBeforeC", "C: element",
     [](Runtime& runtime, GemmDesc desc) {
       const Tensor c = desc.c.tensor();
       return gemm_then(runtime, desc, [&] { poke(runtime, c, c.offset() - 1, 0); });
     }},
    {"ARowsPadding", "C: element",
     [](Runtime& runtime, GemmDesc desc) {
       const Tensor c = desc.c.tensor();
       return gemm_then(runtime, desc, [&] { poke(runtime, c, c.offset() + c.extent(1), 0); });
     },
     [](GemmCase& x) { x.c.pad = 1; }},
    {"AnOperandWritten", "A: element",
     [](Runtime& runtime, GemmDesc desc) {
       const Tensor a = desc.a.tensor();
       return gemm_then(runtime, desc, [&] { poke(runtime, a, a.offset(), 0.25F); });
     }},
    {"ALostRow", "worst at",
     [](Runtime& runtime, GemmDesc desc) {
       const Tensor a = desc.a.tensor();
       const Tensor c = desc.c.tensor();
       desc.a = must(a.slice(0, 0, a.extent(0) - 1));
       desc.c = must(c.slice(0, 0, c.extent(0) - 1));
       return gemm(runtime, desc);
     }},
    {"ALostStepOfK", "worst at",
     [](Runtime& runtime, GemmDesc desc) {
       const Tensor a = desc.a.tensor();
       const Tensor b = desc.b.tensor();
       desc.a = must(a.slice(1, 0, a.extent(1) - 1));
       desc.b = must(b.slice(0, 0, b.extent(0) - 1));
       return gemm(runtime, desc);
     }},
    {"AStepBeyondK", "worst at",  // reads the padding, which is NaN
     [](Runtime& runtime, GemmDesc desc) {
       const Tensor a = desc.a.tensor();
       const Tensor b = desc.b.tensor();
       desc.a = must(a.view({a.extent(0), a.extent(1) + 1}, a.strides(), a.offset()));
       desc.b = must(b.view({b.extent(0) + 1, b.extent(1)}, b.strides(), b.offset()));
       return gemm(runtime, desc);
     }},
    {"ReadsCWithBetaZero", "worst at",
     [](Runtime& runtime, GemmDesc desc) {
       desc.beta = 1e-30F;
       return gemm(runtime, desc);
     }},
    {"ReadsAWithAlphaZero", "worst at",
     [](Runtime& runtime, GemmDesc desc) {
       desc.alpha = 1e-30F;
       return gemm(runtime, desc);
     },
     [](GemmCase& x) { x.alpha = 0; }},
    {"AWrongAlpha", "worst at",
     [](Runtime& runtime, GemmDesc desc) {
       desc.alpha = desc.alpha.value() * (1 + 1e-4F);
       return gemm(runtime, desc);
     }},
    {"ALostBias", "worst at",
     [](Runtime& runtime, GemmDesc desc) {
       desc.epilogue.bias.reset();
       return gemm(runtime, desc);
     },
     [](GemmCase& x) { x.bias = DType::F32; }},
    {"AnotherActivation", "worst at",
     [](Runtime& runtime, GemmDesc desc) {
       desc.epilogue.activation = Activation::Silu;
       return gemm(runtime, desc);
     },
     [](GemmCase& x) { x.activation = Activation::GeluTanh; }},
    {"ALostGateOffset", "worst at",
     [](Runtime& runtime, GemmDesc desc) {
       desc.epilogue.gate->up_offset = 0;
       return gemm(runtime, desc);
     },
     [](GemmCase& x) { x.gate = Gate{.up_offset = 0.001F}; }},
    {"ALostGateLimit", "worst at",
     [](Runtime& runtime, GemmDesc desc) {
       desc.epilogue.gate->limit = 1e9F;
       return gemm(runtime, desc);
     },
     [](GemmCase& x) { x.gate = Gate{.limit = 1}; }},
    {"AWrongGateAlpha", "worst at",
     [](Runtime& runtime, GemmDesc desc) {
       desc.epilogue.gate->alpha *= 1.01F;
       return gemm(runtime, desc);
     },
     [](GemmCase& x) { x.gate = Gate{.alpha = 1.702F}; }},
    {"AnotherOrderOfTheHalves", "worst at",
     [](Runtime& runtime, GemmDesc desc) {
       desc.epilogue.gate->order = GateOrder::Interleaved;
       return gemm(runtime, desc);
     },
     [](GemmCase& x) { x.gate = Gate{}; }},
    {"AnotherGate", "worst at",
     [](Runtime& runtime, GemmDesc desc) {
       desc.epilogue.gate->activation = Activation::GeluTanh;
       return gemm(runtime, desc);
     },
     [](GemmCase& x) { x.gate = Gate{}; }},
    {"ABiasOfTheFirstHalfAlone", "worst at",
     [](Runtime& runtime, GemmDesc desc) {
       const Tensor own = must(runtime.tensor({12}, DType::F32));
       for (std::int64_t i = 0; i < 12; ++i) {
         const Tensor& bias = *desc.epilogue.bias;
         poke(runtime, own, i, peek(runtime, bias, bias.offset() + i % 6));
       }
       desc.epilogue.bias = own;
       return gemm(runtime, desc);
     },
     [](GemmCase& x) {
       x.bias = DType::F32;
       x.gate = Gate{};
     }},
    {"TwoDispatches", "2 dispatches",
     [](Runtime& runtime, GemmDesc desc) {
       must(gemm(runtime, desc));
       return gemm(runtime, desc);
     }},
    {"NoDispatch", "0 dispatches", [](Runtime&, GemmDesc) { return Status(); }},
    {"ARefusal", "call: ",
     [](Runtime&, GemmDesc) {
       return Status(Error{Code::OutOfMemory, "injected"});
     }},
    {"AResultThatVaries", "differ in bits at [0, 0]",
     [calls = std::make_shared<int>(0)](Runtime& runtime, GemmDesc desc) {
       const Tensor c = desc.c.tensor();
       return gemm_then(runtime, desc, [&] {
         const float value = peek(runtime, c, c.offset());
         if (++*calls % 2 == 0) poke(runtime, c, c.offset(), std::nextafter(value, 9.0F));
       });
     }},
};

class FaultTest : public ::testing::TestWithParam<Fault> {};

TEST_P(FaultTest, IsCaught) {
  Runtime runtime = must(Runtime::open({.backend = Backend::Cpu}));
  GemmCase gemm_case{.m = 5, .n = 6, .k = 40, .a = {.pad = 1}, .b = {.pad = 1}};
  GetParam().change(gemm_case);
  EXPECT_FALSE(run_case(runtime, gemm_case, Mode::Eager).failed());
  const CaseReport report = run_case(runtime, gemm_case, Mode::Eager, GetParam().launch);
  EXPECT_TRUE(report.failed());
  EXPECT_NE(report.detail.find(GetParam().finding), std::string::npos) << report.detail;
}

INSTANTIATE_TEST_SUITE_P(Faults, FaultTest, ::testing::ValuesIn(kFaults),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(FaultInReplayTest, ContentsFrozenAtCaptureAreCaught) {
  Runtime runtime = must(Runtime::open({.backend = Backend::Cpu}));
  const GemmCase gemm_case{.m = 4, .n = 4, .k = 4};
  verify::BoundGemm bound = must(verify::BoundGemm::make(runtime, gemm_case));
  bound.fill(0);
  must(bound.upload(runtime));
  std::vector<float> contents(16);
  must(runtime.download(bound.a().tensor(), std::span(contents)));
  const Tensor frozen = must(runtime.tensor({4, 4}, DType::F32));
  must(runtime.upload(frozen, std::span<const float>(contents)));
  const GemmLauncher stale = [&](Runtime& on, GemmDesc desc) {
    desc.a = frozen;
    return gemm(on, desc);
  };
  EXPECT_FALSE(run_case(runtime, gemm_case, Mode::Captured, stale).failed());
  const CaseReport report = run_case(runtime, gemm_case, Mode::Replayed, stale);
  EXPECT_TRUE(report.failed());
  EXPECT_NE(report.detail.find("worst at"), std::string::npos) << report.detail;
}

TEST(FaultInReplayTest, AReplayThatDiffersFromTheEagerCallIsCaught) {
  Runtime runtime = must(Runtime::open({.backend = Backend::Cpu}));
  const GemmCase gemm_case{.m = 4, .n = 4, .k = 40};
  int calls = 0;
  const GemmLauncher reordered = [&](Runtime& on, const GemmDesc& desc) -> Status {
    if (calls++ == 0) return gemm(on, desc);
    // Eagerly one unit in the last place away: within the bound.
    Status status = gemm(on, desc);
    const Tensor c = desc.c.tensor();
    if (status) poke(on, c, c.offset(), std::nextafter(peek(on, c, c.offset()), 9.0F));
    return status;
  };
  const CaseReport report = run_case(runtime, gemm_case, Mode::Captured, reordered);
  EXPECT_TRUE(report.failed());
  EXPECT_NE(report.detail.find("replay and eager call differ"), std::string::npos) << report.detail;
}

TEST(RefusalTest, OnlyATruthfulOneIsAccepted) {
  Runtime runtime = must(Runtime::open({.backend = Backend::Cpu}));
  GemmCase gemm_case{.m = 2, .n = 2, .k = 2, .precision = Precision::Tf32};
  EXPECT_EQ(run_case(runtime, gemm_case, Mode::Eager).outcome, CaseReport::Outcome::Refused);
  gemm_case.output = DType::I32;  // no case of the generator may be invalid
  EXPECT_TRUE(run_case(runtime, gemm_case, Mode::Eager).failed());
}

}  // namespace
}  // namespace girih
