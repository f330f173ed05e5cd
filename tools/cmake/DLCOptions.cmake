# Compiler, flags and output folders that every target of dlc shares.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

find_program(CCACHE ccache)
if(CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # The PCH is checked by content, so that a fresh clone hits the cache as well.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# lld links the compiler in a sixth of the time that GNU ld takes; another toolchain keeps its own.
find_program(DLC_LLD ld.lld HINTS /usr/lib/llvm-22/bin)
if(DLC_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=lld)
endif()

# Warnings are errors in our own code; generated and third-party headers are SYSTEM includes.
add_library(dlc_warnings INTERFACE)
target_compile_options(dlc_warnings INTERFACE -Wall -Wextra -Wpedantic -Werror
  -Wno-unused-parameter $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-gnu-zero-variadic-macro-arguments
  -Wno-c++20-extensions -Wno-nested-anon-types -Wno-gnu-anonymous-struct>)
include_directories(${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})

if(DLC_SANITIZE)
  set(DLC_SANITIZE_OPTIONS -fsanitize=${DLC_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_compile_options(${DLC_SANITIZE_OPTIONS})
  add_link_options(-fsanitize=${DLC_SANITIZE})
endif()

# dlc_sources(NAME RESULT SOURCES...): what the library NAME is made of: its sources, or their
# objects from the build folder DLC_PREBUILT if DLC_PREBUILT_LIBRARIES names it. So a build with
# sanitizers can leave out libraries that a plain build has compiled already. Generated sources
# (dlc_embed) are compiled here in either case.
set(DLC_PREBUILT "" CACHE PATH "A build folder of this checkout, for DLC_PREBUILT_LIBRARIES")
set(DLC_PREBUILT_LIBRARIES "" CACHE STRING "Libraries whose objects come from DLC_PREBUILT, e.g. dlc_passes;dlc_codegen")
function(dlc_sources name result)
  set(sources ${ARGN})
  if(name IN_LIST DLC_PREBUILT_LIBRARIES)
    file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
    list(TRANSFORM sources PREPEND ${DLC_PREBUILT}/${folder}/CMakeFiles/${name}.dir/)
    list(TRANSFORM sources APPEND .o)
    set_source_files_properties(${sources} PROPERTIES EXTERNAL_OBJECT ON)
  endif()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()
