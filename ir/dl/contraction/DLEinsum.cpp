//===- DLEinsum.cpp - Sums of products written as an equation -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/contraction/DLContraction.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc::dl {

namespace {

/// A letter; or kEllipsis + i for the dim that `...` covers, i-th from its end.
using Label = int64_t;
using Labels = SmallVector<Label>;
constexpr Label kEllipsis = 256;

struct Equation {
  SmallVector<Labels> terms; // for each operand, a label for each dim
  Labels output;
  llvm::MapVector<Label, AffineExpr> extents;
};

/// An equation and its operands; `problem` says why it has no meaning.
class EquationParser {
public:
  EquationParser(StringRef text, ValueRange operands) : text(text), operands(operands) {}
  std::optional<Equation> parse();
  std::string problem;

private:
  std::nullopt_t fail(const Twine &why) {
    problem = why.str();
    return std::nullopt;
  }
  std::optional<Labels> parseTerm(StringRef term, int64_t ellipsisDims);
  bool meetExtents(unsigned operand);

  StringRef text;
  ValueRange operands;
  Equation equation;
};

} // namespace

static std::string spelled(Label label) {
  return label >= kEllipsis ? "..." : std::string(1, static_cast<char>(label));
}

/// Number of letters of a term.
static int64_t lettersOf(StringRef term) {
  return llvm::count_if(term, [](char c) { return llvm::isAlpha(c); });
}

/// The labels of "b i ... j".
std::optional<Labels> EquationParser::parseTerm(StringRef term, int64_t ellipsisDims) {
  Labels labels;
  bool hasEllipsis = false;
  while (!term.empty()) {
    if (term.consume_front("...")) {
      if (hasEllipsis)
        return fail("names '...' twice in one term");
      hasEllipsis = true;
      for (int64_t i = ellipsisDims - 1; i >= 0; --i)
        labels.push_back(kEllipsis + i);
      continue;
    }
    char c = term.front();
    term = term.drop_front();
    if (c == ' ')
      continue;
    if (!llvm::isAlpha(c))
      return fail("has the character '" + Twine(c) + "'; expected letters, '...', ',' and '->'");
    labels.push_back(c);
  }
  return labels;
}

bool EquationParser::meetExtents(unsigned operand) {
  Labels seen;
  for (auto [label, dim] : llvm::zip_equal(equation.terms[operand], dimsOf(operands[operand]))) {
    auto [entry, isNew] = equation.extents.insert({label, dim});
    AffineExpr &extent = entry->second;
    bool isRepeated = llvm::is_contained(seen, label);
    seen.push_back(label);
    if (extent == dim || (isConstant(dim, 1) && !isRepeated))
      continue;
    if (!isConstant(extent, 1) || isRepeated) {
      problem = "has dims of " + dl::text(extent, operands) + " and " + dl::text(dim, operands) +
                " for '" + spelled(label) + "'";
      return false;
    }
    extent = dim;
  }
  return true;
}

std::optional<Equation> EquationParser::parse() {
  auto [left, right] = text.split("->");
  bool isExplicit = text.contains("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (terms.size() != operands.size())
    return fail("names " + Twine(terms.size()) + (terms.size() == 1 ? " operand" : " operands") +
                ", got " + Twine(operands.size()));
  int64_t ellipsisDims = 0;
  bool hasEllipsis = false;
  for (auto [term, operand] : llvm::zip_equal(terms, operands)) {
    int64_t letters = lettersOf(term), rank = typeOf(operand).getRank();
    bool open = term.contains("...");
    hasEllipsis |= open;
    if (open ? letters > rank : letters != rank)
      return fail("names " + Twine(letters) + (letters == 1 ? " dim" : " dims") + " in '" +
                  term.trim() + "'; the operand is " + dl::text(operand));
    if (open)
      ellipsisDims = std::max(ellipsisDims, rank - letters);
  }
  for (auto [position, term] : llvm::enumerate(terms)) {
    int64_t covered = typeOf(operands[position]).getRank() - lettersOf(term);
    auto labels = parseTerm(term, covered);
    if (!labels)
      return std::nullopt;
    equation.terms.push_back(*labels);
    if (!meetExtents(position))
      return std::nullopt;
  }
  if (isExplicit) {
    if (right.contains("...") && !hasEllipsis)
      return fail("has '...' in its output, but in no operand");
    auto labels = parseTerm(right, ellipsisDims);
    if (!labels)
      return std::nullopt;
    equation.output = *labels;
    for (Label label : equation.output) {
      if (!equation.extents.contains(label))
        return fail("has '" + Twine(spelled(label)) + "' in its output, but in no operand");
      if (llvm::count(equation.output, label) > 1)
        return fail("has '" + Twine(spelled(label)) + "' twice in its output");
    }
    return equation;
  }
  for (int64_t i = ellipsisDims - 1; i >= 0; --i)
    equation.output.push_back(kEllipsis + i);
  for (Label label = 0; label < kEllipsis; ++label) {
    int64_t count = 0;
    for (const Labels &term : equation.terms)
      count += llvm::count(term, label);
    if (count == 1)
      equation.output.push_back(label);
  }
  return equation;
}

LogicalResult EinsumOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  if (adaptor.getTensors().empty())
    return emitOptionalError(location, "'", name, "' needs at least one tensor");
  if (failed(checkSameElement(location, name, adaptor.getTensors())))
    return failure();
  EquationParser parser(adaptor.getEquation(), adaptor.getTensors());
  auto equation = parser.parse();
  if (!equation)
    return emitOptionalError(location, "'", name, "' with the equation '", adaptor.getEquation(),
                             "' ", parser.problem);
  Dims dims;
  for (Label label : equation->output)
    dims.push_back(equation->extents.lookup(label));
  types.push_back(makeTensor(dims, getElementTypeOrSelf(adaptor.getTensors().front())));
  return success();
}

