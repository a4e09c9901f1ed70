# Installs the build into a prefix of its own, builds the outside project with
# nothing but that prefix, and runs it.

function(run_step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "failed with ${status}: ${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
run_step(${CMAKE_COMMAND} --install ${DSV4_BUILD_DIR} --prefix ${WORK_DIR}/prefix)

foreach(path
    include/dsv4/IR/Dsv4Ops.h include/dsv4/IR/Dsv4Ops.h.inc include/dsv4/IR/Dsv4Ops.td
    include/dsv4/Passes/Passes.h.inc include/dsv4/Passes/Passes.td
    include/dsv4/Runtime/Runtime.h bin/dsv4-opt)
  if(NOT EXISTS ${WORK_DIR}/prefix/${path})
    message(FATAL_ERROR "not installed: ${path}")
  endif()
endforeach()

run_step(${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${WORK_DIR}/build -G Ninja
  -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix
  -DCMAKE_C_COMPILER=${C_COMPILER}
  -DCMAKE_CXX_COMPILER=${CXX_COMPILER}
  -DCMAKE_CXX_FLAGS=${CXX_FLAGS}
  -DCMAKE_EXE_LINKER_FLAGS=${LINKER_FLAGS})
run_step(${CMAKE_COMMAND} --build ${WORK_DIR}/build)

run_step(${WORK_DIR}/build/outside)
if(NOT output MATCHES "dsv4.mesh @mesh \\[\"dp_shard\" = 2, \"cp\" = 2\\]")
  message(FATAL_ERROR "the outside program printed:\n${output}")
endif()
if(EXISTS ${WORK_DIR}/build/runtime-only)
  run_step(${WORK_DIR}/build/runtime-only)
endif()
run_step(${WORK_DIR}/prefix/bin/dsv4-opt --version)
message(STATUS "${output}")
