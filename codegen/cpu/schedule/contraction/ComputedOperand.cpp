//===- ComputedOperand.cpp - A second operand that is computed as it is read --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/contraction/ComputedOperand.h"

#include "codegen/cpu/schedule/CpuKernel.h"

using namespace mlir;

namespace dlc::codegen {

static RankedTensorType typeOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()); }

/// The dim along which `cat` joins, counted from the front.
static int64_t dimOf(dl::CatOp cat) {
  int64_t dim = cat.getDim();
  return dim < 0 ? dim + typeOf(cat.getY()).getRank() : dim;
}

bool ComputedOperand::visit(Value tensor, ArrayRef<AffineExpr> indices) {
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    reads[argument].emplace_back(indices);
    return true;
  }
  auto op = dyn_cast<LoopNestOpInterface>(tensor.getDefiningOp());
  LoopNest loops = op ? op.getLoopNest() : LoopNest();
  if (!op || !loops.isMap() || loops.hasComputed())
    return false;
  ops.insert(op);
  if (auto cat = dyn_cast<dl::CatOp>(op.getOperation()); cat && indices[dimOf(cat)] == sum)
    cats.push_back(cat);
  return llvm::all_of(loops.results, [&](const Access &access) {
    Indices at;
    for (AffineExpr index : access.map.getResults())
      at.push_back(math.simplify(index.replaceDims(indices)));
    return visit(op->getOperand(access.operand), at);
  });
}

bool ComputedOperand::isAlone(Operation *root) const {
  for (const auto &[input, places] : reads)
    if (!llvm::all_of(input.getUsers(), [&](Operation *user) { return ops.contains(user); }))
      return false;
  return llvm::all_of(ops, [&](Operation *op) {
    return llvm::all_of(op->getUsers(),
                        [&](Operation *user) { return user == root || ops.contains(user); });
  });
}

std::optional<HalvedSum> ComputedOperand::halves(AffineExpr steps) const {
  auto count = dl::asConstant(steps);
  if (!count || cats.size() != 1)
    return std::nullopt;
  dl::CatOp cat = cats.front();
  if (cat.getTensors().size() != 2)
    return std::nullopt;
  auto sizeOf = [&](Value part) { return dl::asConstant(dl::getDims(typeOf(part))[dimOf(cat)]); };
  auto low = sizeOf(cat.getTensors()[0]), high = sizeOf(cat.getTensors()[1]);
  if (!low || low != high || *count <= *low)
    return std::nullopt;
  HalvedSum found{cat, *low};
  // An index that changes along the sum by whole quotients alone stays for as many steps as the
  // divisor is.
  bool isOne = true;
  for (const auto &[input, places] : reads)
    for (ArrayRef<AffineExpr> at : places)
      for (AffineExpr index : at)
        index.walk([&](AffineExpr part) {
          auto quotient = dyn_cast<AffineBinaryOpExpr>(part);
          if (!quotient || quotient.getKind() != AffineExprKind::FloorDiv ||
              quotient.getLHS() != sum)
            return;
          int64_t divisor = dl::asConstant(quotient.getRHS()).value_or(0);
          isOne &= found.block == 0 || found.block == divisor;
          found.block = divisor;
        });
  if (!isOne || found.block <= 1 || found.size % found.block != 0 ||
      (*count - found.size) % found.block != 0)
    found.block = 0;
  return found;
}

/// `type` in panels along `column`: the dims that are `summed` lie behind those that choose a
/// panel.
static dl::Layout inPanels(RankedTensorType type, int64_t column,
                           const llvm::SmallBitVector &summed) {
  dl::Layout layout;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (dim != column && !summed.test(dim))
      layout.order.push_back(dim);
  layout.order.push_back(column);
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (dim != column && summed.test(dim))
      layout.order.push_back(dim);
  layout.tileDim = column;
  layout.tile = kPanel;
  return layout;
}

std::optional<SmallVector<PackedOperand>> ComputedOperand::pack(AffineExpr variable,
                                                                ArrayRef<AffineExpr> sums) const {
  auto moves = [](AffineExpr index, AffineExpr along) {
    return index.isFunctionOfDim(cast<AffineDimExpr>(along).getPosition());
  };
  SmallVector<PackedOperand> packed;
  for (const auto &[input, places] : reads) {
    std::optional<int64_t> column;
    llvm::SmallBitVector summed(typeOf(input).getRank());
    for (ArrayRef<AffineExpr> at : places)
      for (auto [dim, index] : llvm::enumerate(at)) {
        if (llvm::any_of(sums, [&, index = index](AffineExpr sum) { return moves(index, sum); }))
          summed.set(dim);
        if (!moves(index, variable))
          continue;
        if (index != variable || (column && *column != static_cast<int64_t>(dim)))
          return std::nullopt;
        column = dim;
      }
    if (column)
      packed.push_back({input.getArgNumber(), inPanels(typeOf(input), *column, summed)});
  }
  return packed.empty() ? std::nullopt : std::optional(packed);
}

} // namespace dlc::codegen
