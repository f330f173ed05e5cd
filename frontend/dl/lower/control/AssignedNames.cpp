//===- AssignedNames.cpp - What statements may assign to ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/lower/control/AssignedNames.h"

namespace dlc::frontend {

static void add(AssignedNames &all, const Target &target) {
  if (!target.isTuple)
    all[target.name.name].push_back(target.name.loc);
  for (const Target &element : target.elements)
    add(all, element);
}

static void add(AssignedNames &all, llvm::ArrayRef<StatementPtr> body) {
  for (const StatementPtr &statement : body) {
    if (const auto *assign = llvm::dyn_cast<AssignStatement>(statement.get())) {
      add(all, assign->target);
    } else if (const auto *loop = llvm::dyn_cast<LoopStatement>(statement.get())) {
      all[loop->head.variable.name].push_back(loop->head.variable.loc);
      add(all, loop->body);
    } else if (const auto *loop = llvm::dyn_cast<WhileStatement>(statement.get())) {
      add(all, loop->body);
    } else if (const auto *branch = llvm::dyn_cast<BranchStatement>(statement.get())) {
      for (const BranchStatement::Arm &arm : branch->arms)
        add(all, arm.body);
    }
  }
}

AssignedNames assignedNames(llvm::ArrayRef<StatementPtr> body) {
  AssignedNames all;
  add(all, body);
  return all;
}

AssignedNames assignedNames(llvm::ArrayRef<BranchStatement::Arm> arms) {
  AssignedNames all;
  for (const BranchStatement::Arm &arm : arms)
    add(all, arm.body);
  return all;
}

} // namespace dlc::frontend
