# One translation unit a target; only it is compiled for that instruction set. The flags must name
# all that Highway's target of that level asks for.
#
# No target may contract a * b + c on its own: kernels say where they fuse, and that is what makes
# their bits equal.
set(avx2_flags -mavx2 -mfma -mf16c -mbmi -mbmi2 -mpclmul -maes)
set(avx512_flags ${avx2_flags} -mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl)
set(neon_flags "")
set(scalar_flags "")

set(cpu_targets scalar)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  list(APPEND cpu_targets avx2 avx512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  list(APPEND cpu_targets neon)
endif()

foreach(target avx2 avx512 neon scalar)
  set(unit ${CMAKE_CURRENT_LIST_DIR}/kernels/targets/${target}.cpp)
  if(NOT target IN_LIST cpu_targets)
    set_source_files_properties(${unit} PROPERTIES HEADER_FILE_ONLY ON)
    continue()
  endif()
  set_source_files_properties(${unit} PROPERTIES
                              COMPILE_OPTIONS "${${target}_flags};-ffp-contract=off;-fno-math-errno")
  string(TOUPPER GIRIH_CPU_HAS_${target} has)
  set_property(SOURCE ${CMAKE_CURRENT_LIST_DIR}/table.cpp APPEND
               PROPERTY COMPILE_DEFINITIONS ${has}=1)
endforeach()
