// The layout of every public type as numbers in a section of its own, which layout.py compares
// between ways to compile. A fault is seeded with GIRIH_FAULT.

#include <cstddef>

#include <girih/accel.hpp>
#include <girih/girih.h>
#include <girih/girih.hpp>
#include <girih/io.hpp>

namespace {

using namespace girih;

#if defined(GIRIH_FAULT) && defined(__AVX512F__)
struct alignas(64) Fault {
  int x;
};
#else
struct Fault {
  int x;
};
#endif

#pragma GCC diagnostic ignored \
    "-Winvalid-offsetof"  // offsets in types with constructors, on purpose

#define TYPE(T) sizeof(T), alignof(T)
#define AT(T, member) offsetof(T, member)

__attribute__((section("girih_layout"), used)) const std::size_t layout[] = {
    // clang-format off
    TYPE(Fault),
    TYPE(DType), TYPE(bf16), TYPE(f16), TYPE(f8e4m3), TYPE(f8e5m2),
    TYPE(Shape), TYPE(Strides), TYPE(Memory), TYPE(Tensor),
    TYPE(ErrorKind), TYPE(Code), TYPE(Error), AT(Error, message), TYPE(Status), TYPE(Result<Tensor>),
    TYPE(Operand), TYPE(Output), TYPE(Granularity), TYPE(Scale), AT(Scale, granularity),
    TYPE(ScalarArg<float>),
    TYPE(Activation), TYPE(Precision), TYPE(Path), TYPE(Epilogue), AT(Epilogue, activation),
    AT(Epilogue, gate), AT(Epilogue, residual), TYPE(GateOrder), TYPE(Gate), AT(Gate, order),
    AT(Gate, alpha), AT(Gate, limit), AT(Gate, up_offset),
    TYPE(GemmDesc), AT(GemmDesc, b), AT(GemmDesc, c), AT(GemmDesc, alpha), AT(GemmDesc, beta),
    AT(GemmDesc, a_scale), AT(GemmDesc, b_scale), AT(GemmDesc, c_scale), AT(GemmDesc, epilogue),
    AT(GemmDesc, precision),
    AT(GemmDesc, path), AT(GemmDesc, reproducibility), AT(GemmDesc, workspace),
    TYPE(GroupedGemmDesc), AT(GroupedGemmDesc, offsets), AT(GroupedGemmDesc, alpha),
    AT(GroupedGemmDesc, epilogue), AT(GroupedGemmDesc, workspace),
    TYPE(RouterWeights), TYPE(RouteDesc), AT(RouteDesc, chosen), AT(RouteDesc, sources),
    AT(RouteDesc, kind), AT(RouteDesc, workspace), TYPE(PermuteDesc), AT(PermuteDesc, y),
    TYPE(UnpermuteDesc), AT(UnpermuteDesc, weights),
    TYPE(CopyDesc), TYPE(CastDesc), TYPE(FillDesc), AT(FillDesc, value), TYPE(OpDesc),
    TYPE(Traversal), TYPE(Plan), TYPE(Plan::Rejected), AT(Plan, tile), AT(Plan, split_k),
    AT(Plan, workspace_bytes), AT(Plan, reduction), AT(Plan, rejected),
    TYPE(Backend), TYPE(Policy), TYPE(Reproducibility),
    TYPE(RuntimeOptions), AT(RuntimeOptions, executor), AT(RuntimeOptions, cold_cache_bytes),
    AT(RuntimeOptions, force_kernel), AT(RuntimeOptions, allocator), AT(RuntimeOptions, cuda),
    AT(RuntimeOptions, metal),
    TYPE(MemoryInfo), TYPE(Event), TYPE(Runtime), TYPE(Graph), TYPE(Executor),
    TYPE(Allocator), TYPE(CudaHandles), AT(CudaHandles, stream), TYPE(MetalHandles),
    TYPE(ForeignMemory), AT(ForeignMemory, deleter), TYPE(NativeMemory), TYPE(NativeObject),
    TYPE(ForeignEvent), TYPE(KernelImage), AT(KernelImage, path), TYPE(KernelArgument),
    TYPE(LaunchExtents), TYPE(KernelDesc), AT(KernelDesc, shared_bytes), AT(KernelDesc, arguments),
    TYPE(HostView), TYPE(HostArray), TYPE(ArrayInfo), TYPE(NamedView), TYPE(Safetensors),
    TYPE(Safetensors::Entry), TYPE(Safetensors::Metadata),
    TYPE(accel::OffloadModel), TYPE(accel::DeviceProbe), TYPE(accel::FlatProduct),
    TYPE(accel::Agreement),
    TYPE(girih_accel_device_probe), AT(girih_accel_device_probe, name_length),
    TYPE(girih_accel_agreement), AT(girih_accel_agreement, compared),
    // clang-format on
};

}  // namespace
