# Fails when a committed page is not what TableGen writes.

execute_process(
  COMMAND ${CMAKE_COMMAND} -E compare_files ${GENERATED} ${COMMITTED}
  RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  execute_process(COMMAND diff -u ${COMMITTED} ${GENERATED})
  message(FATAL_ERROR
    "${COMMITTED} is out of date: build the target dsv4-doc and commit the result")
endif()
