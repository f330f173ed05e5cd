//===- MappedTemplate.cpp - Products whose operands TMA brings ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/MappedTemplate.h"

using namespace mlir;

namespace dlc::codegen {

/// The largest side that a map of the tensor memory accelerator counts.
static constexpr int64_t kMostOfSide = INT32_MAX - 4096;

std::optional<MappedTemplate::Matrix> MappedTemplate::matrixOf(unsigned term,
                                                               const Side &side) const {
  auto input = plainInput(term, side);
  if (!input)
    return std::nullopt;
  SmallVector<AffineExpr> offsets;
  c.visitTerm(term, c.loops(), [&](AffineExpr offset) { offsets.push_back(offset); });
  if (offsets.size() != 1)
    return std::nullopt;
  // Dims that the other operand keeps apart may be one line of this one: a filter's taps and
  // channels.
  AffineExpr offset = offsets.front(), row = side.groups.front().variable,
             depth = c.depth.groups.front().variable;
  if (side.groups.size() > 1)
    std::tie(offset, row) = k.overFlat(offset, side.groups);
  if (offset && c.depth.groups.size() > 1)
    std::tie(offset, depth) = k.overFlat(offset, c.depth.groups);
  if (!offset)
    return std::nullopt;
  AffineExpr zero = k.math.constant(0), one = k.math.constant(1);
  llvm::DenseMap<AffineExpr, AffineExpr> atZero = {{row, zero}, {depth, zero}};
  AffineExpr origin = k.math.simplify(offset.replace(atZero));
  auto stepAlong = [&](AffineExpr variable) {
    llvm::DenseMap<AffineExpr, AffineExpr> unit = atZero;
    unit[variable] = one;
    return k.math.simplify(offset.replace(unit) - origin);
  };
  AffineExpr alongRow = stepAlong(row), alongDepth = stepAlong(depth);
  if (!alongRow.isSymbolicOrConstant() || !alongDepth.isSymbolicOrConstant() ||
      k.math.simplify(row * alongRow + depth * alongDepth + origin - offset) != zero)
    return std::nullopt;
  // TMA walks lines that begin at multiples of 16 bytes.
  auto isLine = [&](AffineExpr step) {
    return step.isMultipleOf(16 / elementBytes) && k.smallest(step).value_or(0) > 0;
  };
  auto lineOf = [&](AffineExpr step) -> AffineExpr {
    if (origin == zero)
      return zero;
    auto size = dl::asConstant(step);
    return size && origin.isMultipleOf(*size) ? k.math.simplify(origin.floorDiv(*size))
                                              : AffineExpr();
  };
  if (AffineExpr line = lineOf(alongRow); alongDepth == one && isLine(alongRow) && line)
    return Matrix{*input, false, alongRow, line};
  // Steps of k after the last are those of the next product, and no zeros.
  bool endsWithSlabs = origin == zero || c.depth.extent.isMultipleOf(128 / elementBytes);
  if (AffineExpr line = lineOf(alongDepth);
      alongRow == one && isLine(alongDepth) && elementBytes == 2 && line && endsWithSlabs)
    return Matrix{*input, true, alongDepth, line};
  return std::nullopt;
}

bool MappedTemplate::hasSides() const {
  auto isSide = [&](const Side &side) {
    auto most = k.largest(side.extent);
    return !side.groups.empty() && most && *most <= kMostOfSide;
  };
  return isSide(rows) && isSide(columns) && isSide(c.depth) &&
         k.smallest(c.depth.extent).value_or(0) > 0;
}

Attribute MappedTemplate::mapOf(const Matrix &matrix, const Side &side, int64_t boxRows) const {
  int64_t line =
      128 / elementBytes; // elements of a line of shared memory: also the steps of k in a slab
  AffineExpr across = side.extent, along = c.depth.extent;
  if (matrix.alongRows)
    std::swap(across, along);
  // Down to the end of the last product.
  llvm::DenseMap<AffineExpr, AffineExpr> atLast;
  for (const DimGroup &group : c.batch.groups)
    atLast[group.variable] = group.extent - 1;
  across = dl::normalize(matrix.line.replace(atLast) + across);
  MLIRContext *context = k.b.getContext();
  return dlx::TensorMapAttr::get(
      context, matrix.input, AffineMapAttr::get(dl::dimsMap({along, across, matrix.step}, context)),
      k.b.getDenseI64ArrayAttr({line, matrix.alongRows ? line : boxRows}));
}

} // namespace dlc::codegen
