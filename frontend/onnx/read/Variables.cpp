//===- Variables.cpp - What a Gradient differentiates by ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Gradient says by name which values are independent of each other. Elsewhere names do not
// matter: a number is folded into what uses it, and an Identity is the value that it repeats. So
// such a value gets an op of its own while the graph is imported.
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/Importer.h"
#include "frontend/onnx/read/NodeOrder.h"

#include "ir/dl/DLOps.h"

using namespace mlir;

namespace dlc::onnx {

using frontend::quote;

/// Those of subgraphs, too, which see the names around them.
static void eachVariable(ArrayRef<Node> nodes, llvm::function_ref<void(StringRef)> use) {
  for (const Node &node : nodes) {
    eachNamed(node, use);
    for (const Attribute &attribute : node.attributes)
      if (attribute.graph)
        eachVariable(attribute.graph->nodes, use);
  }
}

void Importer::declareVariables(ArrayRef<Node> nodes, Frame &frame) {
  eachVariable(nodes, [&](StringRef name) {
    Frame *holder = &frame;
    while (holder && !holder->values.contains(name))
      holder = holder->parent;
    bool isNew = (holder ? holder : &frame)->variables.insert(name).second;
    if (holder && isNew)
      makeVariable(holder->values[name], name);
  });
}

void Importer::makeVariable(Value &value, StringRef name) {
  auto dtypeOf = [&]() -> Type {
    if (value.tensor)
      return llvm::cast<RankedTensorType>(value.tensor.getType()).getElementType();
    if (value.known)
      return value.known->dtype;
    auto type = value.stored ? elementType(value.stored->dataType) : std::nullopt;
    return type ? frontend::dtypeOf(nameOf(*type), context) : Type();
  };
  Type dtype = value.isPoison ? Type() : dtypeOf();
  if (!dtype || !isa<FloatType>(dtype)) // integers may be what shapes are made of
    return;
  Location loc = NameLoc::get(builder.getStringAttr("value " + quote(name)));
  mlir::Value tensor = materialise(value, loc, "value " + quote(name));
  tensor = tensor ? emitter->reshape(loc, tensor,
                                     dl::getDims(llvm::cast<RankedTensorType>(tensor.getType())))
                  : tensor;
  value = Value();
  value.tensor = tensor;
  value.isPoison = !tensor; // reported
  if (tensor)
    variables.push_back(tensor.getDefiningOp());
}

void Importer::dropVariables() {
  for (Operation *op : variables) {
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    op->erase();
  }
  variables.clear();
}

ArrayRef<StringRef> NodeImport::stringList(StringRef name) {
  const Attribute *found = attribute(name);
  bool isOther = found && (found->real || found->integer || found->string || found->tensor ||
                           found->graph || !found->reals.empty() || !found->integers.empty());
  if (isOther)
    fail("its attribute " + quote(name) + " is no list of strings");
  return found ? ArrayRef<StringRef>(found->strings) : ArrayRef<StringRef>();
}

mlir::Value NodeImport::tensorNamed(StringRef name, StringRef attribute) {
  Value *value = importer.find(name, frame);
  if (!value) {
    fail("its attribute " + quote(attribute) + " names " + quote(name) +
         ", which no input, initializer or node before it gives");
    return {};
  }
  failed |= value->isPoison; // reported
  return failed ? mlir::Value() : importer.materialise(*value, loc, quote(name));
}

bool NodeImport::countDerived(size_t ops) {
  size_t most = importer.maxNodes * Importer::kDerivedPerNode;
  bool wasWithin = importer.derivedCount <= most;
  importer.derivedCount += ops;
  if (importer.derivedCount <= most)
    return true;
  if (wasWithin)
    fail("with it the Gradients of the model go through and make more than " + llvm::Twine(most) +
         " ops; the limit is " + llvm::Twine(most));
  failed = true; // said already
  return false;
}

bool NodeImport::isDerived() const {
  for (const Frame *at = &frame; at; at = at->parent)
    if (!at->variables.empty())
      return true;
  return false;
}

} // namespace dlc::onnx
