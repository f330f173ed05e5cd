//===- CompressionHook.h - What --quantize and --sparse do around the phases --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_COMPRESS_COMPRESSIONHOOK_H
#define DLC_TOOLS_DRIVER_COMPRESS_COMPRESSIONHOOK_H

#include "tools/driver/compiler/PhaseHook.h"

namespace dlc {

/// --quantize and --sparse: before phase `compress` it learns what that needs to know of the data
/// and of the weights, and after it keeps weights out of the file that others have replaced.
std::unique_ptr<PhaseHook> makeCompressionHook(CompileSession &session);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPRESS_COMPRESSIONHOOK_H
