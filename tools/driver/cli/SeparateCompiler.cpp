//===- SeparateCompiler.cpp - dlc hands compilation to dlc-compile ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/base/Output.h"
#include "tools/driver/cli/Compiler.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>
#include <vector>

/// Starts dlc-compile with the arguments of this process; returns only where it cannot.
static int startCompiler() {
  std::error_code error;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::string compiler = (self.parent_path() / "dlc-compile").string();
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string line{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<char *> arguments;
  for (size_t begin = 0; begin < line.size(); begin = line.find('\0', begin) + 1)
    arguments.push_back(line.data() + begin);
  arguments.push_back(nullptr);
  execv(compiler.c_str(), arguments.data());
  return dlc::fail(dlc::kDevice, "cannot start the compiler '" + compiler +
                                     "': " + strerror(errno) + "; it belongs beside dlc");
}

const dlc::Compiler dlc::kSeparateCompiler = {
    [](const CompileOptions &) { return startCompiler(); },
    [](const CheckOptions &) { return startCompiler(); },
    [](const FormatOptions &) { return startCompiler(); },
    [](const InspectSourceOptions &) { return startCompiler(); },
    [](const ImportAsTextOptions &) { return startCompiler(); },
    [](const GradOptions &) { return startCompiler(); },
    [](const TrainOptions &) { return startCompiler(); },
    [](const PruneOptions &) { return startCompiler(); },
    [](const QuantizeOptions &) { return startCompiler(); },
    [](const BisectOptions &) { return startCompiler(); },
    [](const TuneOptions &) { return startCompiler(); },
    [](const ListOptions &) { return startCompiler(); }};
