include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/girih)
install(TARGETS girih EXPORT girih-targets)
install(DIRECTORY include/girih DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT girih-targets NAMESPACE girih:: DESTINATION ${package_folder})
configure_package_config_file(cmake/girih-config.cmake.in girih-config.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(girih-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/girih-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/girih-config-version.cmake
        DESTINATION ${package_folder})
install(FILES LICENSE-MIT LICENSE-APACHE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET girih_cli)
  install(TARGETS girih_cli)
endif()
if(TARGET girih_blas)
  install(TARGETS girih_blas)
endif()
