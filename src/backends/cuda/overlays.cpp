#include "backends/cuda/overlays.hpp"

#include <array>

#include "backends/cuda/image.hpp"

namespace girih::inline v0::cuda {
namespace {

/// Why the driver does not take an image. `log` is what its compiler said, or empty.
Error refusal(cudaError_t status, std::string_view log) noexcept {
  (void)cudaGetLastError();
  switch (status) {
    case cudaErrorMemoryAllocation:
      return failure(status, "add_kernels");
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorJitCompilationDisabled:
      return error(Code::FileUnsupported, "add_kernels: {}, {}{}{}", cudaGetErrorName(status),
                   cudaGetErrorString(status), log.empty() ? "" : ": ", log);
    default:
      return error(Code::FileFormat, "add_kernels: {}, {}{}{}", cudaGetErrorName(status),
                   cudaGetErrorString(status), log.empty() ? "" : ": ", log);
  }
}

}  // namespace

void Overlays::unload() noexcept {
  for (const cudaLibrary_t library : libraries_) (void)cudaLibraryUnload(library);
  libraries_.clear();
}

const ForeignKernel* Overlays::find(std::string_view name) const noexcept {
  for (const ForeignKernel& kernel : kernels_) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

Result<cudaLibrary_t> Overlays::load(const KernelImage& image) noexcept {
  const Result<std::vector<std::byte>> bytes = read_image(image);
  if (!bytes) return bytes.error();
  GIRIH_TRY(check_image(*bytes));
  std::array<char, 1024> log{};
  std::array options = {cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes};
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
  cudaLibrary_t library = nullptr;
  const cudaError_t status = cudaLibraryLoadData(&library, bytes->data(), options.data(),
                                                 values.data(), 2, nullptr, nullptr, 0);
  if (status == cudaSuccess) return library;
  std::replace(log.begin(), log.end(), '\n', ' ');
  return refusal(status, log.data());
}

Status Overlays::describe(cudaKernel_t function, ForeignKernel& kernel) {
  CUfunction loaded = nullptr;
  CUresult status = home_.driver().kernel_function(&loaded, reinterpret_cast<CUkernel>(function));
  if (status == CUDA_SUCCESS) status = home_.driver().load_function(loaded);
  if (status != CUDA_SUCCESS) {
    return refusal(static_cast<cudaError_t>(status), "while loading a kernel");
  }
  const void* const pointer = reinterpret_cast<const void*>(function);
  const char* name = nullptr;
  GIRIH_CUDA_TRY(cudaFuncGetName(&name, pointer));
  kernel.name = name;
  kernel.function = pointer;
  cudaFuncAttributes attributes{};
  GIRIH_CUDA_TRY(cudaFuncGetAttributes(&attributes, pointer));
  kernel.most_threads = static_cast<std::uint32_t>(attributes.maxThreadsPerBlock);
  int most = 0;
  GIRIH_CUDA_TRY(
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, home_.device()));
  most -= static_cast<int>(attributes.sharedSizeBytes);
  GIRIH_CUDA_TRY(cudaFuncSetAttribute(pointer, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
  kernel.most_shared_bytes = static_cast<std::uint32_t>(most);
  std::size_t offset = 0, bytes = 0;
  while (cudaFuncGetParamInfo(pointer, kernel.parameters.size(), &offset, &bytes) == cudaSuccess) {
    kernel.parameters.push_back(bytes);
  }
  (void)cudaGetLastError();  // of the first index that is none
  return {};
}

Result<std::list<ForeignKernel>> Overlays::kernels_of(cudaLibrary_t library) {
  unsigned count = 0;
  GIRIH_CUDA_TRY(cudaLibraryGetKernelCount(&count, library));
  // PTX is compiled late: text that does not compile is a library without kernels.
  if (count == 0) return error(Code::FileFormat, "add_kernels: the driver finds no kernel in it");
  std::vector<cudaKernel_t> functions(count);
  GIRIH_CUDA_TRY(cudaLibraryEnumerateKernels(functions.data(), count, library));
  std::list<ForeignKernel> kernels(count);
  auto kernel = kernels.begin();
  for (const cudaKernel_t function : functions) GIRIH_TRY(describe(function, *kernel++));
  return kernels;
}

Result<std::vector<std::string>> Overlays::add(const KernelImage& image,
                                               std::span<const KernelInfo> own) noexcept try {
  const Inside inside(home_);
  libraries_.reserve(libraries_.size() + 1);
  const Result<cudaLibrary_t> library = load(image);
  if (!library) return library.error();
  struct Unload {
    void operator()(CUlib_st* loaded) const noexcept {
      (void)cudaLibraryUnload(reinterpret_cast<cudaLibrary_t>(loaded));
    }
  };
  std::unique_ptr<CUlib_st, Unload> guard(reinterpret_cast<CUlib_st*>(*library));
  Result<std::list<ForeignKernel>> added = kernels_of(*library);
  if (!added) return added.error();
  std::vector<std::string> names;
  for (const ForeignKernel& kernel : *added) {
    GIRIH_TRY(check_name(kernel.name, own, find(kernel.name) != nullptr));
    names.push_back(kernel.name);
  }
  libraries_.push_back(*library);
  (void)guard.release();
  kernels_.splice(kernels_.end(), *added);
  return names;
} catch (...) {
  return error(Code::OutOfMemory, "no host memory for kernels");
}

}  // namespace girih::inline v0::cuda
