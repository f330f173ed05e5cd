//===- ContractionDerivatives.cpp - Of matrix products, einsum and attention --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/gradient/Derivation.h"

#include "frontend/Spelling.h"

#include <cmath>

using namespace mlir;

namespace dlc::onnx {

/// [..., M, K] as [...*M, K].
static Term asMatrix(const Term &x) {
  dl::Dims dims = x.dims();
  if (dims.size() == 2 || dims.empty())
    return x;
  ArrayRef<AffineExpr> all(dims);
  return x.reshape({dl::normalize(dl::product(all.drop_back(), x.node->context)), all.back()});
}

/// Vectors are a row or a column, which the result lacks.
static void deriveMatmul(Derivation &d) {
  dl::Dims a = d.dims(0), b = d.dims(1), y = d.dy().dims();
  if (b.size() == 1) {
    b.push_back(d.dim(1));
    y.push_back(d.dim(1));
  }
  if (a.size() == 1) {
    a.insert(a.begin(), d.dim(1));
    y.insert(y.end() - 1, d.dim(1));
  }
  Term x = d.x(0).reshape(a), other = d.x(1).reshape(b), dy = d.dy().reshape(y);
  if (d.wants(0)) {
    Term dx = dy.call("matmul", {other.transposed().item}).summedTo(a);
    d.add(0, dx.reshape(d.dims(0)));
  }
  if (d.wants(1)) {
    // Of one matrix for the whole batch, one product.
    bool isShared = b.size() == 2;
    Term left = isShared ? asMatrix(x) : x, right = isShared ? asMatrix(dy) : dy;
    Term dx = left.transposed().call("matmul", {right.item}).summedTo(b);
    d.add(1, dx.reshape(d.dims(1)));
  }
}

static void deriveLinear(Derivation &d) {
  if (d.wants(0))
    d.add(0, d.dy().call("matmul", {d.x(1).item}));
  Term rows = d.dy();
  if (d.dims(0).size() == 1)
    rows = rows.reshape({d.dim(1), d.dims(1)[0]});
  rows = asMatrix(rows);
  if (d.wants(1)) {
    Term x = d.dims(0).size() == 1 ? d.x(0).reshape({d.dim(1), d.dims(0)[0]}) : d.x(0);
    d.add(1, rows.transposed().call("matmul", {asMatrix(x).item}));
  }
  if (d.op->getNumOperands() > 2 && d.wants(2))
    d.add(2, rows.call("sum", {itemList(ArrayRef<int64_t>{0})}));
}

//===- einsum ---------------------------------------------------------------------------------===//

namespace {
/// The letters of each operand and of the result.
struct Equation {
  SmallVector<std::string> operands;
  std::string result;
};
} // namespace

static Equation parseEquation(StringRef text) {
  std::string plain;
  llvm::copy_if(text, std::back_inserter(plain), [](char c) { return c != ' '; });
  auto [left, right] = StringRef(plain).split("->");
  Equation equation;
  SmallVector<StringRef> operands;
  left.split(operands, ',');
  for (StringRef operand : operands)
    equation.operands.push_back(operand.str());
  equation.result = right.str();
  if (!StringRef(plain).contains("->")) { // what occurs once, in order
    std::string letters = left.str();
    llvm::sort(letters);
    for (char letter : letters)
      if (letter != ',' && StringRef(letters).count(letter) == 1)
        equation.result += letter;
  }
  return equation;
}

/// Each operand is worth the einsum of dy and the others; along what it alone has it was summed up,
/// so that is repeated.
static void deriveEinsum(Derivation &d) {
  StringRef text = d.op->getAttrOfType<StringAttr>("equation").getValue();
  Equation equation = parseEquation(text);
  for (const std::string &letters : equation.operands)
    for (char letter : letters)
      if (letter == '.' || StringRef(letters).count(letter) > 1)
        return d.refuse("'einsum' of " + frontend::quote(text),
                        "; dlc knows those without '...' and diagonals");
  for (unsigned i = 0; i < d.op->getNumOperands(); ++i) {
    if (!d.wants(i))
      continue;
    std::string others = equation.result, made;
    Item::List factors{d.dy().item};
    for (unsigned other = 0; other < d.op->getNumOperands(); ++other)
      if (other != i) {
        others += "," + equation.operands[other];
        factors.push_back(d.x(other).item);
      }
    dl::Dims dims = d.dims(i), along;
    for (char letter : equation.operands[i])
      if (StringRef(others).contains(letter))
        made += letter;
    Term dx{d.node.call("einsum",
                        {item(StringRef(others + "->" + made)), Item{std::move(factors), {}}}),
            d.node};
    dl::Dims found = dx.dims();
    for (char letter : equation.operands[i]) {
      size_t at = made.find(letter);
      along.push_back(at == std::string::npos || at >= found.size() ? d.dim(1) : found[at]);
    }
    dx = dx.reshape(along);
    // A dim of 1 that was repeated, then what the operand alone has.
    for (auto [position, letter] : llvm::enumerate(equation.operands[i]))
      if (made.find(letter) != std::string::npos)
        along[position] = dims[position];
    d.add(i, dx.summedTo(along).broadcast(dims));
  }
}

//===- Attention ------------------------------------------------------------------------------===//

/// What masks add to the scores: -inf where nothing is attended to. Null without masks.
static std::optional<Term> addedByMask(Derivation &d, const Term &scores) {
  dl::Dims dims = scores.dims();
  std::optional<Term> added;
  double nothing = -std::numeric_limits<double>::infinity();
  if (d.op->getNumOperands() > 3) {
    Term zero = d.zeros({});
    added = d.dtype(3).isInteger(1) ? where(d.x(3), zero, nothing) : d.x(3);
  }
  if (d.boolean("is_causal") && dims.size() > 1) {
    auto positions = [&](AffineExpr count, ArrayRef<AffineExpr> along) {
      return Term(d.node.call("arange", {Item::dim(count, {})}), d.node).reshape(along);
    };
    AffineExpr rows = dims[dims.size() - 2], columns = dims.back();
    Term isBehind = positions(columns, {d.dim(1), columns}) > positions(rows, {rows, d.dim(1)});
    Term causal = where(isBehind, nothing, d.zeros({}));
    added = added ? *added + causal : causal;
  }
  return added;
}

/// softmax(query key^T scale + mask) value
static void deriveAttention(Derivation &d) {
  dl::Dims query = d.dims(0), key = d.dims(1), value = d.dims(2);
  int64_t width = dl::asConstant(query.back()).value_or(1); // known, where there is no scale
  double scale = d.real("scale", 1 / std::sqrt(static_cast<double>(width)));
  // Heads that share keys and values: each repeated for all that read it.
  int64_t axis = static_cast<int64_t>(key.size()) - 3, shared = 1;
  if (d.boolean("enable_gqa") && axis >= 0 && query[axis] != key[axis]) { // numbers
    auto heads = dl::asConstant(query[axis]), held = dl::asConstant(key[axis]);
    shared = heads.value_or(1) / std::max<int64_t>(held.value_or(1), 1);
  }
  auto repeated = [&](const Term &x) {
    return shared == 1 ? x : x.call("repeat_interleave", {item(shared), item(axis)});
  };
  auto together = [&](const Term &x, const dl::Dims &dims) {
    if (shared == 1 || d.node.hasFailed())
      return x.summedTo(dims);
    dl::Dims apart = x.dims();
    apart[axis] = dims[axis];
    apart.insert(apart.begin() + axis + 1, d.dim(shared));
    return x.reshape(apart).call("sum", {itemList(ArrayRef(axis + 1))}).summedTo(dims);
  };
  Term keys = repeated(d.x(1)), values = repeated(d.x(2));
  Term scores = d.x(0).call("matmul", {keys.transposed().item}) * scale;
  auto added = addedByMask(d, scores);
  if (added)
    scores = scores + *added;
  Term weights = scores.call("softmax", {item(int64_t(-1))});
  if (added) { // a row that attends to nothing is NaN, which the model may have replaced
    Term most = added->call("amax", {itemList(ArrayRef<int64_t>{-1}), item(true)});
    double nothing = -std::numeric_limits<double>::infinity();
    weights = where(most.call("eq", {item(nothing)}), 0.0, weights);
  }
  Term dWeights = d.dy().call("matmul", {values.transposed().item}) * weights;
  Term sum = dWeights.call("sum", {itemList(ArrayRef<int64_t>{-1}), item(true)});
  Term dScores = dWeights - weights * sum;
  if (d.wants(0))
    d.add(0, (dScores.call("matmul", {keys.item}) * scale).summedTo(query));
  if (d.wants(1))
    d.add(1, together(dScores.transposed().call("matmul", {d.x(0).item}) * scale, key));
  if (d.wants(2))
    d.add(2, together(weights.transposed().call("matmul", {d.dy().item}), value));
  if (d.op->getNumOperands() > 3 && d.wants(3))
    d.add(3, dScores.summedTo(d.dims(3)));
}

llvm::ArrayRef<DerivativeRule> contractionDerivatives() {
  static const DerivativeRule rules[] = {
      {"dl.matmul", deriveMatmul},
      {"dl.linear", deriveLinear},
      {"dl.einsum", deriveEinsum},
      {"dl.scaled_dot_product_attention", deriveAttention},
  };
  return rules;
}

} // namespace dlc::onnx
