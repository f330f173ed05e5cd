//===- DimAgreement.cpp - Dims of ONNX models that differ in form and must be equal -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files name dims freely: a joint of two branches may see ceil(H / 16) and 2 * ceil(H / 32), or N
// where a weight has 3. Each op says here which dims it needs to be equal. If they can be, the
// sizes for which they are become part of the model (SolvedSymbols.h), or the runtime checks them
// when shapes are bound.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/Importer.h"
#include "frontend/onnx/read/NodeOrder.h"
#include "ir/dl/DLOps.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dlc::onnx {

bool NodeImport::mayAgree(AffineExpr a, AffineExpr b) {
  if (a == b)
    return true;
  if (dl::asConstant(a) && dl::asConstant(b))
    return false;
  auto difference = rangeOf(dl::normalize(a - b));
  if (difference && (difference->min > 0 || difference->max < 0))
    return false;
  if (difference && difference->min == difference->max)
    return true;
  frontend::OpEmitter &emitter = importer.opEmitter();
  if (emitter.isCounted(a) || emitter.isCounted(b))
    return false;
  if (importer.solve(a, b,
                     describe(node) + " needs " + text(a) + " and " + text(b) + " to be equal")) {
    failed = true;
    return false;
  }
  return difference.has_value();
}

Item NodeImport::expect(Item x, ArrayRef<AffineExpr> dims) {
  if (!x.isTensor() || dl::getDims(x.tensorType()) == dl::Dims(dims))
    return x;
  return call("expect_dims", {x, dimItems(dims)});
}

AffineExpr NodeImport::exactQuotient(AffineExpr dim, int64_t divisor) {
  AffineExpr quotient = dl::normalize(dim.floorDiv(divisor));
  AffineExpr whole = dl::normalize(quotient * divisor);
  return whole == dim || mayAgree(whole, dim) ? quotient : AffineExpr();
}

Item NodeImport::repeatedLike(Item x, int64_t axis, AffineExpr other) {
  if (!x.isTensor())
    return x;
  AffineExpr own = dl::getDims(x.tensorType())[axis];
  if (own == other || dl::isConstant(other, 1))
    return x;
  AffineExpr one = dim(1), isOne = isEqual(own, one);
  AffineExpr repeated = isOne ? choose(isOne, other, own) : AffineExpr();
  if (!repeated)
    return x;
  if (repeated == own)
    return x;
  // Places 0, 1, 2, ... or, for a dim of 1, all 0.
  Item places = call("arange", {Item::dim(atLeastZero(repeated), {})});
  places = call("mul", {places, Item::dim(dl::normalize(one - isOne), {})});
  return call("index_select", {x, item(axis), places});
}

/// Makes dim `axis` of an input `wanted`.
void NodeImport::agreeDim(size_t input, int64_t axis, AffineExpr wanted) {
  if (failed || !has(input))
    return;
  dl::Dims dims = this->dims(input);
  if (failed || axis < 0 || axis >= static_cast<int64_t>(dims.size()) || dims[axis] == wanted ||
      !mayAgree(dims[axis], wanted))
    return;
  dims[axis] = wanted;
  replaceInput(input, expect(tensor(input), dims));
}

/// Operands that are broadcast to one shape, aligned at their last dims.
void NodeImport::agreeBroadcast(ArrayRef<size_t> operands) {
  int64_t most = 0;
  for (size_t input : operands)
    most = std::max(most, has(input) ? rank(input) : 0);
  for (int64_t fromEnd = 1; fromEnd <= most && !failed; ++fromEnd) {
    auto dimOf = [&](size_t input) {
      return has(input) && rank(input) >= fromEnd ? dims(input)[rank(input) - fromEnd] : dim(1);
    };
    // The dim that the others take: a number other than 1, else the first that is not 1.
    AffineExpr common;
    for (size_t input : operands) {
      AffineExpr own = dimOf(input);
      if (!dl::isConstant(own, 1) && (!common || (dl::asConstant(own) && !dl::asConstant(common))))
        common = own;
    }
    for (size_t input : operands) {
      AffineExpr own = dimOf(input);
      if (failed || dl::isConstant(own, 1) || own == common)
        continue;
      // Two dims of inputs may be equal, or one of them 1; and so may dims that the model computes.
      auto mayBeOne = [&](AffineExpr size) {
        auto range = rangeOf(size);
        return dl::mentions(size, dl::computedSymbols(importer.module)) &&
               (!range || (range->min <= 1 && range->max >= 1));
      };
      bool areFree = !dl::asConstant(own) && !dl::asConstant(common) && importer.isOfInput(own) &&
                     importer.isOfInput(common);
      areFree |= mayBeOne(own) || mayBeOne(common);
      if (!areFree) {
        agreeDim(input, rank(input) - fromEnd, common);
        continue;
      }
      for (size_t other : operands)
        if (dimOf(other) == common)
          replaceInput(other, repeatedLike(tensor(other), rank(other) - fromEnd, own));
      Item repeated = repeatedLike(tensor(input), rank(input) - fromEnd, common);
      replaceInput(input, repeated);
      for (size_t other : operands)
        if (other != input && !dl::isConstant(dimOf(other), 1) && dimOf(other) != own)
          common = dimOf(other);
      agreeDim(input, rank(input) - fromEnd, common);
    }
  }
}

