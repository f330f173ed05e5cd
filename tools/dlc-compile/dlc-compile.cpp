//===- dlc-compile.cpp - The command line of dlc with the compiler in it ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `dlc compile` and `dlc check` start it; linked without shared libraries it is dlc-static, all of
// dlc in one file.
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"

int main(int argc, char **argv) { return dlc::runCommandLine(argc, argv, dlc::kLinkedCompiler); }
