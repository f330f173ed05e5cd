//===- Branches.cpp - If of ONNX ----------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of an If whose condition is known at import, one branch is imported. Else the running model takes
// one of two (dl.if). Branches of few cheap ops are both computed, and the condition selects.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/control/Regions.h"

#include "ir/dl/DLOps.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace dlc::onnx {

using frontend::RegionScope;

/// The type of a value that is either of two; null, reported, where they differ in dtype or rank.
RankedTensorType Importer::typeOfEither(NodeImport &node, mlir::Value a, mlir::Value b,
                                        size_t firstSymbol) {
  auto first = llvm::cast<RankedTensorType>(a.getType()),
       second = llvm::cast<RankedTensorType>(b.getType());
  if (first.getRank() != second.getRank() || first.getElementType() != second.getElementType()) {
    node.unsupported("its condition is computed by the model, and its branches give " +
                         dl::text(a) + " and " + dl::text(b),
                     "; dlc takes results of one rank and dtype");
    return {};
  }
  return frontend::Regions(*emitter, builder, symbols, module)
      .typeOfEither(node.loc, a, b, firstSymbol);
}

/// The results of the first branch, for sizes that make the condition `truth` 1: others are refused
/// when they are known, since what follows takes tensors of one rank. So exporters write a squeeze
/// of a dim that may be 1.
bool Importer::importAssumed(NodeImport &node, const Graph &branch, AffineExpr truth) {
  Frame held;
  openGraph(node, branch, held);
  auto found = importGraph(branch, held, {});
  if (!found)
    return false;
  AffineExpr missing = dl::normalize(node.dim(1) - truth);
  for (size_t position = 0; position < node.node.outputs.size(); ++position) {
    if (!node.wants(position))
      continue;
    Item whole = itemOf((*found)[position], node);
    if (!whole.isTensor())
      return false;
    dl::Dims dims = dl::getDims(whole.tensorType()), one = dims;
    if (one.empty())
      one.push_back(node.dim(1));
    dl::Dims other = one;
    other.front() = dl::normalize(other.front() + missing);
    // Both directions: the sizes are compared, and the result has its own dims.
    Item compared = node.expect(node.expect(node.reshape(whole, one), other), one);
    node.set(position, node.reshape(compared, dims));
  }
  return !node.hasFailed();
}

/// Whether `value` holds one truth value for sure.
static bool isTruth(mlir::Value value) {
  auto type = llvm::cast<RankedTensorType>(value.getType());
  return type.getElementType().isInteger(1) && type.hasStaticShape() && type.getNumElements() == 1;
}

static bool isEmptyList(const Value &value) {
  return value.sequence && value.sequence->isEmptyList();
}

/// Lets both branches give one of their results. A sequence without elements has the kind that the
/// other branch gives.
bool Importer::yieldEither(NodeImport &node, dl::IfOp draft, Value *const sides[2],
                           SmallVector<mlir::Value> yielded[2]) {
  std::shared_ptr<Sequence> kind;
  int first = sides[0]->sequence && !hasKind(*sides[0]->sequence) ? 1 : 0;
  for (int side : {first, 1 - first}) {
    RegionScope scope(*emitter, builder, &draft->getRegion(side).front());
    llvm::SaveAndRestore inside(regions, regions + 1);
    if (!flatten(node, *sides[side], kind.get(), yielded[side]))
      return false;
    if (side == first)
      kind = sides[side]->sequence;
  }
  return true;
}

