# What the compiler side needs: LLVM and MLIR 22.1, and the functions that build on them.
# "22" alone is refused by the version file: it matches major.minor.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
add_definitions(${LLVM_DEFINITIONS})

# One precompiled header serves every compiler library: MLIR's headers and those of our dialects,
# which nearly all of its files need and which take most of their time.
if(DLC_PCH)
  file(WRITE ${CMAKE_BINARY_DIR}/dlc_pch.cpp "// Anchor of the precompiled header.\n")
  add_library(dlc_pch OBJECT ${CMAKE_BINARY_DIR}/dlc_pch.cpp)
  target_precompile_headers(dlc_pch PRIVATE
    <mlir/IR/BuiltinOps.h> <mlir/IR/PatternMatch.h> <mlir/Pass/Pass.h>
    <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Dialect/Math/IR/Math.h>
    <mlir/Dialect/GPU/IR/GPUDialect.h> <mlir/Dialect/MemRef/IR/MemRef.h> <mlir/Dialect/SCF/IR/SCF.h>
    <mlir/Dialect/Vector/IR/VectorOps.h>
    <mlir/IR/OpImplementation.h> <mlir/Bytecode/BytecodeOpInterface.h>
    <mlir/Interfaces/InferTypeOpInterface.h> <mlir/Interfaces/SideEffectInterfaces.h>
    ${CMAKE_SOURCE_DIR}/ir/dl/DLOps.h)
  add_dependencies(dlc_pch dlc_ir_tablegen)
  target_compile_options(dlc_pch PRIVATE -Xclang -fno-pch-timestamp)
  # A build that optimises nothing would emit the headers' inline functions once for each of its
  # sources. They are compiled once instead, from the precompiled header, and linked into what reads
  # it: a third less time for a source and half of the bytes of its object. (An optimised build
  # inlines most of them, and would take minutes for the rest.)
  if(DLC_SANITIZE)
    target_compile_options(dlc_pch PRIVATE -fpch-codegen -fno-sanitize=null,alignment)
    set(header ${CMAKE_BINARY_DIR}/CMakeFiles/dlc_pch.dir/cmake_pch.hxx.pch)
    set(object ${CMAKE_BINARY_DIR}/dlc_pch_functions.o)
    separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_RELEASE}")
    add_custom_command(OUTPUT ${object} DEPENDS dlc_pch ${header} VERBATIM COMMENT "Compiling the headers' functions"
      COMMAND ${CMAKE_CXX_COMPILER} ${flags} -fPIC ${DLC_SANITIZE_OPTIONS} -fno-sanitize=null,alignment -fpch-codegen
        -c ${header} -o ${object})
    add_library(dlc_pch_functions STATIC ${object})
    set_target_properties(dlc_pch_functions PROPERTIES LINKER_LANGUAGE CXX)
  endif()
endif()

# The target reads the precompiled header. It must be compiled as that was: an executable as
# position-independent code, too.
function(dlc_use_precompiled_header name)
  if(NOT DLC_PCH)
    return()
  endif()
  target_precompile_headers(${name} REUSE_FROM dlc_pch)
  target_compile_options(${name} PRIVATE -Xclang -fno-pch-timestamp)
  # AddressSanitizer reports an access through a null pointer anyway. What reads files asks for both
  # checks again.
  if(DLC_SANITIZE)
    target_compile_options(${name} PRIVATE -fno-sanitize=null,alignment)
    target_link_libraries(${name} PUBLIC dlc_pch_functions)
  endif()
  get_target_property(type ${name} TYPE)
  if(type STREQUAL "EXECUTABLE")
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIC)
  endif()
endfunction()

# dlc_compiler_library(NAME SOURCES...): a static library of compiler code. It links no LLVM itself;
# executables choose the shared (MLIR LLVM) or the static components.
function(dlc_compiler_library name)
  dlc_sources(${name} sources ${ARGN})
  add_library(${name} STATIC ${sources})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${name} PRIVATE dlc_warnings)
  dlc_use_precompiled_header(${name})
endfunction()
