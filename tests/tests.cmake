#  The tests: one binary and one ctest entry per test_*.c, one entry per test_*.sh and test_*.py beside them.
#
#  A test finds the source tree in $ARGOS_SOURCE and the build tree in $ARGOS_BUILD. Exit code 77 means skipped.

set (test_environment "ARGOS_SOURCE=${CMAKE_SOURCE_DIR}" "ARGOS_BUILD=${CMAKE_BINARY_DIR}"
    "ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1" "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=${CMAKE_SOURCE_DIR}/tests/dev/tsan.supp")

#  Core and store in one thread: for the simulator and for tests of the core

argos_layer (argos_sim_net FOLDERS tests/sim/net BELOW argos_adapters)
if (NOT ARGOS_TESTS)
    set_target_properties (argos_sim_net PROPERTIES EXCLUDE_FROM_ALL ON)
endif ()

#  The simulator, the bench: one program each from all files of the folder; built on demand when the tests are off

foreach (folder IN ITEMS sim bench)
    file (GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*.c)
    set (main_lines)
    foreach (source IN LISTS sources)
        file (STRINGS ${source} lines REGEX "^main \\(")
        list (APPEND main_lines ${lines})
    endforeach ()
    #  A folder whose main is still to come is no program yet
    if (sources AND NOT main_lines)
        set_property (DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
    elseif (sources)
        add_executable (argos-${folder} ${sources})
        target_link_libraries (argos-${folder} PRIVATE argos_sim_net m)
        target_include_directories (argos-${folder} PRIVATE ${CMAKE_SOURCE_DIR}/tests/${folder})
        if (NOT ARGOS_TESTS)
            set_target_properties (argos-${folder} PROPERTIES EXCLUDE_FROM_ALL ON)
        endif ()
    endif ()
endforeach ()

#  The link of the tests with faults of the network

add_executable (argos-relay ${CMAKE_SOURCE_DIR}/tests/net/argos_relay.c)
set_target_properties (argos-relay PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
if (NOT ARGOS_TESTS)
    set_target_properties (argos-relay PROPERTIES EXCLUDE_FROM_ALL ON)
endif ()

#  What a fuzz target is made of: fuzz_sequence has the model of the simulator

function (argos_fuzz_target target name)
    target_include_directories (${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/fuzz)
    target_link_libraries (${target} PRIVATE argos_adapters)
    if (name STREQUAL "fuzz_sequence")
        target_sources (${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/sim/argos_sim_shadow.c)
        target_include_directories (${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/sim)
        target_link_libraries (${target} PRIVATE argos_sim_net)
    endif ()
endfunction ()

#  tests/fuzz/fuzz_NAME.c: one libFuzzer program each

if (ARGOS_FUZZ)
    file (GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
    foreach (source IN LISTS sources)
        get_filename_component (name ${source} NAME_WE)
        add_executable (${name} ${source})
        argos_fuzz_target (${name} ${name})
        target_link_options (${name} PRIVATE -fsanitize=fuzzer)
        set_target_properties (${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    endforeach ()
endif ()

if (NOT ARGOS_TESTS)
    return ()
endif ()

enable_testing ()
pkg_check_modules (PC_cmocka REQUIRED IMPORTED_TARGET cmocka)
argos_layer (argos_test_support FOLDERS tests/support BELOW argos_sim_net PkgConfig::PC_cmocka)

function (argos_test folder name seconds)
    set_tests_properties (${folder}/${name} PROPERTIES TIMEOUT ${seconds} SKIP_RETURN_CODE 77
        ENVIRONMENT "${test_environment}" LABELS ${folder})
endfunction ()

foreach (folder IN ITEMS unit contract actor fault model check sim fuzz)
    #  Far more than any of them takes: a busy machine is no fault, an endless wait is
    set (seconds 240)
    file (GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/test_*.c)
    if (folder MATCHES "sim|fuzz")
        set (sources)
    endif ()
    foreach (source IN LISTS sources)
        get_filename_component (name ${source} NAME_WE)
        add_executable (${folder}_${name} ${source})
        set_target_properties (${folder}_${name} PROPERTIES OUTPUT_NAME ${name}
            RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/${folder})
        target_link_libraries (${folder}_${name} PRIVATE argos_test_support)
        target_include_directories (${folder}_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/${folder})
        add_test (NAME ${folder}/${name} COMMAND ${folder}_${name})
        argos_test (${folder} ${name} ${seconds})
    endforeach ()
    file (GLOB scripts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/test_*.sh
        ${CMAKE_SOURCE_DIR}/tests/${folder}/test_*.py)
    foreach (script IN LISTS scripts)
        get_filename_component (name ${script} NAME_WE)
        if (script MATCHES "[.]py$")
            add_test (NAME ${folder}/${name} COMMAND /usr/bin/python3 ${script})
        else ()
            add_test (NAME ${folder}/${name} COMMAND bash ${script})
        endif ()
        argos_test (${folder} ${name} 300)
    endforeach ()
endforeach ()

#  What is pure of the command line

foreach (name IN ITEMS handover_step ink words)
    target_sources (unit_test_${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmd/argos_${name}.c)
    target_include_directories (unit_test_${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmd)
endforeach ()

#  The driver of the C client library for tests/system/test_clients.py

add_executable (client_driver ${CMAKE_SOURCE_DIR}/tests/system/clients/driver.c)
set_target_properties (client_driver PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_link_libraries (client_driver PRIVATE argos_client PkgConfig::PC_jansson)

#  The disk that fails under argosd (test_core_fails.py), the terminal that throws away what was typed under argos (test_chat.py), the
#  clock that is ahead (the placement `nodes`): preloaded, so without sanitizers of their own

foreach (shim IN ITEMS clock disk send tty)
    add_library (argos_${shim}_shim MODULE ${CMAKE_SOURCE_DIR}/tests/system/${shim}_shim.c)
    target_compile_options (argos_${shim}_shim PRIVATE -fPIC -fno-sanitize=all)
    target_link_options (argos_${shim}_shim PRIVATE -fno-sanitize=all)
    set_target_properties (argos_${shim}_shim PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach ()

#  The fuzz targets once more, without libFuzzer: each reads its corpus of tests/fuzz/corpus

file (GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
if (NOT ARGOS_FUZZ)
    foreach (source IN LISTS sources)
        get_filename_component (name ${source} NAME_WE)
        add_executable (replay_${name} ${source} ${CMAKE_SOURCE_DIR}/tests/fuzz/replay/replay.c)
        set_target_properties (replay_${name} PROPERTIES OUTPUT_NAME ${name}
            RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/fuzz)
        argos_fuzz_target (replay_${name} ${name})
        add_test (NAME fuzz/${name}
            COMMAND replay_${name} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
        argos_test (fuzz ${name} 240)
    endforeach ()
endif ()

#  Seeds of the simulator, in memory and on disk

if (TARGET argos-sim)
    #  In two halves, and begun first: they are the longest
    add_test (NAME sim/memory_1 COMMAND argos-sim --seeds 1-500)
    add_test (NAME sim/memory_2 COMMAND argos-sim --seeds 501-1000)
    argos_test (sim memory_1 600)
    argos_test (sim memory_2 600)
    set_tests_properties (sim/memory_1 sim/memory_2 PROPERTIES COST 100 PROCESSORS 2)
    add_test (NAME sim/disk COMMAND argos-sim --seeds 2001-2050 --disk ${CMAKE_BINARY_DIR}/sim)
    argos_test (sim disk 600)
    #  Speed is of interest here, not who has freed what long ago: a seed can be repeated without these
    set_property (TEST sim/memory_1 sim/memory_2 sim/disk APPEND PROPERTY ENVIRONMENT
        "ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:quarantine_size_mb=4:malloc_context_size=1")
endif ()
