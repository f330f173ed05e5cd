//===- PositionBox.cpp - Positions that are a part of each dim ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/PositionBox.h"

#include "frontend/dl/evaluate/Arithmetic.h"
#include "ir/dl/base/DLBuilder.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::onnx {

namespace {

/// start + the sum of steps[k] times the index along dim k of the positions.
struct Linear {
  AffineExpr start;
  SmallVector<int64_t, 6> steps;

  bool isNumber() const {
    return llvm::all_of(steps, [](int64_t step) { return step == 0; });
  }
};

/// Whether sums and products of two such numbers are ones to work with.
bool isWorkable(AffineExpr number) {
  return frontend::countOperations(number) <= frontend::kMaxDimOperations &&
         !number
              .walk([](AffineExpr part) {
                auto constant = dl::asConstant(part);
                return constant && llvm::AbsoluteValue(*constant) > INT32_MAX
                           ? WalkResult::interrupt()
                           : WalkResult::advance();
              })
              .wasInterrupted();
}

/// Reads the elements of a tensor off the ops that make it.
class ElementReader {
public:
  ElementReader(MLIRContext *context, size_t loops) : context(context), loops(loops) {}

  /// The element of `x` at the indices `at`, one for each of its dims; nullopt where it is no
  /// linear sum of the indices.
  std::optional<Linear> at(mlir::Value x, ArrayRef<Linear> at);
  Linear number(AffineExpr value) const { return {value, SmallVector<int64_t, 6>(loops, 0)}; }
  Linear number(int64_t value) const { return number(dl::constantDim(value, context)); }
  Linear loop(size_t k) const {
    Linear index = number(0);
    index.steps[k] = 1;
    return index;
  }

private:
  using Found = std::optional<Linear>;
  /// Positions are made by a few ops; others, as a long sum of one tensor with itself, are not
  /// followed further.
  static constexpr size_t kMostOps = 512;

  /// a + factor b
  Found sum(const Found &a, const Found &b, int64_t factor = 1) const;
  Found ofReshape(dl::ReshapeOp op, ArrayRef<Linear> at);
  Found ofRepeated(mlir::Value from, ArrayRef<Linear> at);
  Found ofJoined(dl::CatOp op, ArrayRef<Linear> at);
  /// Where dim `dim` of `from` is read at start + step times its index in `at`.
  Found ofPart(mlir::Value from, int64_t dim, AffineExpr start, int64_t step, ArrayRef<Linear> at);
  Found ofSlice(dl::SliceOp op, ArrayRef<Linear> at);
  Found ofProduct(const Found &a, const Found &b) const;

