//===- FusionRemarks.cpp - Why ops are not in one kernel, at the lines of the model -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/inspect/FusionRemarks.h"

#include "ir/dl/DLOps.h"
#include "ir/dl/structure/Reasons.h"
#include "ir/dlx/DLXOps.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc {
namespace {

/// The contents of a remark. Equal ones differ in no field. Without a producer it is about a state.
struct Reason {
  Location reader, producer;
  StringRef readerName, producerName, why;

  bool operator==(const Reason &other) const = default;
};

class FusionRemarks {
public:
  void collect(ModuleOp target);
  void emit(size_t numTargets) const;

private:
  void collect(dlx::LaunchOp launch, SymbolTable &symbols, StringRef target);
  void note(const Reason &reason, StringRef target);

  SmallVector<std::pair<Reason, SmallVector<StringRef, 2>>> found; // with its targets
};

} // namespace

/// The places that `loc` was made from: those of a file, possibly named, and those of nodes.
static SmallVector<Location> placesOf(Location loc) {
  SmallVector<Location> places;
  loc->walk([&](Location part) {
    if (!isa<FileLineColLoc, NameLoc>(part))
      return WalkResult::advance();
    places.push_back(part);
    return WalkResult::skip();
  });
  return places;
}

/// The op's place in the model. An op of a kernel that several launches share has the places of all
/// of them.
static Location placeIn(dlx::LaunchOp launch, Operation *op) {
  SmallVector<Location> ours = placesOf(launch.getLoc()), all = placesOf(op->getLoc());
  for (Location place : all)
    if (llvm::is_contained(ours, place))
      return place;
  return all.empty() ? op->getLoc() : all.front();
}

static dlx::LaunchOp writerOf(Value buffer) {
  for (Operation *user : buffer.getUsers())
    if (auto launch = dyn_cast<dlx::LaunchOp>(user);
        launch && llvm::is_contained(launch.getOutputs(), buffer))
      return launch;
  return {};
}

void FusionRemarks::collect(dlx::LaunchOp launch, SymbolTable &symbols, StringRef target) {
  auto kernelOf = [&](dlx::LaunchOp of) { return symbols.lookup<dlx::KernelOp>(of.getKernel()); };
  Block &body = kernelOf(launch).getBodyBlock();
  for (Attribute entry :
       launch.getEdgesAttr() ? launch.getEdgesAttr().getValue() : ArrayRef<Attribute>()) {
    auto edge = cast<dl::FusionEdgeAttr>(entry);
    Value buffer = dlx::storage(launch.getInputs()[edge.getInput()]);
    dlx::LaunchOp writer = writerOf(buffer);
    auto output = llvm::find(writer.getOutputs(), buffer);
    Operation *producer =
        kernelOf(writer).getResultTensors()[output - writer.getOutputs().begin()].getDefiningOp();
    BlockArgument input = body.getArgument(edge.getInput());
    Operation *reader = nullptr;
    for (Operation &op : llvm::reverse(body))
      if (llvm::is_contained(op.getOperands(), input))
        reader = &op;
    note({placeIn(launch, reader), placeIn(writer, producer), edge.getReader(), edge.getProducer(),
          dl::reasonOf(edge.getWhy()).why},
         target);
  }
  if (launch.getCopied()) {
    Location place = placeIn(launch, kernelOf(launch).getResultTensors().front().getDefiningOp());
    note({place, place, "update_slice", "", *launch.getCopied()}, target);
  }
}

/// A line of the model that runs several times gets one remark.
void FusionRemarks::note(const Reason &reason, StringRef target) {
  auto *known = llvm::find_if(found, [&](const auto &entry) { return entry.first == reason; });
  if (known == found.end())
    found.push_back({reason, {target}});
  else if (!llvm::is_contained(known->second, target))
    known->second.push_back(target);
}

void FusionRemarks::collect(ModuleOp target) {
  SymbolTable symbols(target);
  for (auto program : target.getOps<dlx::ProgramOp>())
    for (auto launch : program.getBodyBlock().getOps<dlx::LaunchOp>())
      collect(launch, symbols, *target.getName());
}

void FusionRemarks::emit(size_t numTargets) const {
  for (const auto &[reason, targets] : found) {
    InFlightDiagnostic remark = emitRemark(reason.reader, "'") << reason.readerName << "' ";
    if (reason.producerName.empty())
      remark << "copies the state that it updates";
    else
      remark << "is not fused with '" << reason.producerName << "'";
    if (targets.size() < numTargets)
      remark << " on " << llvm::join(targets, ", ");
    remark << ": " << reason.why;
    if (!reason.producerName.empty())
      remark.attachNote(reason.producer) << "'" << reason.producerName << "' is here";
  }
}

void remarkOnFusions(ModuleOp module) {
  FusionRemarks remarks;
  auto targets = llvm::to_vector(module.getOps<ModuleOp>());
  for (ModuleOp target : targets)
    remarks.collect(target);
  remarks.emit(targets.size());
}

} // namespace dlc
