//===- TensorReader.cpp - Reads a tensor at affine functions of loop indices --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/interpreter/TensorReader.h"

#include "ir/scalar/Scalar.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace dlc {

void unravel(int64_t first, int64_t count, ArrayRef<int64_t> extents, Indices &indices) {
  indices.resize(extents.size());
  for (int64_t place = 0; place < count; ++place) {
    int64_t rest = first + place;
    for (int64_t dim = static_cast<int64_t>(extents.size()) - 1; dim >= 0; --dim) {
      indices[dim][place] = rest % extents[dim];
      rest /= extents[dim];
    }
  }
}

/// Evaluates `expr`, without symbols, for each place of a block. Dim d of it is dims[d - first].
static void evaluate(AffineExpr expr, const Indices &dims, unsigned first, int64_t count,
                     int64_t *to) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    std::fill_n(to, count, constant.getValue());
    return;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    std::copy_n(dims[dim.getPosition() - first].data(), count, to);
    return;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t rhs[kBlock];
  evaluate(binary.getLHS(), dims, first, count, to);
  evaluate(binary.getRHS(), dims, first, count, rhs);
  for (int64_t i = 0; i < count; ++i)
    switch (binary.getKind()) {
    case AffineExprKind::Add:
      to[i] += rhs[i];
      break;
    case AffineExprKind::Mul:
      to[i] *= rhs[i];
      break;
    case AffineExprKind::FloorDiv:
      to[i] = llvm::divideFloorSigned(to[i], rhs[i]);
      break;
    case AffineExprKind::CeilDiv:
      to[i] = llvm::divideCeilSigned(to[i], rhs[i]);
      break;
    case AffineExprKind::Mod:
      to[i] = llvm::mod(to[i], rhs[i]);
      break;
    default:
      llvm_unreachable("all binary kinds are handled");
    }
}

static bool usesDims(AffineExpr expr, unsigned begin, unsigned end) {
  for (unsigned dim = begin; dim < end; ++dim)
    if (expr.isFunctionOfDim(dim))
      return true;
  return false;
}