  MLIRContext *context;
  size_t loops, ops = 0;
};

ElementReader::Found ElementReader::sum(const Found &a, const Found &b, int64_t factor) const {
  auto isSmall = [](const Found &x) {
    return x && isWorkable(x->start) && llvm::all_of(x->steps, [](int64_t step) {
             return llvm::AbsoluteValue(step) <= INT32_MAX;
           });
  };
  if (!isSmall(a) || !isSmall(b) || llvm::AbsoluteValue(factor) > INT32_MAX)
    return std::nullopt;
  Linear result = *a;
  result.start = dl::normalize(a->start + b->start * factor);
  for (auto [step, other] : llvm::zip(result.steps, b->steps))
    step += other * factor;
  return result;
}

/// Dims of 1 come and go; the others stay, in their order.
ElementReader::Found ElementReader::ofReshape(dl::ReshapeOp op, ArrayRef<Linear> at) {
  SmallVector<Linear> kept, inner;
  dl::Dims to = dl::dimsOf(op->getResult(0)), from = dl::dimsOf(op.getX()), keptDims;
  for (auto [dim, index] : llvm::zip(to, at))
    if (!dl::isConstant(dim, 1)) {
      kept.push_back(index);
      keptDims.push_back(dim);
    }
  size_t next = 0;
  for (AffineExpr dim : from) {
    bool isOne = dl::isConstant(dim, 1);
    if (!isOne && (next == kept.size() || keptDims[next] != dim))
      return std::nullopt;
    inner.push_back(isOne ? number(0) : kept[next++]);
  }
  return next == kept.size() ? this->at(op.getX(), inner) : std::nullopt;
}

ElementReader::Found ElementReader::ofRepeated(mlir::Value from, ArrayRef<Linear> at) {
  dl::Dims dims = dl::dimsOf(from);
  SmallVector<Linear> inner(at.take_back(dims.size()));
  for (auto [dim, index] : llvm::zip(dims, inner))
    if (dl::isConstant(dim, 1))
      index = number(0);
  return this->at(from, inner);
}

ElementReader::Found ElementReader::ofJoined(dl::CatOp op, ArrayRef<Linear> at) {
  int64_t dim = *dl::wrapDim(std::nullopt, "", op.getDim(), at.size());
  SmallVector<Linear> inner(at);
  if (auto place = at[dim].isNumber() ? dl::asConstant(at[dim].start) : std::nullopt) {
    for (mlir::Value part : op.getTensors()) {
      auto size = dl::asConstant(dl::dimsOf(part)[dim]);
      if (!size)
        return std::nullopt;
      inner[dim] = number(*place);
      if (*place < *size)
        return this->at(part, inner);
      *place -= *size;
    }
    return std::nullopt;
  }
  // Single numbers at equal distances.
  Found first;
  std::optional<int64_t> step;
  inner[dim] = number(0);
  for (auto [position, part] : llvm::enumerate(op.getTensors())) {
    auto element = dl::isConstant(dl::dimsOf(part)[dim], 1) ? this->at(part, inner) : std::nullopt;
    if (!element || !isWorkable(element->start) || (first && element->steps != first->steps))
      return std::nullopt;
    if (position == 0) {
      first = element;
      continue;
    }
    auto distance = dl::asConstant(dl::normalize(element->start - first->start));
    if (position == 1)
      step = distance;
    if (!step || distance != *step * static_cast<int64_t>(position))
      return std::nullopt;
  }
  return step ? sum(first, at[dim], *step) : std::nullopt;
}

ElementReader::Found ElementReader::ofPart(mlir::Value from, int64_t dim, AffineExpr start,
                                           int64_t step, ArrayRef<Linear> at) {
  SmallVector<Linear> inner(at);
  auto index = sum(number(start), at[dim], step);
  if (!index)
    return std::nullopt;
  inner[dim] = *index;
  return this->at(from, inner);
}

/// Bounds beyond the dim are clamped.
ElementReader::Found ElementReader::ofSlice(dl::SliceOp op, ArrayRef<Linear> at) {
  int64_t dim = *dl::wrapDim(std::nullopt, "", op.getDim(), at.size());
  int64_t start = op.getStart() ? static_cast<int64_t>(*op.getStart()) : 0;
  auto size = dl::asConstant(dl::dimsOf(op.getX())[dim]);
  if (start < 0 && !size)
    return std::nullopt;
  start = start < 0 ? std::max<int64_t>(start + *size, 0) : start;
  return ofPart(op.getX(), dim, dl::constantDim(size ? std::min(start, *size) : start, context),
                static_cast<int64_t>(op.getStep()), at);
}

ElementReader::Found ElementReader::ofProduct(const Found &a, const Found &b) const {
  if (!a || !b)
    return std::nullopt;
  for (auto [factor, other] : {std::pair(&*a, &*b), std::pair(&*b, &*a)})
    if (auto constant = factor->isNumber() ? dl::asConstant(factor->start) : std::nullopt)
      return sum(number(0), *other, *constant);
  return std::nullopt;
}

ElementReader::Found ElementReader::at(mlir::Value x, ArrayRef<Linear> at) {
  Operation *made = x.getDefiningOp();
  // Truth values and small integers are no positions, and may wrap.
  Type dtype = dl::typeOf(x).getElementType();
  if (!made || ++ops > kMostOps || !(dtype.isInteger(64) || dtype.isInteger(32)))
    return std::nullopt;
  auto of = [&](unsigned operand) { return this->at(made->getOperand(operand), at); };
  return llvm::TypeSwitch<Operation *, Found>(made)
      .Case<dl::ArangeOp>([&](dl::ArangeOp op) {
        AffineExpr start =
            op.getStart() ? op.getStart()->getResult(0) : dl::constantDim(0, context);
        return sum(number(start), at[0], static_cast<int64_t>(op.getStep()));
      })
      .Case<dl::ScalarTensorOp>(
          [&](dl::ScalarTensorOp op) { return Found(number(op.getS().getResult(0))); })
      .Case<dl::FullOp>([&](dl::FullOp op) {
        auto fill = dyn_cast<IntegerAttr>(op.getFill());
        return fill ? Found(number(fill.getValue().getSExtValue())) : Found();
      })
      .Case<dl::ReshapeOp>([&](dl::ReshapeOp op) { return ofReshape(op, at); })
      .Case<dl::BroadcastOp, dl::ExpandOp>([&](auto op) { return ofRepeated(op.getX(), at); })
      .Case<dl::CatOp>([&](dl::CatOp op) { return ofJoined(op, at); })
      .Case<dl::PermuteOp>([&](dl::PermuteOp op) {
        SmallVector<Linear> inner(at);
        for (auto [position, dim] : llvm::enumerate(op.getDims()))
          inner[*dl::wrapDim(std::nullopt, "", dim, at.size())] = at[position];
        return this->at(op.getX(), inner);
      })
      .Case<dl::NarrowOp>([&](dl::NarrowOp op) {
        int64_t dim = *dl::wrapDim(std::nullopt, "", op.getDim(), at.size());
        AffineExpr start = op.getStart().getResult(0);
        if (auto constant = dl::asConstant(start); constant && *constant < 0)
          start = dl::normalize(dl::dimsOf(op.getX())[dim] + start);
        return ofPart(op.getX(), dim, start, 1, at);
      })
      .Case<dl::SliceOp>([&](dl::SliceOp op) { return ofSlice(op, at); })
      .Case<dl::CastOp>([&](dl::CastOp) { return of(0); })
      .Case<dl::AddOp>([&](dl::AddOp) { return sum(of(0), of(1)); })
      .Case<dl::SubOp>([&](dl::SubOp) { return sum(of(0), of(1), -1); })
      .Case<dl::MulOp>([&](dl::MulOp) { return ofProduct(of(0), of(1)); })
      .Default([](Operation *) { return Found(); });
}

/// The same of numbers of 32 bits: row-major, the last dim holding one for each dim of x.
std::optional<Linear> linearOf(ArrayRef<int64_t> numbers, ArrayRef<int64_t> shape, int64_t part,
                               Linear zero) {
  int64_t depth = shape.back(), stride = depth;
  SmallVector<int64_t> strides(shape.size() - 1);
  for (int64_t k = shape.size() - 2; k >= 0; stride *= shape[k--])
    strides[k] = stride;
  int64_t start = numbers[part];
  Linear result = std::move(zero);
  result.start = dl::constantDim(start, result.start.getContext());
  for (auto [k, step] : llvm::enumerate(result.steps))
    if (shape[k] > 1)
      step = numbers[part + strides[k]] - start;
  for (size_t at = part; at < numbers.size(); at += depth) {
    int64_t number = start;
    for (auto [k, step] : llvm::enumerate(result.steps))
      number += step * (static_cast<int64_t>(at) / strides[k] % shape[k]);
    if (number != numbers[at])
      return std::nullopt;
  }
  return result;
}

} // namespace

