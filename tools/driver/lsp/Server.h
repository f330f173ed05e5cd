//===- Server.h - dlc as a language server ------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_LSP_SERVER_H
#define DLC_TOOLS_DRIVER_LSP_SERVER_H

namespace dlc {

/// Speaks the language server protocol on standard input and output until the editor says `exit`;
/// the process's exit status: 0 where `shutdown` came first.
int runLanguageServer(int argc, char **argv);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_LSP_SERVER_H
