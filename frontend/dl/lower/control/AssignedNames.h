//===- AssignedNames.h - What statements may assign to ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_LOWER_CONTROL_ASSIGNEDNAMES_H
#define DLC_FRONTEND_DL_LOWER_CONTROL_ASSIGNEDNAMES_H

#include "frontend/dl/syntax/AST.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"

namespace dlc::frontend {

/// The places that may assign to each name.
using AssignedNames = llvm::MapVector<llvm::StringRef, llvm::SmallVector<llvm::SMLoc, 0>>;

AssignedNames assignedNames(llvm::ArrayRef<StatementPtr> body);
AssignedNames assignedNames(llvm::ArrayRef<BranchStatement::Arm> arms);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_LOWER_CONTROL_ASSIGNEDNAMES_H
