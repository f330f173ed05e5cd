//===- KernelTemplate.cpp - The part of a GPU kernel that is written by hand --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/KernelTemplate.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "codegen/KernelTemplateDialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "codegen/KernelTemplateTypes.cpp.inc"
#define GET_OP_CLASSES
#include "codegen/KernelTemplate.cpp.inc"

namespace dlc::dlk {

void DLKDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "codegen/KernelTemplate.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "codegen/KernelTemplateTypes.cpp.inc"
      >();
}

LogicalResult CallOp::verify() {
  if (getRoles().size() != getBodies().size())
    return emitOpError("has ") << getBodies().size() << " bodies and roles for "
                               << getRoles().size();
  for (auto [position, body] : llvm::enumerate(getBodies())) {
    auto roles = dyn_cast<ArrayAttr>(getRoles()[position]);
    bool areNames = roles && llvm::all_of(roles, llvm::IsaPred<StringAttr>);
    if (!areNames || roles.size() != body.getNumArguments())
      return emitOpError("needs a name for each of the ")
             << body.getNumArguments() << " arguments of body " << position;
    if (body.front().empty() || !isa<GiveOp>(body.front().back()))
      return emitOpError("needs bodies that end in dlk.give");
  }
  for (NamedAttribute number : getConfig())
    if (!isa<IntegerAttr>(number.getValue()))
      return emitOpError("has '") << number.getName().getValue() << "', which is no integer";
  return success();
}

Block &beginBody(OpBuilder &builder, CallOp call, unsigned body, TypeRange types) {
  Block &block = call.getBodies()[body].emplaceBlock();
  for (Type type : types)
    block.addArgument(type, call.getLoc());
  builder.setInsertionPointToStart(&block);
  return block;
}

} // namespace dlc::dlk