/// expr = place(dims < numParallel) + term(the others), where it is such a sum.
static bool separate(AffineExpr expr, unsigned numParallel, unsigned numLoops, AffineExpr &place,
                     AffineExpr &term) {
  AffineExpr zero = getAffineConstantExpr(0, expr.getContext());
  if (!usesDims(expr, numParallel, numLoops)) {
    place = expr, term = zero;
    return true;
  }
  if (!usesDims(expr, 0, numParallel)) {
    place = zero, term = expr;
    return true;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  AffineExpr otherPlace, otherTerm;
  if (binary.getKind() == AffineExprKind::Add) {
    if (!separate(binary.getLHS(), numParallel, numLoops, place, term) ||
        !separate(binary.getRHS(), numParallel, numLoops, otherPlace, otherTerm))
      return false;
    place = place + otherPlace, term = term + otherTerm;
    return true;
  }
  if (binary.getKind() != AffineExprKind::Mul || !isa<AffineConstantExpr>(binary.getRHS()) ||
      !separate(binary.getLHS(), numParallel, numLoops, place, term))
    return false;
  place = place * binary.getRHS(), term = term * binary.getRHS();
  return true;
}

TensorReader::TensorReader(const Access &access, const Tensor &tensor, unsigned numParallel,
                           ArrayRef<int64_t> symbols)
    : tensor(tensor), checked(access.checked), fill(access.fill), sizes(tensor.getDims()),
      computed(access.computed), coordinates(access.isComputed() ? tensor.getDims().size() : 0) {
  MLIRContext *context = access.map.getContext();
  SmallVector<AffineExpr> values;
  for (int64_t symbol : symbols)
    values.push_back(getAffineConstantExpr(symbol, context));
  unsigned numLoops = access.map.getNumDims();
  for (AffineExpr expr : access.map.getResults()) {
    expr = simplifyAffineExpr(expr.replaceSymbols(values), numLoops, 0);
    AffineExpr place, term;
    bool isSeparable = separate(expr, numParallel, numLoops, place, term);
    mixed.push_back(isSeparable ? AffineExpr() : expr);
    placePart.push_back(place), termPart.push_back(term);
  }
  if (llvm::all_of(mixed, [](AffineExpr expr) { return !expr; }))
    mixed.clear();
  else
    for (auto [expr, place, term] : llvm::zip(mixed, placePart, termPart))
      if (!expr)
        expr = place + term;
  strides.resize(sizes.size());
  int64_t stride = 1;
  for (int64_t dim = static_cast<int64_t>(sizes.size()) - 1; dim >= 0; --dim) {
    strides[dim] = stride;
    stride *= sizes[dim];
  }
  if (auto integer = dyn_cast<IntegerType>(tensor.getElementType())) {
    // As Scalar::constant: saturated in the way in which the type is read, then held as lanes are.
    unsignedWidth = integer.isUnsigned() ? std::max(integer.getWidth(), 8u) : 0;
    unsigned width = integer.getWidth();
    bool isSigned = scalarKind(integer) == ScalarKind::signedInt;
    double lowest = isSigned ? -std::ldexp(1.0, width - 1) : 0.0;
    double highest = std::ldexp(1.0, isSigned ? width - 1 : width);
    int64_t value = fill <= lowest
                        ? (width == 64 && isSigned ? INT64_MIN : static_cast<int64_t>(lowest))
                    : fill >= highest ? (width < 64 ? static_cast<int64_t>(highest) - 1
                                         : isSigned ? INT64_MAX
                                                    : -1)
                    : fill < 0x1p63   ? static_cast<int64_t>(fill)
                                      : static_cast<int64_t>(static_cast<uint64_t>(fill));
    intFill = unsignedWidth ? llvm::SignExtend64(value, unsignedWidth) : value;
  }
}

void TensorReader::setPlaces(const Indices &indices, int64_t count) {
  places = count;
  parallel = &indices;
  if (!mixed.empty())
    return;
  std::fill_n(base.begin(), count, 0);
  placeIndex.resize(sizes.size());
  low.resize(sizes.size()), high.resize(sizes.size());
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    auto &index = placeIndex[dim];
    evaluate(placePart[dim], indices, 0, count, index.data());
    for (int64_t i = 0; i < count; ++i)
      base[i] += index[i] * strides[dim];
    if (checked && count) {
      auto [least, most] = std::minmax_element(index.begin(), index.begin() + count);
      low[dim] = *least, high[dim] = *most;
    }
  }
  int64_t difference = count > 1 ? base[1] - base[0] : 0;
  step = difference == 0 ? Step::zero : difference == 1 ? Step::one : Step::other;
  for (int64_t i = 1; i < count; ++i)
    if (base[i] - base[i - 1] != difference)
      step = Step::other;
}

void TensorReader::setTerms(const Indices &indices, int64_t count) {
  reduction = &indices;
  if (!mixed.empty())
    return;
  unsigned first = parallel ? static_cast<unsigned>(parallel->size()) : 0;
  std::fill_n(termOffset.begin(), count, 0);
  termIndex.resize(sizes.size());
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    evaluate(termPart[dim], indices, first, count, termIndex[dim].data());
    for (int64_t i = 0; i < count; ++i)
      termOffset[i] += termIndex[dim][i] * strides[dim];
  }
}

/// Evaluates the index of each place for one term. Slow, and rare: no op whose accesses mix the two
/// is hot.
void TensorReader::evaluateMixed(int64_t term) {
  Indices all = *parallel;
  if (reduction)
    for (const auto &index : *reduction) {
      all.emplace_back();
      std::fill_n(all.back().begin(), places, index[term]);
    }
  placeIndex.resize(sizes.size());
  low.assign(sizes.size(), 0), high.assign(sizes.size(), 0);
  std::fill_n(base.begin(), places, 0);
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    evaluate(mixed[dim], all, 0, places, placeIndex[dim].data());
    for (int64_t i = 0; i < places; ++i)
      base[i] += placeIndex[dim][i] * strides[dim];
    low[dim] = *std::min_element(placeIndex[dim].begin(), placeIndex[dim].begin() + places);
    high[dim] = *std::max_element(placeIndex[dim].begin(), placeIndex[dim].begin() + places);
  }
  termIndex.assign(sizes.size(), {});
  termOffset[term] = 0;
  step = Step::other;
}