//===- Decomposition --------------------------------------------------------------------------===//

namespace {
/// A tensor whose dims have labels, each once.
struct Factor {
  Value value;
  Labels labels;

  bool has(Label label) const { return llvm::is_contained(labels, label); }
};
} // namespace

/// Repeated labels become diagonals; dims of size 1 that other operands have longer go.
static Factor makeFactor(Builder &b, Value value, Labels labels, const Equation &equation) {
  for (size_t i = 0; i < labels.size(); ++i)
    for (size_t j = i + 1; j < labels.size(); ++j)
      if (labels[i] == labels[j]) {
        value = b.make<DiagonalOp>(value, 0, i, j);
        labels.push_back(labels[i]);
        labels.erase(labels.begin() + j);
        labels.erase(labels.begin() + i);
        return makeFactor(b, value, labels, equation);
      }
  for (size_t i = labels.size(); i-- > 0;)
    if (isConstant(dimsOf(value)[i], 1) && !isConstant(equation.extents.lookup(labels[i]), 1)) {
      value = b.squeeze(value, i);
      labels.erase(labels.begin() + i);
    }
  return {value, labels};
}

/// Sums over the labels that `keep` refuses.
static Factor sumOut(Builder &b, Factor factor, function_ref<bool(Label)> keep) {
  SmallVector<int64_t> dims;
  Labels labels;
  for (auto [dim, label] : llvm::enumerate(factor.labels)) {
    if (keep(label))
      labels.push_back(label);
    else
      dims.push_back(dim);
  }
  if (dims.empty())
    return factor;
  Type dtype = typeOf(factor.value).getElementType();
  return {b.cast(b.make<SumOp>(factor.value, dims, false, TypeAttr()), dtype),
          labels}; // integers wrap
}

/// The factor with its dims in the order of `labels`, of size 1 where it has none.
static Value aligned(Builder &b, const Factor &factor, ArrayRef<Label> labels) {
  SmallVector<int64_t> order;
  Dims dims;
  for (Label label : labels) {
    auto found = llvm::find(factor.labels, label);
    if (found == factor.labels.end()) {
      dims.push_back(constantDim(1, b.getContext()));
      continue;
    }
    order.push_back(found - factor.labels.begin());
    dims.push_back(dimsOf(factor.value)[order.back()]);
  }
  return b.reshape(b.permute(factor.value, order), dims);
}

