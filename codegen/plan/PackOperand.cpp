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

/// The buffer that a launch at load already fills with `source` in the layout of `to`, made to lie
/// before `launch`; null where there is none.
static Value packedAtLoad(dlx::LaunchOp launch, Value source, RankedTensorType to) {
  for (Operation *user : source.getUsers()) {
    auto pack = dyn_cast<dlx::LaunchOp>(user);
    if (!pack || !pack.getInit() || pack->getBlock() != launch->getBlock() ||
        pack.getInputs().size() != 1 || pack.getOutputs().size() != 1)
      continue;
    Value buffer = pack.getOutputs().front();
    auto alloc = buffer.getDefiningOp<dlx::AllocOp>();
    auto kernel = SymbolTable::lookupNearestSymbolFrom<dlx::KernelOp>(pack, pack.getKernelAttr());
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
    Value buffer = atLoad ? packedAtLoad(launch, source, to) : Value();
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