/// The results of an If that are wanted, of a condition that the running model computes.
bool Importer::importBranches(NodeImport &node, const Graph *const branches[2]) {
  Item condition = node.reshape(node.tensor(0), {});
  if (!condition.isTensor())
    return false;
  size_t counts[] = {branches[0]->outputs.size(), branches[1]->outputs.size()};
  if (counts[0] != counts[1] || counts[0] < node.node.outputs.size())
    return node.fail("its branches have " + llvm::Twine(counts[0]) + " and " +
                     llvm::Twine(counts[1]) + " results; expected " +
                     llvm::Twine(node.node.outputs.size()) + " in each");
  size_t firstSymbol = symbols.size();
  auto draft = dl::IfOp::create(builder, node.loc, TypeRange(), condition.as<mlir::Value>());
  SmallVector<size_t> wanted;
  for (size_t position = 0; position < node.node.outputs.size(); ++position)
    if (node.wants(position))
      wanted.push_back(position);
  SmallVector<mlir::Value> yielded[2];
  std::vector<Value> known[2];
  for (int i = 0; i < 2; ++i) {
    Block *block = builder.createBlock(&draft->getRegion(i));
    builder.setInsertionPointAfter(draft);
    RegionScope scope(*emitter, builder, block);
    llvm::SaveAndRestore inside(regions, regions + 1);
    Frame held;
    openGraph(node, *branches[i], held);
    held.isRegion = true;
    auto found = importGraph(*branches[i], held, {});
    if (!found)
      return false;
    known[i] = std::move(*found);
  }
  SmallVector<size_t> noElements; // what is a sequence without elements, whichever branch is taken
  for (size_t position : wanted) {
    Value *sides[] = {&known[0][position], &known[1][position]};
    if (isEmptyList(*sides[0]) && isEmptyList(*sides[1]))
      noElements.push_back(position);
    else if (!yieldEither(node, draft, sides, yielded))
      return false;
  }
  llvm::erase_if(wanted, [&](size_t p) { return llvm::is_contained(noElements, p); });
  for (size_t position : noElements)
    node.setValue(position, known[0][position]);
  for (int i = 0; i < 2; ++i) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&draft->getRegion(i).front());
    dl::YieldOp::create(builder, node.loc, yielded[i]);
  }
  if (yielded[0].size() != yielded[1].size())
    return node.fail("one of its branches gives a sequence where the other one gives a tensor");
  auto haveOneRank = [](const auto &pair) {
    auto [a, b] = pair;
    return llvm::cast<RankedTensorType>(a.getType()).getRank() ==
           llvm::cast<RankedTensorType>(b.getType()).getRank();
  };
  // Conditions have one element, of any rank.
  for (size_t i = 0; i < yielded[0].size(); ++i)
    if (!haveOneRank(std::pair(yielded[0][i], yielded[1][i])) && isTruth(yielded[0][i]) &&
        isTruth(yielded[1][i]))
      for (int side = 0; side < 2; ++side) {
        Operation *end = draft->getRegion(side).front().getTerminator();
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(end);
        yielded[side][i] = emitter->reshape(node.loc, yielded[side][i], {});
        end->setOperand(i, yielded[side][i]);
      }
  const Known *sizes = node.known(0);
  auto truth = sizes ? sizes->dims() : std::nullopt;
  if (truth && truth->size() == 1 &&
      !llvm::all_of(llvm::zip_equal(yielded[0], yielded[1]), haveOneRank)) {
    draft.erase();
    return importAssumed(node, *branches[0], truth->front());
  }
  SmallVector<Type> types;
  for (auto [a, b] : llvm::zip_equal(yielded[0], yielded[1])) {
    types.push_back(typeOfEither(node, a, b, firstSymbol));
    if (!types.back())
      return false;
  }
  SmallVector<mlir::Value> results =
      frontend::Regions(*emitter, builder, symbols, module).finishIf(draft, types);
  ArrayRef<mlir::Value> left = results;
  for (size_t position : wanted) {
    const Value &first = known[0][position], &second = known[1][position];
    if (llvm::is_contained(left, mlir::Value()))
      return false;
    Value result = unflatten(first, left);
    if (first.known && second.known && first.known->shape == second.known->shape &&
        first.known->numbers == second.known->numbers && first.known->dtype == second.known->dtype)
      node.set(position, *first.known);
    else
      node.setValue(position, std::move(result));
  }
  return !node.hasFailed();
}

bool Importer::importIf(NodeImport &node) {
  const Known *condition = node.has(0) ? node.known(0) : nullptr;
  auto truth = condition ? condition->integers() : std::nullopt;
  const Graph *branches[] = {graphOf(node, "then_branch"), graphOf(node, "else_branch")};
  bool isKnown = truth && truth->size() == 1;
  for (int i = 0; i < 2; ++i)
    if (!branches[i] && (!isKnown || (truth->front() != 0) == (i == 0)))
      return node.fail("it lacks a branch");
  if (!isKnown)
    return importBranches(node, branches);
  Frame held;
  const Graph &taken = *branches[truth->front() != 0 ? 0 : 1];
  openGraph(node, taken, held);
  auto found = importGraph(taken, held, {});
  if (!found)
    return false;
  for (auto [position, value] : llvm::enumerate(*found))
    node.setValue(position, std::move(value));
  return true;
}

} // namespace dlc::onnx
