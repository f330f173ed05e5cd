//===- Decomposable.cpp - Ops that other ops compute --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/interfaces/Decomposable.h"

#include "ir/dl/base/DLBuilder.h"

using namespace mlir;

#include "ir/interfaces/DecomposableInterface.cpp.inc"

namespace dlc {

namespace {
/// Hands the annotations of one op on to those built in its stead.
class AnnotateNew : public OpBuilder::Listener {
public:
  explicit AnnotateNew(Operation *source) : annotations(source->getDiscardableAttrDictionary()) {}
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    for (NamedAttribute attribute : annotations)
      op->setDiscardableAttr(attribute.getName(), attribute.getValue());
  }

private:
  DictionaryAttr annotations;
};
} // namespace

bool givesNoElements(Operation *op) {
  auto isEmpty = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor &&
           llvm::any_of(dl::getDims(tensor), [](dl::Dim dim) { return dl::isConstant(dim, 0); });
  };
  return op->getNumResults() > 0 && llvm::all_of(op->getResultTypes(), isEmpty);
}

SmallVector<Value> constantsWithoutElements(Operation *op) {
  AnnotateNew listener(op);
  dl::Builder builder(op);
  builder.setListener(&listener);
  SmallVector<Value> values;
  for (Value result : op->getResults())
    values.push_back(builder.fullLike(result, 0));
  return values;
}

SmallVector<Value> decompose(DecomposableOpInterface op) {
  // Decompositions divide by sizes, and give dims names that they would not get back.
  if (givesNoElements(op))
    return constantsWithoutElements(op);
  AnnotateNew listener(op);
  dl::Builder builder(op);
  builder.setListener(&listener);
  SmallVector<Value> values = op.decompose(builder);
  if (TypeRange(values) != TypeRange(op->getResultTypes())) {
    std::string types;
    llvm::raw_string_ostream os(types);
    llvm::interleaveComma(TypeRange(values), os);
    llvm::report_fatal_error("'" + op->getName().getStringRef() +
                             "' decomposes into values of other types than its own: " + types);
  }
  return values;
}

} // namespace dlc
