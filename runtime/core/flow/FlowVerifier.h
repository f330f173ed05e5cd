//===- FlowVerifier.h - Can a flow run on its segments? -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks everything that a run of a flow relies on: indices, the tree of blocks, that each slot and
// number is written once and before it is read, and that element types and ranks agree wherever a
// tensor goes from slot to slot.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_FLOW_FLOWVERIFIER_H
#define DLC_RUNTIME_CORE_FLOW_FLOWVERIFIER_H

#include "runtime/core/package/ModuleVerifier.h"

namespace dlc::rt {

/// A straight module has nothing that only a flow can set.
Status verifyStraight(const schema::Module &module);

/// The flow of `module` and its segments, after the tables and programs of all of them were
/// checked.
Status verifyFlow(const schema::Module &module, const VerifiedModule &verified);

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_FLOW_FLOWVERIFIER_H
