//===- PackOperand.cpp - Operands in the layout that a kernel wants --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/schedule/PackOperand.h"

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
  auto pack = dlx::KernelOp::create(builder, loc, name, "map", StringAttr{}, AffineMapAttr{},
                                    AffineMapAttr{}, DenseI64ArrayAttr{}, AffineMapAttr{},
                                    AffineMapAttr{}, DenseI64ArrayAttr{});
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

void packOperand(dlx::KernelOp kernel, const PackedOperand &packed) {
  BlockArgument argument = kernel.getBodyBlock().getArgument(packed.input);
  auto from = cast<RankedTensorType>(argument.getType());
  RankedTensorType to = dl::withLayout(from, packed.layout);
  if (from == to)
    return;
  dlx::KernelOp pack = createPackKernel(kernel, from, to);
  argument.setType(to);
  kernel->getParentOp()->walk([&](dlx::LaunchOp launch) {
    if (launch.getKernel() != kernel.getSymName())
      return;
    Value source = launch.getInputs()[packed.input];
    bool atLoad = isPersistent(source);
    OpBuilder builder(launch);
    auto buffer = dlx::AllocOp::create(builder, launch.getLoc(),
                                       dlx::BufferType::get(kernel.getContext(), to), atLoad);
    dlx::LaunchOp::create(builder, launch.getLoc(), FlatSymbolRefAttr::get(pack.getSymNameAttr()),
                          ValueRange{source}, ValueRange{buffer.getBuffer()},
                          builder.getUnitAttr());
    if (!atLoad)
      cast<dlx::LaunchOp>(buffer->getNextNode()).setInit(false);
    launch.getInputsMutable()[packed.input].set(buffer.getBuffer());
  });
}

} // namespace dlc::codegen
