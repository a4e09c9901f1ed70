# Thin wrappers: every MLIR-facing library is built with the same flags, the
# same include roots and, by default, the same precompiled header.

# Warnings and language subset of all C++ in this project that sees MLIR.
function(dsv4_configure_target name)
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/dialect>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/passes>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_include_directories(${name} SYSTEM PUBLIC
    $<BUILD_INTERFACE:${LLVM_INCLUDE_DIRS}> $<BUILD_INTERFACE:${MLIR_INCLUDE_DIRS}>)
  # NDEBUG: the packaged libraries have another layout of llvm::Statistic
  # without it.
  target_compile_definitions(${name} PRIVATE NDEBUG)
  target_compile_options(${name} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti -fno-exceptions -Wall -Wextra -Wno-unused-parameter>)
endfunction()

# dsv4_add_library(Name sources... DEPENDS targets... LINK libraries...)
function(dsv4_add_library name)
  cmake_parse_arguments(ARG "NO_PCH" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  dsv4_configure_target(${name})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  if(DSV4_ENABLE_PCH AND NOT ARG_NO_PCH)
    dsv4_use_precompiled_header(${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY DSV4_EXPORTED_TARGETS ${name})
endfunction()

# One precompiled header for all: built once by DSV4IR.
function(dsv4_use_precompiled_header name)
  # Without the time stamp the header's bytes depend on its text alone, so that
  # ccache can answer for the files that use it.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  if(name STREQUAL "DSV4IR")
    target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/Precompiled.h)
  else()
    target_precompile_headers(${name} REUSE_FROM DSV4IR)
  endif()
endfunction()

function(dsv4_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  dsv4_configure_target(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} MLIR LLVM)
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()
