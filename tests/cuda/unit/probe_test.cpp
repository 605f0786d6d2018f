#include "backends/cuda/probe.hpp"

#include <gtest/gtest.h>

#include "backends/cuda/status.hpp"

namespace girih::testing {
namespace {

using cuda::Presence;
using cuda::Probe;
using cuda::Sighting;

Sighting h200() {
  Sighting seen{.runtime = 13000, .driver = 13000, .count = 1};
  seen.info.name = "NVIDIA H200";
  seen.info.compute_capability = 90;
  seen.info.features.add(Feature::Sm80);
  seen.info.features.add(Feature::Sm90a);
  return seen;
}

void expect(const Sighting& seen, Presence presence, std::string_view reason) {
  const Probe found = cuda::judge(seen);
  EXPECT_EQ(found.presence, presence) << found.reason;
  EXPECT_NE(found.reason.find(reason), std::string::npos) << found.reason;
  EXPECT_EQ(found.reason.empty(), presence == Presence::Usable);
}

TEST(CudaJudge, ADeviceThatFits) {
  expect(h200(), Presence::Usable, "");
  Sighting newer = h200();
  newer.driver = 13020;
  expect(newer, Presence::Usable, "");
  EXPECT_EQ(cuda::judge(newer).info.name, "NVIDIA H200");
}

TEST(CudaJudge, NoDriver) {
  Sighting seen = h200();
  seen.driver = 0;
  expect(seen, Presence::None, "no NVIDIA driver");
  seen.count_status = cudaErrorInsufficientDriver;  // what CUDA says of a missing one too
  expect(seen, Presence::None, "no NVIDIA driver");
  seen = h200();
  seen.driver_status = cudaErrorInsufficientDriver;
  expect(seen, Presence::None, "no NVIDIA driver");
}

TEST(CudaJudge, AnOldDriverIsThereButUnusable) {
  Sighting seen = h200();
  seen.driver = 12040;
  seen.count_status = cudaErrorInsufficientDriver;
  expect(seen, Presence::Unusable, "supports CUDA 12.4, this build needs 13.0");
  seen.count_status = cudaSuccess;
  expect(seen, Presence::Unusable, "12.4");
  seen.driver = 13000;
  seen.runtime = 13010;
  seen.count_status = cudaErrorInsufficientDriver;
  expect(seen, Presence::Unusable, "this build needs 13.1");
}

TEST(CudaJudge, ADriverWithoutADevice) {
  Sighting seen = h200();
  seen.count = 0;
  expect(seen, Presence::None, "no CUDA device");
  seen.count_status = cudaErrorNoDevice;
  expect(seen, Presence::None, "no CUDA device");
  seen = h200();
  seen.device = 1;
  expect(seen, Presence::None, "no device 1: there are 1");
  seen.device = -1;
  expect(seen, Presence::None, "-1");
}

TEST(CudaJudge, ADriverThatFails) {
  Sighting seen = h200();
  seen.count_status = cudaErrorSystemNotReady;
  expect(seen, Presence::Unusable, "cudaErrorSystemNotReady");
  seen = h200();
  seen.properties_status = cudaErrorInvalidDevice;
  expect(seen, Presence::Unusable, "cudaErrorInvalidDevice");
}

TEST(CudaJudge, AnArchitectureThatTheKernelsAreNotFor) {
  for (const int capability : {60, 70, 75}) {
    Sighting seen = h200();
    seen.info.features = {};
    seen.info.compute_capability = capability;
    expect(seen, Presence::Unusable,
           std::to_string(capability / 10) + "." + std::to_string(capability % 10));
  }
  Sighting seen = h200();
  seen.info.features = {Feature::Sm80};
  seen.info.compute_capability = 86;
  EXPECT_EQ(cuda::judge(seen).presence, Presence::Usable);
}

TEST(CudaStatus, TellsMisuseAndMemoryFromFaults) {
  EXPECT_EQ(cuda::code_of(cudaErrorMemoryAllocation), Code::OutOfMemory);
  for (const cudaError_t misuse :
       {cudaErrorStreamCaptureUnsupported, cudaErrorStreamCaptureInvalidated,
        cudaErrorStreamCaptureImplicit, cudaErrorCapturedEvent,
        cudaErrorStreamCaptureWrongThread}) {
    EXPECT_EQ(cuda::code_of(misuse), Code::CaptureMisuse) << cudaGetErrorName(misuse);
  }
  for (const cudaError_t fault :
       {cudaErrorIllegalAddress, cudaErrorLaunchFailure, cudaErrorLaunchTimeout,
        cudaErrorECCUncorrectable, cudaErrorHardwareStackError, cudaErrorUnknown}) {
    EXPECT_EQ(cuda::code_of(fault), Code::DeviceFailed) << cudaGetErrorName(fault);
    EXPECT_EQ(kind(cuda::code_of(fault)), ErrorKind::Failed);
  }
  const Error error = cuda::failure(cudaErrorIllegalAddress, "cudaStreamSynchronize");
  EXPECT_EQ(error.code, Code::DeviceFailed);
  EXPECT_NE(error.message.find("cudaErrorIllegalAddress"), std::string::npos) << error.message;
}

}  // namespace
}  // namespace girih::testing
