# girih_compile_options(target): the language level, warnings and sanitizers of every girih target.
function(girih_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden
                                             VISIBILITY_INLINES_HIDDEN ON
                                             POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                           $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -Wundef
                                           $<$<BOOL:${GIRIH_WERROR}>:-Werror>)
  if(GIRIH_SANITIZE)
    list(JOIN GIRIH_SANITIZE "," sanitizers)
    target_compile_options(${target} PRIVATE -fsanitize=${sanitizers} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${sanitizers})
  endif()
endfunction()