bool TensorReader::mayLeave(int64_t term) const {
  if (!checked)
    return false;
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    if (low[dim] + termIndex[dim][term] < 0 || high[dim] + termIndex[dim][term] >= sizes[dim])
      return true;
  return false;
}

template <typename T>
void TensorReader::readChecked(const T *from, T fillValue, int64_t term, T *to) const {
  bool isInside[kBlock];
  std::fill_n(isInside, places, true);
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    const int64_t *index = placeIndex[dim].data();
    const int64_t shift = termIndex[dim][term];
    const auto size = static_cast<uint64_t>(sizes[dim]);
    for (int64_t i = 0; i < places; ++i)
      isInside[i] &= static_cast<uint64_t>(index[i] + shift) < size;
  }
  for (int64_t i = 0; i < places; ++i)
    to[i] = isInside[i] ? from[base[i] + termOffset[term]] : fillValue;
}

void TensorReader::setCoordinates(unsigned dim, const int64_t *indices) {
  std::copy_n(indices, places, coordinates[dim].begin());
}

/// An index outside the tensor gives the fill, whoever computed it: nothing else is ever read.
template <typename T>
void TensorReader::readComputed(const T *from, T fillValue, int64_t term, T *to) const {
  for (int64_t i = 0; i < places; ++i) {
    int64_t address = 0;
    bool isInside = true;
    for (size_t dim = 0; dim < sizes.size(); ++dim) {
      int64_t index =
          computed.test(dim) ? coordinates[dim][i] : placeIndex[dim][i] + termIndex[dim][term];
      isInside &= index >= 0 && index < sizes[dim];
      address += isInside ? index * strides[dim] : 0;
    }
    assert((isInside || checked) && "an unchecked access stays inside");
    to[i] = isInside ? from[address] : fillValue;
  }
}

void TensorReader::read(int64_t term, Lanes &to) {
  if (!mixed.empty())
    evaluateMixed(term);
  const int64_t offset = termOffset[term];
  bool isChecked = mayLeave(term);
  if (isFloat()) {
    const double *from = tensor.floats().data();
    if (computed.any())
      readComputed(from, fill, term, to.floats);
    else if (isChecked)
      readChecked(from, fill, term, to.floats);
    else if (step == Step::one)
      std::copy_n(from + base[0] + offset, places, to.floats);
    else
      for (int64_t i = 0; i < places; ++i)
        to.floats[i] = from[base[i] + offset];
    return;
  }
  const int64_t *from = tensor.ints().data();
  if (computed.any())
    readComputed(from, intFill, term, to.ints);
  else if (isChecked)
    readChecked(from, intFill, term, to.ints);
  else
    for (int64_t i = 0; i < places; ++i)
      to.ints[i] = from[base[i] + offset];
  // Lanes hold integers sign-extended; the fill is so already and stays.
  if (unsignedWidth)
    for (int64_t i = 0; i < places; ++i)
      to.ints[i] = llvm::SignExtend64(to.ints[i], unsignedWidth);
}

void TensorReader::multiplyAdd(TensorReader &a, TensorReader &b, int64_t term, double *sums) {
  const int64_t count = a.places;
  if (!a.mixed.empty() || !b.mixed.empty() || a.mayLeave(term) || b.mayLeave(term)) {
    Lanes left, right;
    a.read(term, left), b.read(term, right);
    for (int64_t i = 0; i < count; ++i)
      sums[i] += left.floats[i] * right.floats[i];
    return;
  }
  if (a.step == Step::zero && b.step != Step::zero)
    return multiplyAdd(b, a, term, sums);
  const double *left = a.tensor.floats().data() + a.termOffset[term];
  const double *right = b.tensor.floats().data() + b.termOffset[term];
  if (a.step == Step::one && b.step == Step::zero) {
    const double factor = right[b.base[0]];
    const double *from = left + a.base[0];
    for (int64_t i = 0; i < count; ++i)
      sums[i] += from[i] * factor;
  } else if (b.step == Step::zero) {
    const double factor = right[b.base[0]];
    for (int64_t i = 0; i < count; ++i)
      sums[i] += left[a.base[i]] * factor;
  } else {
    for (int64_t i = 0; i < count; ++i)
      sums[i] += left[a.base[i]] * right[b.base[i]];
  }
}

} // namespace dlc
