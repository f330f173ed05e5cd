//===- HostCompiler.h - compiles kernel text for the host -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace dlc::emu {

struct Compiler {
  std::string path;
  bool isClang = false;
  /// Path, size and time: another compiler means other code.
  std::string identity;
};

/// DLC_EMU_CXX, else the first of clang++-22, clang++ and g++ in PATH. An empty path if there is
/// none.
Compiler findCompiler();

/// The flags that make an object of a kernel. `checked` adds the checker's hooks, which only clang
/// can.
std::vector<std::string> compileFlags(const Compiler &compiler, bool checked);

struct CompileResult {
  bool succeeded = false;
  /// What the compiler said.
  std::string log;
  /// The shared object.
  std::string object;
};

/// Compiles `files` (name and text; the first is the source, the others its headers) in a temporary
/// folder that is removed again.
CompileResult compileForHost(const Compiler &compiler, const std::vector<std::string> &flags,
                             const std::vector<std::pair<std::string, std::string>> &files);

} // namespace dlc::emu