/// The product of two factors, summed over the labels that `keep` refuses; its dims are as `output`
/// has them, where it has them all.
static Factor multiply(Builder &b, Factor x, Factor other, ArrayRef<Label> output,
                       function_ref<bool(Label)> keep) {
  x = sumOut(b, x, [&](Label label) { return keep(label) || other.has(label); });
  other = sumOut(b, other, [&](Label label) { return keep(label) || x.has(label); });
  Labels labels, summed;
  for (const Factor *factor : {&x, &other})
    for (Label label : factor->labels)
      if (!llvm::is_contained(labels, label) && !llvm::is_contained(summed, label))
        (keep(label) ? labels : summed).push_back(label);
  if (std::is_permutation(labels.begin(), labels.end(), output.begin(), output.end()))
    labels.assign(output.begin(), output.end());
  if (summed.empty()) {
    Dims dims;
    for (Label label : labels)
      dims.push_back(
          x.has(label)
              ? dimsOf(x.value)[llvm::find(x.labels, label) - x.labels.begin()]
              : dimsOf(other.value)[llvm::find(other.labels, label) - other.labels.begin()]);
    return {b.make<MulOp>(b.broadcast(aligned(b, x, labels), dims),
                          b.broadcast(aligned(b, other, labels), dims)),
            labels};
  }
  // The innermost dim of the result should be a column of the second operand: see GivePermuted.
  if (!labels.empty() && !other.has(labels.back()))
    std::swap(x, other);
  auto loopsOf = [&](const Factor &factor) {
    SmallVector<int64_t> loops;
    for (Label label : factor.labels) {
      auto found = llvm::find(labels, label);
      loops.push_back(found != labels.end()
                          ? found - labels.begin()
                          : labels.size() + (llvm::find(summed, label) - summed.begin()));
    }
    return loops;
  };
  return {b.make<ContractOp>(x.value, other.value, loopsOf(x), loopsOf(other), labels.size()),
          labels};
}

SmallVector<Value> EinsumOp::decompose(Builder &builder) {
  auto equation = EquationParser(getEquation(), getTensors()).parse();
  std::optional<Factor> product;
  for (auto [position, tensor] : llvm::enumerate(getTensors())) {
    Factor factor = makeFactor(builder, tensor, equation->terms[position], *equation);
    auto isLater = [&, from = position + 1](Label label) {
      for (size_t term = from; term < equation->terms.size(); ++term)
        if (llvm::is_contained(equation->terms[term], label))
          return true;
      return llvm::is_contained(equation->output, label);
    };
    product = product ? multiply(builder, *product, factor, equation->output, isLater)
                      : sumOut(builder, factor, isLater);
  }
  SmallVector<int64_t> order;
  for (Label label : equation->output)
    order.push_back(llvm::find(product->labels, label) - product->labels.begin());
  return {builder.permute(product->value, order)};
}

//===- diagonal -------------------------------------------------------------------------------===//

LogicalResult DiagonalOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                           Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  RankedTensorType x = typeOf(adaptor.getX());
  auto dim1 = wrapDim(location, name, adaptor.getDim1(), x.getRank());
  auto dim2 = wrapDim(location, name, adaptor.getDim2(), x.getRank());
  if (!dim1 || !dim2)
    return failure();
  if (*dim1 == *dim2)
    return emitOptionalError(location, "'", name, "' names dim ", *dim1, " twice");
  Dims in = getDims(x), dims;
  AffineExpr rows = in[*dim1], columns = in[*dim2], size;
  int64_t offset = adaptor.getOffset();
  auto constantRows = asConstant(rows), constantColumns = asConstant(columns);
  if (constantRows && constantColumns)
    size =
        constantDim(std::max<int64_t>(0, std::min(*constantRows + std::min<int64_t>(offset, 0),
                                                  *constantColumns - std::max<int64_t>(offset, 0))),
                    context);
  else if (rows == columns && offset == 0)
    size = rows;
  else
    return emitOptionalError(location, "'", name, "' of symbolic dims needs equal ones and offset ",
                             "0, got ", text(adaptor.getX()), " and ", offset);
  for (int64_t dim = 0; dim < x.getRank(); ++dim)
    if (dim != *dim1 && dim != *dim2)
      dims.push_back(in[dim]);
  dims.push_back(size);
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest DiagonalOp::getLoopNest() {
  LoopNest nest;
  nest.parallel = dimsOf(getY());
  unsigned rank = nest.parallel.size(), next = 0;
  nest.indexDims.resize(rank);
  int64_t from = rank + 1, dim1 = *wrapDim(std::nullopt, "", getDim1(), from),
          dim2 = *wrapDim(std::nullopt, "", getDim2(), from);
  int64_t offset = getOffset();
  AffineExpr along = getAffineDimExpr(rank - 1, getContext());
  SmallVector<AffineExpr> map;
  for (int64_t dim = 0; dim < from; ++dim)
    map.push_back(dim == dim1   ? along - std::min<int64_t>(offset, 0)
                  : dim == dim2 ? along + std::max<int64_t>(offset, 0)
                                : getAffineDimExpr(next++, getContext()));
  nest.results.push_back({0, AffineMap::get(rank, kMaxSymbols, map, getContext())});
  return nest;
}

Value DiagonalOp::emitResult(BodyContext &, ValueRange args, ValueRange) { return args.front(); }

} // namespace dlc::dl
