# metal_host_sources: the host part, with the kernels' text embedded. It needs no header of any SDK, so
# it compiles everywhere; what it links to is macOS, or the emulator.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(metal_folder ${CMAKE_CURRENT_LIST_DIR})
file(GLOB metal_host_sources CONFIGURE_DEPENDS ${metal_folder}/*.cpp)
list(FILTER metal_host_sources EXCLUDE REGEX "/(absent|table)\\.cpp$")
file(GLOB metal_kernels CONFIGURE_DEPENDS ${metal_folder}/kernels/*.metal)
file(GLOB metal_headers CONFIGURE_DEPENDS ${metal_folder}/kernels/*.h)
foreach(kernel ${metal_kernels})
  get_filename_component(name ${kernel} NAME_WE)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/metal/${name})
  add_custom_command(
    OUTPUT ${out}.metal ${out}.cpp
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/metal
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/flatten_msl.py ${kernel} ${out}.metal
            --embed ${name}_source ${out}.cpp
    DEPENDS ${kernel} ${metal_headers} ${PROJECT_SOURCE_DIR}/scripts/flatten_msl.py
    COMMENT "Text of ${name}.metal" VERBATIM)
  list(APPEND metal_host_sources ${out}.cpp)
endforeach()
