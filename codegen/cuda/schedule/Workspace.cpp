//===- Workspace.cpp - Memory through which the blocks of a kernel meet -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Workspace.h"

#include "ir/dl/base/DLBuilder.h"

using namespace mlir;

namespace dlc::codegen {

/// The kernel that fills a workspace of this type with zeros, before `kernel`.
static dlx::KernelOp createClearKernel(dlx::KernelOp kernel, RankedTensorType type) {
  OpBuilder builder(kernel);
  std::string base = (kernel.getSymName() + "_clear").str(), name = base;
  for (int number = 2; SymbolTable::lookupSymbolIn(kernel->getParentOp(), name); ++number)
    name = base + std::to_string(number);
  auto clear = dlx::KernelOp::create(builder, kernel.getLoc(), name, dlx::KernelKind::map);
  Block &body = clear.getBody().emplaceBlock();
  dl::Builder b(kernel.getLoc(), builder.getContext());
  b.setInsertionPointToStart(&body);
  Value zeros = b.full(dl::getDims(type), type.getElementType(), 0.0);
  dl::YieldOp::create(b, zeros);
  return clear;
}

void addWorkspace(dlx::KernelOp kernel, RankedTensorType type) {
  kernel.getBodyBlock().addArgument(type, kernel.getLoc());
  dlx::KernelOp clear = createClearKernel(kernel, type);
  kernel->getParentOp()->walk([&](dlx::LaunchOp launch) {
    if (launch.getKernel() != kernel.getSymName())
      return;
    OpBuilder builder(launch);
    auto buffer = dlx::AllocOp::create(builder, launch.getLoc(),
                                       dlx::BufferType::get(kernel.getContext(), type),
                                       /*persistent=*/launch.getInit());
    dlx::LaunchOp::create(builder, launch.getLoc(), clear.getSymName(), ValueRange(),
                          ValueRange{buffer.getBuffer()}, launch.getInit());
    launch.getInputsMutable().append(buffer.getBuffer());
  });
}

} // namespace dlc::codegen