/// Whether an op broadcasts all of its inputs to one shape.
static bool broadcasts(StringRef op) {
  static const llvm::StringSet<> kOps = {
      "Add",       "Sub",        "Mul",     "Div",  "Pow",     "Mod",         "And",
      "Or",        "Xor",        "Equal",   "Less", "Greater", "LessOrEqual", "GreaterOrEqual",
      "Min",       "Max",        "Sum",     "Mean", "Where",   "PRelu",       "BitwiseAnd",
      "BitwiseOr", "BitwiseXor", "BitShift"};
  return kOps.contains(op);
}

static bool needsEqualDims(StringRef op) {
  static const llvm::StringSet<> kOps = {"Concat",
                                         "MatMul",
                                         "MatMulInteger",
                                         "Gemm",
                                         "BatchNormalization",
                                         "InstanceNormalization",
                                         "Conv",
                                         "ConvTranspose",
                                         "LSTM",
                                         "GRU",
                                         "RNN",
                                         "LayerNormalization",
                                         "RMSNormalization"};
  return broadcasts(op) || kOps.contains(op);
}

void NodeImport::agreeOnDims() {
  if (failed || (!node.domain.empty() && node.domain != "ai.onnx") || opset <= 6)
    return;
  StringRef op = node.op;
  if (!needsEqualDims(op))
    return;
  bool isSymbolic = llvm::any_of(llvm::seq(inputCount()), [&](size_t input) {
    return has(input) &&
           llvm::any_of(dims(input), [](AffineExpr dim) { return !dl::asConstant(dim); });
  });
  if (!isSymbolic || failed)
    return;
  if (broadcasts(op)) {
    agreeBroadcast(llvm::to_vector(llvm::seq(inputCount())));
  } else if (op == "Concat" && has(0)) {
    auto joined = axis(integer("axis", 0), rank(0));
    for (size_t input = 1; joined && input < inputCount(); ++input)
      for (int64_t dim = 0; !failed && dim < rank(0) && rank(input) == rank(0); ++dim)
        if (dim != *joined) {
          // A number says it for all.
          if (dl::asConstant(dims(input)[dim]))
            agreeDim(0, dim, dims(input)[dim]);
          agreeDim(input, dim, dims(0)[dim]);
        }
  } else if ((op == "MatMul" || op == "MatMulInteger") && has(1) && rank(0) >= 1 && rank(1) >= 1) {
    int64_t inner = std::max<int64_t>(rank(1) - 2, 0);
    if (dl::asConstant(dims(1)[inner]))
      agreeDim(0, rank(0) - 1, dims(1)[inner]);
    else if (!failed)
      agreeDim(1, inner, dims(0)[rank(0) - 1]);
    for (int64_t fromEnd = 3; !failed && fromEnd <= std::min(rank(0), rank(1)); ++fromEnd)
      if (!dl::isConstant(dims(0)[rank(0) - fromEnd], 1) &&
          !dl::isConstant(dims(1)[rank(1) - fromEnd], 1))
        agreeDim(1, rank(1) - fromEnd, dims(0)[rank(0) - fromEnd]);
  } else if (op == "Gemm" && has(1) && rank(0) == 2 && rank(1) == 2) {
    int64_t inner = integer("transB", 0) ? 1 : 0, own = integer("transA", 0) ? 0 : 1;
    agreeDim(0, own, dims(1)[inner]);
  } else if (llvm::is_contained(
                 {"BatchNormalization", "InstanceNormalization", "Conv", "ConvTranspose"}, op) &&
             has(1) && rank(0) >= 2 && rank(1) >= 1) {
    bool isConvolution = op.starts_with("Conv"), isTransposed = op == "ConvTranspose";
    auto channels = isConvolution && !isTransposed && rank(1) >= 2 ? dl::asConstant(dims(1)[1])
                                                                   : dl::asConstant(dims(1)[0]);
    if (channels)
      agreeDim(0, 1, dim(*channels * (isConvolution && !isTransposed ? integer("group", 1) : 1)));
  } else if ((op == "LSTM" || op == "GRU" || op == "RNN") && rank(0) == 3) {
    if (has(1) && rank(1) == 3 && dl::asConstant(dims(1)[2]))
      agreeDim(0, 2, dims(1)[2]);
    // Sequences and initial states have one batch.
    bool isBatchFirst = integer("layout", 0) != 0;
    AffineExpr batch = dims(0)[isBatchFirst ? 0 : 1];
    agreeDim(4, 0, batch);
    for (size_t state : {size_t(5), size_t(6)})
      if (has(state) && rank(state) == 3)
        agreeDim(state, isBatchFirst ? 0 : 1, batch);
  } else if ((op == "LayerNormalization" || op == "RMSNormalization") && has(1)) {
    for (int64_t fromEnd = 1; !failed && fromEnd <= std::min(rank(0), rank(1)); ++fromEnd)
      if (AffineExpr size = dims(1)[rank(1) - fromEnd];
          dl::asConstant(size) && !dl::isConstant(size, 1))
        agreeDim(0, rank(0) - fromEnd, size);
  }
}

} // namespace dlc::onnx