/// Whether `range` lies in a dim of so many places; its start is then counted from the front.
static bool liesWithin(NodeImport &node, PositionRange &range, AffineExpr dim) {
  AffineExpr last = dl::normalize(range.start + range.size - 1);
  auto lasts = node.rangeOf(last);
  if (lasts && lasts->max < 0)
    range.start = dl::normalize(range.start + dim);
  auto starts = node.rangeOf(range.start);
  if (!starts || starts->min < 0)
    return false;
  AffineExpr end = dl::normalize(range.start + range.size), room = dl::normalize(dim - end);
  auto rooms = node.rangeOf(room);
  if (rooms && rooms->min >= 0)
    return true;
  auto most = dl::asConstant(dim);
  return most && node.limit(end, *most);
}

std::optional<SmallVector<PositionRange>> positionBox(NodeImport &node, size_t input,
                                                      ArrayRef<AffineExpr> dims) {
  dl::Dims shape = node.dims(input);
  size_t loops = shape.size() - 1;
  int64_t depth = *dl::asConstant(shape.back());
  // A box without places is left to the op that looks at positions.
  if (node.hasFailed() ||
      llvm::any_of(shape, [](AffineExpr dim) { return dl::isConstant(dim, 0); }))
    return std::nullopt;
  ElementReader reader(node.context, loops);
  auto numbers = node.knownIntegers(input);
  SmallVector<int64_t> sizes;
  SmallVector<Linear> at;
  mlir::Value tensor;
  if (numbers) {
    auto isSmall = [](int64_t number) { return llvm::isInt<32>(number); };
    if (!llvm::all_of(*numbers, isSmall))
      return std::nullopt;
    for (AffineExpr dim : shape)
      sizes.push_back(*dl::asConstant(dim));
  } else {
    Item item = node.tensor(input);
    if (!item.isTensor())
      return std::nullopt;
    tensor = item.as<mlir::Value>();
    for (size_t k = 0; k < loops; ++k)
      at.push_back(reader.loop(k));
    at.push_back(reader.number(0));
  }
  SmallVector<PositionRange> box;
  SmallVector<bool> taken(loops, false);
  frontend::OpEmitter &emitter = node.importer.opEmitter();
  for (int64_t part = 0; part < depth; ++part) {
    if (!numbers)
      at.back() = reader.number(part);
    auto element =
        numbers ? linearOf(*numbers, sizes, part, reader.number(0)) : reader.at(tensor, at);
    if (!element || !isWorkable(element->start))
      return std::nullopt;
    PositionRange range{element->start, node.dim(1), std::nullopt};
    for (auto [k, step] : llvm::enumerate(element->steps)) {
      if (step == 0 || dl::isConstant(shape[k], 1))
        continue;
      if (step != 1 || range.loop || taken[k])
        return std::nullopt;
      range.loop = k;
      range.size = shape[k];
      taken[k] = true;
    }
    // A counted dim is padded beyond its count, and a box must not reach into the padding.
    bool isWhole = dl::isConstant(range.start, 0) && range.size == dims[part];
    if (!isWhole && (emitter.isCounted(range.start) || emitter.isCounted(range.size) ||
                     emitter.isCounted(dims[part])))
      return std::nullopt;
    box.push_back(range);
  }
  for (auto [k, dim] : llvm::enumerate(ArrayRef(shape).drop_back()))
    if (!taken[k] && !dl::isConstant(dim, 1))
      return std::nullopt;
  for (auto [range, dim] : llvm::zip(box, dims))
    if (!(dl::isConstant(range.start, 0) && range.size == dim) && !liesWithin(node, range, dim))
      return std::nullopt;
  return box;
}

} // namespace dlc::onnx
