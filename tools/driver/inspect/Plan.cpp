//===- Plan.cpp - The buffer plan and the way back to a compile, as text ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/inspect/Plan.h"

#include "ir/analysis/CostModel.h"
#include "ir/dlx/Lifetime.h"

#include "mlir/IR/AsmState.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace dlc {

static void describeBuffer(llvm::raw_ostream &os, dlx::AllocOp alloc, AsmState &names) {
  RankedTensorType type = alloc.getBuffer().getType().getTensor();
  alloc.getBuffer().printAsOperand(os, names);
  os << "  " << dl::text(type) << "  " << dl::text(storedBytes(type)) << " bytes  ";
  if (alloc.getPersistent())
    os << "persistent\n";
  else if (dlx::isExchange(alloc))
    os << "exchanged by the blocks of one launch\n";
  else
    os << "commands " << alloc->getAttrOfType<IntegerAttr>("first_use").getInt() << " to "
       << alloc->getAttrOfType<IntegerAttr>("last_use").getInt() << "\n";
}

std::string describePlan(ModuleOp module) {
  std::string result;
  llvm::raw_string_ostream os(result);
  for (auto target : module.getOps<ModuleOp>()) {
    for (auto program : target.getOps<dlx::ProgramOp>()) {
      AsmState names(program);
      os << "target " << *target.getName() << "\n\nbuffers\n";
      for (auto alloc : program.getBodyBlock().getOps<dlx::AllocOp>())
        describeBuffer(os << "  ", alloc, names);
      os << "\ncommands (at load: init)\n";
      int64_t position = 0;
      for (Operation &op : program.getBodyBlock()) {
        auto launch = dyn_cast<dlx::LaunchOp>(op);
        if (!launch && !isa<dlx::CopyOp>(op))
          continue;
        bool init = launch && launch.getInit();
        os << "  " << (init ? "init" : std::to_string(position++)) << "  "
           << (launch ? launch.getKernel() : StringRef("copy"));
        for (Value operand : op.getOperands()) {
          os << ' ';
          operand.printAsOperand(os, names);
        }
        os << '\n';
      }
      os << '\n';
    }
  }
  return result;
}

std::string reproduction(const std::vector<std::string> &commandLine) {
  SmallString<256> folder;
  (void)llvm::sys::fs::current_path(folder);
  auto quoted = [](StringRef word) {
    std::string result = "'";
    for (char c : word)
      result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
  };
  std::string text =
      "#!/bin/sh\n# Compiles once more what this folder shows.\ncd " + quoted(folder) + " && exec";
  for (const std::string &word : commandLine)
    text += " " + quoted(word);
  return text + "\n";
}

} // namespace dlc
