# Device code: one translation unit a type and two tiles of the 16-bit GEMM, which stay under 30 s
# each; the launch through scripts/ptxas_check.py fails on spills, local stack and C75xx.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(cuda_folder ${CMAKE_CURRENT_LIST_DIR})
file(GLOB cuda_sources CONFIGURE_DEPENDS ${cuda_folder}/kernels/*.cu)
set(generated ${CMAKE_CURRENT_BINARY_DIR}/cuda)
set(types bf16 f16)
set(elements BF16 F16)
foreach(type element IN ZIP_LISTS types elements)
  foreach(unit RANGE 8)
    set(source ${generated}/gemm_wgmma_${type}_${unit}.cu)
    file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
         "#include \"backends/cuda/kernels/gemm_wgmma_instances.cuh\"\n\nGIRIH_GEMM_WGMMA_UNIT(@type@, @element@, @unit@)\n")
    list(APPEND cuda_sources ${source})
  endforeach()
endforeach()

# Machine code of compute capability 9.0 is in every object. What needs nothing of 9.0 alone has PTX
# for 8.0 and later beside it, which other devices compile when they first load it, a file at a time;
# what gains nothing from 9.0's instructions is made from that PTX for 9.0 too, in half the time.
foreach(source ${cuda_sources})
  if(source MATCHES "/gemm_(wgmma|fast_f32|grouped_(bf16|f16))[^/]*$")
    set(code arch=compute_90a,code=[sm_90a])
  elseif(source MATCHES "/(gemm_(mma|f32_[0-2]|simt|finish)|move|transpose|walk)[^/]*$")
    set(code arch=compute_80,code=[compute_80,sm_90])
  else()
    set(code "arch=compute_90a,code=[sm_90a];--generate-code=arch=compute_80,code=[compute_80]")
  endif()
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "--generate-code=${code}")
endforeach()

add_library(girih_cuda_kernels OBJECT ${cuda_sources})
target_include_directories(girih_cuda_kernels PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
# CMake 3.25 does not know the dialects of nvcc 13.
target_compile_options(girih_cuda_kernels PRIVATE -std=c++20 --expt-relaxed-constexpr "SHELL:-Xptxas -v")
set(launcher ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/ptxas_check.py)
if(CMAKE_CUDA_COMPILER_LAUNCHER)
  list(APPEND launcher ${CMAKE_CUDA_COMPILER_LAUNCHER})
elseif(GIRIH_CCACHE)
  list(APPEND launcher ${GIRIH_CCACHE})
endif()
set_target_properties(girih_cuda_kernels PROPERTIES
                      CUDA_ARCHITECTURES OFF CUDA_VISIBILITY_PRESET hidden
                      VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON
                      CUDA_SEPARABLE_COMPILATION OFF CUDA_COMPILER_LAUNCHER "${launcher}")
