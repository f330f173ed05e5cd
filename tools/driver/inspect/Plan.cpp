//===- Plan.cpp - The buffer plan and the way back to a compile, as text ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/inspect/Plan.h"

#include "ir/analysis/CostModel.h"

#include "mlir/IR/AsmState.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace dlc {

static void describeBuffer(llvm::raw_ostream &os, dlx::AllocOp alloc, AsmState &names) {
  RankedTensorType type = alloc.getBuffer().getType().getTensor();
  alloc.getBuffer().printAsOperand(os, names);
  os << "  " << dl::text(type, alloc) << "  " << dl::text(storedBytes(type), alloc) << " bytes  ";
  if (alloc.getPersistent())
    os << "persistent\n";
  else
    os << "commands " << alloc->getAttrOfType<IntegerAttr>("first_use").getInt() << " to "
       << alloc->getAttrOfType<IntegerAttr>("last_use").getInt() << "\n";
}

/// Prints the plan of the kernel, the bytes that its blocks exchange, and its variants with the
/// shapes for which they take its place.
static void describeKernel(llvm::raw_ostream &os, dlx::KernelOp kernel,
                           const SymbolTable &symbols) {
  auto describeExchange = [&](dlx::KernelOp one) {
    if (one.getExchange())
      os << "; its blocks exchange "
         << dl::text(dl::normalize(one.getExchange()->getResult(0) * 4), one) << " bytes";
  };
  describeExchange(kernel);
  auto describeSchedule = [&](dlx::KernelOp one) {
    if (!one.getPlan())
      return;
    os << "; " << one.getPlan()->getSchedule();
    if (DictionaryAttr numbers = one.getPlan()->getNumbers())
      for (NamedAttribute number : numbers)
        os << ' ' << number.getName().getValue() << '='
           << cast<IntegerAttr>(number.getValue()).getInt();
    os << llvm::format(", %.1f us modelled", double(one.getPlan()->getNs()) / 1000);
    for (Attribute other :
         one.getOtherPlansAttr() ? one.getOtherPlansAttr().getValue() : ArrayRef<Attribute>()) {
      auto plan = cast<dlx::PlanAttr>(other);
      os << ", not " << plan.getSchedule() << llvm::format(" %.1f", double(plan.getNs()) / 1000);
    }
  };
  describeSchedule(kernel);
  for (Attribute attribute :
       kernel.getVariantsAttr() ? kernel.getVariantsAttr().getValue() : ArrayRef<Attribute>()) {
    auto variant = cast<dlx::VariantAttr>(attribute);
    os << "\n        or " << variant.getKernel().getValue();
    if (variant.getGpu() != 0)
      os << " on sm_" << variant.getGpu() << "a";
    if (variant.getOf())
      for (auto [position, of] : llvm::enumerate(variant.getOf().getValue().getResults()))
        os << (position == 0 ? " for " : " and ") << dl::text(of, kernel) << " = "
           << variant.getLimits()[2 * position] << ".." << variant.getLimits()[2 * position + 1];
    auto other = symbols.lookup<dlx::KernelOp>(variant.getKernel().getValue());
    describeExchange(other);
    describeSchedule(other);
  }
}

std::string describePlan(ModuleOp module) {
  std::string result;
  llvm::raw_string_ostream os(result);
  for (auto target : module.getOps<ModuleOp>()) {
    for (auto program : target.getOps<dlx::ProgramOp>()) {
      AsmState names(program);
      SymbolTable symbols(target);
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
        if (auto kernel = launch ? symbols.lookup<dlx::KernelOp>(launch.getKernel()) : nullptr)
          describeKernel(os, kernel, symbols);
        if (auto chain = launch ? launch.getChain() : std::nullopt) {
          os << "\n        or " << chain->getKernel().getValue();
          if (chain->getGpu() != 0)
            os << " on sm_" << chain->getGpu();
          os << ", in the place of " << chain->getLaunches() << " launches";
          describeKernel(os, symbols.lookup<dlx::KernelOp>(chain->getKernel().getValue()), symbols);
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
