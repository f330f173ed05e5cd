//===- Derivation.cpp - Derivatives of dl ops ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/gradient/Derivation.h"

#include "frontend/Spelling.h"

using namespace mlir;

namespace dlc::onnx {

//===- Terms ----------------------------------------------------------------------------------===//

Term Term::call(StringRef callee, ArrayRef<Item> more,
                ArrayRef<std::pair<StringRef, Item>> named) const {
  SmallVector<Item> arguments{item};
  arguments.append(more.begin(), more.end());
  return {node->call(callee, arguments, named), *node};
}

static Term call(StringRef callee, const Term &a, const Term &b) {
  NodeImport &node = a.node ? *a.node : *b.node;
  return {node.call(callee, {a.item, b.item}), node};
}

Term operator+(const Term &a, const Term &b) { return call("add", a, b); }
Term operator-(const Term &a, const Term &b) { return call("sub", a, b); }
Term operator*(const Term &a, const Term &b) { return call("mul", a, b); }
Term operator/(const Term &a, const Term &b) { return call("div", a, b); }
Term operator-(const Term &a) { return a.call("neg"); }
Term operator<(const Term &a, const Term &b) { return call("lt", a, b); }
Term operator>(const Term &a, const Term &b) { return call("gt", a, b); }
Term operator<=(const Term &a, const Term &b) { return call("le", a, b); }
Term where(const Term &condition, const Term &a, const Term &b) {
  return condition.call("where", {a.item, b.item});
}

Term Term::reshape(ArrayRef<AffineExpr> dims) const { return {node->reshape(item, dims), *node}; }
Term Term::permute(ArrayRef<int64_t> order) const { return {node->permute(item, order), *node}; }
Term Term::broadcast(ArrayRef<AffineExpr> dims) const {
  return {node->broadcast(item, dims), *node};
}

dl::Dims Term::dims() const {
  return item.isTensor() ? dl::getDims(item.tensorType()) : dl::Dims();
}

Term Term::transposed() const {
  auto rank = static_cast<int64_t>(dims().size());
  if (rank < 2)
    return *this;
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(order[rank - 1], order[rank - 2]);
  return permute(order);
}

Term Term::summedTo(ArrayRef<AffineExpr> wanted) const {
  dl::Dims dims = this->dims();
  if (node->hasFailed() || dims.size() < wanted.size())
    return *this;
  size_t added = dims.size() - wanted.size();
  SmallVector<int64_t> summed;
  for (size_t i = 0; i < dims.size(); ++i)
    if (i < added || (dl::isConstant(wanted[i - added], 1) && !dl::isConstant(dims[i], 1)))
      summed.push_back(static_cast<int64_t>(i));
  return (summed.empty() ? *this : call("sum", {itemList(summed)})).reshape(wanted);
}

Term Term::padded(int64_t axis, AffineExpr before, AffineExpr behind) const {
  dl::Dims dims = this->dims();
  if (node->hasFailed())
    return *this;
  auto low = dl::asConstant(dl::normalize(before)), high = dl::asConstant(dl::normalize(behind));
  if (low && high) {
    if (*low == 0 && *high == 0)
      return *this;
    SmallVector<int64_t> widths(2 * (dims.size() - axis));
    widths[widths.size() - 2] = *low;
    widths[widths.size() - 1] = *high;
    return call("pad", {itemList(widths)});
  }
  // A width that depends on symbols is a tensor of zeros of its own.
  Item::List parts;
  auto zeros = [&](AffineExpr width) {
    dims[axis] = dl::normalize(width);
    return node->call("zeros", {dimItems(dims), onnx::item(item.tensorType().getElementType())});
  };
  if (!low || *low != 0)
    parts.push_back(zeros(before));
  parts.push_back(item);
  if (!high || *high != 0)
    parts.push_back(zeros(behind));
  return {node->call("cat", {Item{std::move(parts), {}}, onnx::item(axis)}), *node};
}

Term Term::narrowed(int64_t axis, AffineExpr start, AffineExpr length) const {
  dl::Dims dims = this->dims();
  if (node->hasFailed())
    return *this;
  auto first = dl::asConstant(dl::normalize(start));
  // From the end, where that is what the distance is known to.
  auto left = dl::asConstant(dl::normalize(dims[axis] - start));
  if (first && (*first != 0 || dl::normalize(length) != dims[axis]))
    return call("narrow", {onnx::item(axis), onnx::item(*first), Item::dim(length, {})});
  if (!first && left && *left > 0)
    return call("narrow", {onnx::item(axis), onnx::item(-*left), Item::dim(length, {})});
  if (!first)
    node->unsupported("its derivative takes a part of a dim of " + node->text(dims[axis]) +
                          " from " + node->text(start) + " on",
                      "; dlc takes parts from a known distance from one of its ends on: give the "
                      "symbols numbers by --shapes");
  return *this;
}

//===- Derivations ----------------------------------------------------------------------------===//

dl::Dims Derivation::dims(unsigned operand) {
  return dl::getDims(llvm::cast<RankedTensorType>(op->getOperand(operand).getType()));
}

Type Derivation::dtype(unsigned operand) {
  return llvm::cast<RankedTensorType>(op->getOperand(operand).getType()).getElementType();
}

void Derivation::add(unsigned operand, const Term &cotangent) {
  if (!wants(operand) || node.hasFailed() || !cotangent.item.isTensor())
    return;
  mlir::Value of = op->getOperand(operand);
  Item more = node.cast(cotangent.item, dtype(operand));
  if (!more.isTensor())
    return;
  // Of dims with symbols a rule may find less than the op does: a derivative of other dims would be
  // wrong in silence.
  if (!dl::sameShapeAndElement(more.as<mlir::Value>().getType(), of.getType()))
    return refuse(frontend::quote(op->getName().getStringRef().split('.').second) + " of " +
                      dl::text(of),
                  "; give the symbols numbers by --shapes");
  auto [found, isFirst] = cotangents.try_emplace(of, more.as<mlir::Value>());
  if (isFirst)
    return;
  Item sum = node.call("add", {Item{found->second, {}}, more});
  if (sum.isTensor())
    found->second = sum.as<mlir::Value>();
}

Term Derivation::zeros(ArrayRef<AffineExpr> dims) {
  return {node.call("zeros", {dimItems(dims), item(dtype())}), node};
}

int64_t Derivation::integer(StringRef name, int64_t otherwise) const {
  auto attribute = op->getAttrOfType<IntegerAttr>(name);
  return attribute ? attribute.getInt() : otherwise;
}

SmallVector<int64_t> Derivation::integers(StringRef name) const {
  SmallVector<int64_t> numbers;
  if (auto attribute = op->getAttrOfType<DenseI64ArrayAttr>(name))
    numbers.assign(attribute.asArrayRef().begin(), attribute.asArrayRef().end());
  else if (auto dims = op->getAttrOfType<AffineMapAttr>(name))
    for (AffineExpr dim : dims.getValue().getResults())
      if (auto number = dl::asConstant(dim))
        numbers.push_back(*number);
  return numbers;
}

double Derivation::real(StringRef name, double otherwise) const {
  auto attribute = op->getAttrOfType<FloatAttr>(name);
  return attribute ? attribute.getValueAsDouble() : otherwise;
}

bool Derivation::boolean(StringRef name, bool otherwise) const {
  auto attribute = op->getAttrOfType<BoolAttr>(name);
  return attribute ? attribute.getValue() : otherwise;
}

int64_t Derivation::axis(StringRef name, int64_t otherwise) {
  int64_t axis = integer(name, otherwise);
  return axis < 0 ? axis + static_cast<int64_t>(dims().size()) : axis;
}

void Derivation::refuse(const llvm::Twine &form, const llvm::Twine &advice) {
  node.unsupported("it goes through " + form + ", whose derivative dlc does not know", advice);
}

//===- Rules ----------------------------------------------------------------------------------===//

static const llvm::StringMap<const DerivativeRule *> &derivatives() {
  static const llvm::StringMap<const DerivativeRule *> rules = [] {
    llvm::StringMap<const DerivativeRule *> rules;
    for (auto family : {elementwiseDerivatives(), activationDerivatives(), movementDerivatives(),
                        indexDerivatives(), reductionDerivatives(), contractionDerivatives(),
                        windowDerivatives(), normalizationDerivatives()})
      for (const DerivativeRule &rule : family)
        rules[rule.op] = &rule;
    return rules;
  }();
  return rules;
}

const DerivativeRule *derivativeOf(Operation *op) {
  return derivatives().lookup(op->getName().getStringRef());
}

} // namespace dlc::onnx
