//===- dlc.cpp - The command line of dlc, without the compiler ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"

int main(int argc, char **argv) { return dlc::runCommandLine(argc, argv, dlc::kSeparateCompiler); }
