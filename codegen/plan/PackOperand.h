//===- PackOperand.h - Operands in the layout that a kernel wants -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_PLAN_PACKOPERAND_H
#define DLC_CODEGEN_PLAN_PACKOPERAND_H

#include "ir/dl/base/DLTypes.h"
#include "ir/dlx/DLXOps.h"

namespace dlc::codegen {

/// An input of a kernel that its schedule wants in another layout.
struct PackedOperand {
  unsigned input;
  dl::Layout layout;
};

/// Changes the body of `kernel` to read `packed` in its layout, adds a kernel that packs, and
/// launches that before each launch of `kernel`, at load where the operand is persistent. Launches
/// that read one operand share what is packed.
void packOperand(dlx::KernelOp kernel, const PackedOperand &packed);

/// True where every launch of `kernel` reads a weight, or what is made of weights at load, as input
/// number `input`: then packing it costs nothing when the model runs.
bool readsPersistent(dlx::KernelOp kernel, unsigned input);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PLAN_PACKOPERAND_H
