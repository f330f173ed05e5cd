//===- Lifetime.h - Which buffers of a program live from command to command ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DLX_LIFETIME_H
#define DLC_IR_DLX_LIFETIME_H

#include "ir/dlx/DLXOps.h"

namespace dlc::dlx {

/// The unit attribute of an alloc through which the blocks of one launch exchange their parts. Its
/// contents mean nothing before or after that launch, and launches that run one after the other may
/// share its memory.
inline constexpr llvm::StringLiteral kExchange = "exchange";

inline bool isExchange(AllocOp alloc) { return alloc->hasAttr(kExchange); }

/// Whether the buffer holds a value from the command that writes it to the last one that reads it.
/// The buffers phase gives `first_use` and `last_use` to these allocs alone: a persistent one lives
/// as long as the module is loaded.
inline bool hasLifetime(AllocOp alloc) { return !alloc.getPersistent() && !isExchange(alloc); }

} // namespace dlc::dlx

#endif // DLC_IR_DLX_LIFETIME_H
