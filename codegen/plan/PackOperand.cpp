//===- PackOperand.cpp - Operands in the layout that a kernel wants -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/plan/PackOperand.h"

#include "ir/dl/DLOps.h"

using namespace mlir;

namespace dlc::codegen {

/// A kernel that converts `from` to `to`, before `kernel`.
static dlx::KernelOp createPackKernel(dlx::KernelOp kernel, RankedTensorType from,
                                      RankedTensorType to) {
  OpBuilder builder(kernel);
  Location loc = kernel.getLoc();
  std::string base = (kernel.getSymName() + "_pack").str(), name = base;
  for (int number = 2; SymbolTable::lookupSymbolIn(kernel->getParentOp(), name); ++number)
    name = base + std::to_string(number); // a kernel may want several operands packed
  auto pack = dlx::KernelOp::create(builder, loc, name, dlx::KernelKind::map);
  Block &body = pack.getBody().emplaceBlock();
  Value source = body.addArgument(from, loc);
  builder.setInsertionPointToStart(&body);
  Value packed = dl::ConvertLayoutOp::create(builder, loc, to, source);
  dl::YieldOp::create(builder, loc, packed);
  return pack;
}

/// Written before the main program runs: a weight or a persistent buffer, through views.
static bool isPersistent(Value buffer) {
  while (auto view = buffer.getDefiningOp<dlx::ViewOp>())
    buffer = view.getSource();
  if (auto alloc = buffer.getDefiningOp<dlx::AllocOp>())
    return alloc.getPersistent();
  return isa_and_nonnull<dlx::WeightOp>(buffer.getDefiningOp());
}

bool readsPersistent(dlx::KernelOp kernel, unsigned input) {
  bool all = true, any = false;
  kernel->getParentOp()->walk([&](dlx::LaunchOp launch) {
    if (launch.getKernel() != kernel.getSymName())
      return;
    any = true;
    all &= isPersistent(launch.getInputs()[input]);
  });
  return any && all;
}

static dlx::KernelOp kernelOf(dlx::LaunchOp launch) {
  return SymbolTable::lookupNearestSymbolFrom<dlx::KernelOp>(launch, launch.getKernelAttr());
}

/// Returns true if each launch that reads `buffer` reads one value: the buffer is written once, if
/// at all, and no launch updates it in place. A view is followed to what it is a view of.
static bool keepsValue(Value buffer) {
  while (auto view = buffer.getDefiningOp<dlx::ViewOp>())
    buffer = view.getSource();
  unsigned writers = 0;
  SmallVector<Value> views = {buffer};
  while (!views.empty())
    for (OpOperand &use : views.pop_back_val().getUses()) {
      if (auto view = dyn_cast<dlx::ViewOp>(use.getOwner()))
        views.push_back(view.getView());
      auto launch = dyn_cast<dlx::LaunchOp>(use.getOwner());
      if (!launch)
        continue;
      writers += use.getOperandNumber() >= launch.getInputs().size();
      dlx::KernelOp kernel = kernelOf(launch);
      if (writers > 1 || !kernel || kernel.getInPlace())
        return false;
    }
  return true;
}

/// The buffer that a launch already fills with `source` in the layout of `to`, at load if `atLoad`,
/// else in each run. That launch is moved before `launch`. Null if there is none.
static Value packedAlready(dlx::LaunchOp launch, Value source, RankedTensorType to, bool atLoad) {
  if (!atLoad && !keepsValue(source))
    return nullptr;
  for (Operation *user : source.getUsers()) {
    auto pack = dyn_cast<dlx::LaunchOp>(user);
    if (!pack || pack.getInit() != atLoad || pack->getBlock() != launch->getBlock() ||
        pack.getInputs().size() != 1 || pack.getOutputs().size() != 1)
      continue;
    Value buffer = pack.getOutputs().front();
    auto alloc = buffer.getDefiningOp<dlx::AllocOp>();
    dlx::KernelOp kernel = kernelOf(pack);
    if (!alloc || !kernel || kernel.getEntry() ||
        cast<dlx::BufferType>(buffer.getType()).getTensor() != to ||
        !isa<dl::ConvertLayoutOp>(kernel.getBodyBlock().front()) ||
        !isa<dl::YieldOp>(*std::next(kernel.getBodyBlock().begin())))
      continue;
    if (launch->isBeforeInBlock(pack)) {
      pack->moveBefore(launch);
      alloc->moveBefore(pack);
    }
    return buffer;
  }
  return nullptr;
}

void packOperand(dlx::KernelOp kernel, const PackedOperand &packed) {
  BlockArgument argument = kernel.getBodyBlock().getArgument(packed.input);
  auto from = cast<RankedTensorType>(argument.getType());
  RankedTensorType to = dl::withLayout(from, packed.layout);
  if (from == to)
    return;
  dlx::KernelOp pack;
  argument.setType(to);
  kernel->getParentOp()->walk([&](dlx::LaunchOp launch) {
    if (launch.getKernel() != kernel.getSymName())
      return;
    Value source = launch.getInputs()[packed.input];
    bool atLoad = isPersistent(source);
    Value buffer = packedAlready(launch, source, to, atLoad);
    if (!buffer) {
      if (!pack)
        pack = createPackKernel(kernel, from, to);
      OpBuilder builder(launch);
      buffer = dlx::AllocOp::create(builder, launch.getLoc(),
                                    dlx::BufferType::get(kernel.getContext(), to), atLoad);
      dlx::LaunchOp::create(builder, launch.getLoc(), pack.getSymName(), ValueRange{source},
                            ValueRange{buffer}, /*init=*/atLoad);
    }
    launch.getInputsMutable()[packed.input].set(buffer);
  });
}

} // namespace dlc::codegen
