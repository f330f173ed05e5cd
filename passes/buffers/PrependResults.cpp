//===- PrependResults.cpp - More results of a model, before its own -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/buffers/PrependResults.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace dlc {

void prependResults(func::FuncOp function, ArrayRef<Value> values, ArrayRef<std::string> names) {
  Builder builder(function.getContext());
  SmallVector<Type> types = llvm::to_vector(ValueRange(values).getTypes());
  llvm::append_range(types, function.getResultTypes());
  SmallVector<Attribute> attributes;
  for (const std::string &name : names)
    attributes.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr("dl.name", builder.getStringAttr(name))));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    attributes.push_back(function.getResultAttrDict(i) ? function.getResultAttrDict(i)
                                                       : builder.getDictionaryAttr({}));
  function.front().getTerminator()->insertOperands(0, values);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), types));
  function.setAllResultAttrs(attributes);
}

} // namespace dlc
