//===- dlc-lsp.cpp - The language server of dlc -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/lsp/Server.h"

int main(int argc, char **argv) { return dlc::runLanguageServer(argc, argv); }
