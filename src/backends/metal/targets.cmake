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
            --embed ${name} ${out}.cpp
    DEPENDS ${kernel} ${metal_headers} ${PROJECT_SOURCE_DIR}/scripts/flatten_msl.py
    COMMENT "Text of ${name}.metal" VERBATIM)
  list(APPEND metal_host_sources ${out}.cpp)
endforeach()

# The kernels compiled ahead, where there is a Metal compiler. Else the backend compiles their text, and
# this says so. A metallib that does not fit the text is refused when it is loaded.
set(metal_compiler xcrun -sdk macosx)
set(build_metallib ${GIRIH_METALLIB})
if(GIRIH_METALLIB STREQUAL "AUTO")
  set(build_metallib OFF)
  if(APPLE)
    execute_process(COMMAND ${metal_compiler} --find metal RESULT_VARIABLE no_compiler
                    OUTPUT_QUIET ERROR_QUIET)
    if(no_compiler EQUAL 0)
      set(build_metallib ON)
    else()
      message(STATUS "No Metal compiler (xcodebuild -downloadComponent MetalToolchain): kernels "
                     "will be compiled from their text when they are first used")
    endif()
  endif()
endif()
set(metallib "")
if(build_metallib)
  find_program(GIRIH_XCRUN xcrun REQUIRED)
  set(air_files "")
  foreach(kernel ${metal_kernels})
    get_filename_component(name ${kernel} NAME_WE)
    set(out ${CMAKE_CURRENT_BINARY_DIR}/metal/${name})
    add_custom_command(
      OUTPUT ${out}.air
      COMMAND ${metal_compiler} metal -std=metal4.0 -fno-fast-math -mmacosx-version-min=26.2
              -c ${out}.metal -o ${out}.air
      DEPENDS ${out}.metal COMMENT "Kernels of ${name}.metal" VERBATIM)
    list(APPEND air_files ${out}.air)
  endforeach()
  set(metallib ${CMAKE_CURRENT_BINARY_DIR}/metal/girih.metallib)
  add_custom_command(OUTPUT ${metallib}
                     COMMAND ${metal_compiler} metallib ${air_files} -o ${metallib}
                     DEPENDS ${air_files} COMMENT "Metal library" VERBATIM)
endif()
set(out ${CMAKE_CURRENT_BINARY_DIR}/metal/metallib.cpp)
add_custom_command(
  OUTPUT ${out}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/metal
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/embed_metallib.py ${out} ${metallib}
  DEPENDS ${metallib} ${PROJECT_SOURCE_DIR}/scripts/embed_metallib.py VERBATIM)
list(APPEND metal_host_sources ${out})
