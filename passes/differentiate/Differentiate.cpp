//===- Differentiate.cpp - Derivatives of a function's first result -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/gradient/Differentiate.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#define DEBUG_TYPE "differentiate"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/Passes.h.inc"

namespace {

class Differentiate : public impl::DifferentiateBase<Differentiate> {
public:
  using DifferentiateBase::DifferentiateBase;

private:
  void runOnOperation() override;
};

} // namespace

void Differentiate::runOnOperation() {
  func::FuncOp function = getOperation();
  auto returned = cast<func::ReturnOp>(function.front().getTerminator());
  if (returned->getNumOperands() == 0 || !dl::isFloat(returned->getOperand(0))) {
    function.emitError("is differentiated by its first result; expected one of floats");
    return signalPassFailure();
  }
  Value y = returned->getOperand(0);
  SmallVector<Value> xs;
  llvm::copy_if(function.getArguments(), std::back_inserter(xs), dl::isFloat);
  llvm::DenseSet<Value> held(llvm::from_range, function.getArguments());
  SmallVector<Operation *> ops = dl::opsBetween(held, {y});
  SmallVector<Value> gradients;
  dl::Builder builder(returned);
  if (auto unknown = dl::differentiate(builder, ops, y, xs, gradients)) {
    unknown->op->emitError("has no derivative that dlc knows: it is ")
        << unknown->form << unknown->advice;
    return signalPassFailure();
  }
  numOps += ops.size();
  SmallVector<DictionaryAttr> names;
  for (auto [gradient, x] : llvm::zip_equal(gradients, xs)) {
    if (!gradient)
      gradient = builder.fullLike(x, 0);
    auto argument = cast<BlockArgument>(x).getArgNumber();
    auto name = function.getArgAttrOfType<StringAttr>(argument, "dl.name");
    names.push_back(name ? builder.getDictionaryAttr(builder.getNamedAttr(
                               "dl.name", builder.getStringAttr("d_" + name.getValue())))
                         : DictionaryAttr::get(&getContext()));
  }
  returned->setOperands(gradients);
  function.setType(FunctionType::get(&getContext(), function.getArgumentTypes(),
                                     llvm::to_vector(TypeRange(ValueRange(gradients)))));
  function.setAllResultAttrs(names);
}

} // namespace dlc
