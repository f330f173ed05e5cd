//===- WindowSchedule.cpp - Depthwise convolutions on the CPU -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each channel has a filter of its own: vectors of channels are multiplied and added, and no
// element is read for more than one of them. Several neighbours along the innermost spatial dim
// (the width) are computed at once: their sums do not wait for each other, they share the filter,
// and what their windows have in common is loaded once.
//
// The blocks at both ends of the width are written out for their own positions, so that taps
// outside of the image are left out when the code is made; those between need no test. Along the
// other dims a loop walks the part of the window that lies inside.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/CpuKernel.h"
#include "codegen/plan/Combine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

/// Neighbours of a block: their sums, the filter and what they share stay in the registers of
/// AVX-512, or of AVX2.
static constexpr int64_t kMostNeighbours = 8, kMostNeighboursAvx2 = 4;
/// Taps along the width that are written out.
static constexpr int64_t kMostTaps = 16;
/// Channels of a tile: the filters of so many lie in the first cache.
static constexpr int64_t kTileChannels = 128;
/// Tiles along the height of an image, about: enough for threads to share evenly, and of several
/// rows, whose windows meet.
static constexpr int64_t kTilesOfHeight = 8;
/// Rows of a tile where the height is a symbol.
static constexpr int64_t kSymbolicRows = 4;

namespace {

/// The loops of such a kernel.
struct WindowLoops {
  SmallVector<AffineExpr> parallel, reduction;
  int64_t channel = -1, width = -1; // parallel dims: the lanes, and the neighbours of a block
  SmallVector<unsigned> outer;      // the other ones, in memory order
  SmallVector<unsigned> rows, taps; // reduction loops that leave the width alone, and the others
  /// For each of the rows, what of the image its index is counted from, and the image's extent;
  /// null: all of it lies inside.
  SmallVector<std::pair<AffineExpr, AffineExpr>> images;
  int64_t positions = 0; // along the width
  // Between these no window leaves the image along the width.
  int64_t low = 0, high = 0;

  /// How many blocks of at most `most` neighbours there are.
  int64_t blocks(int64_t most) const {
    return std::max<int64_t>(1, llvm::divideCeil(positions, most));
  }
  int64_t neighbours(int64_t most) const { return llvm::divideCeil(positions, blocks(most)); }
  /// The blocks between the first and the last one lie where no window leaves the image.
  bool areInside(int64_t most) const {
    int64_t count = blocks(most), size = neighbours(most);
    return count <= 2 || (low <= size && high >= (count - 1) * size);
  }
};

class WindowSchedule {
public:
  WindowSchedule(CpuKernel &kernel, WindowLoops found);
  CpuLaunch run();

private:
  void emitRow(Value from, Value to);
  void emitBlock(AffineExpr first, Value from, Value to);
  SmallVector<Value> reduceRows(unsigned depth, SmallVector<Value> sums);
  SmallVector<Value> addTaps(SmallVector<Value> sums);
  bool isOutside() const;
  Value factor(unsigned access);

  CpuKernel &k;
  const LoopNest &nest;
  WindowLoops loops;
  Type accType;
  ScalarKind accKind;
  int64_t neighbours, blocks;
  AffineExpr position; // of the first neighbour of the block at hand
};

} // namespace

//===- What has such loops --------------------------------------------------------------------===//

/// Sorts the reduction loops into rows and taps and finds the borders; false where a test is of
/// another form.
static bool findBorders(BodyEmitter &emitter, IndexMath &math, WindowLoops &loops) {
  const LoopNest &nest = emitter.getNest();
  AffineExpr width = loops.parallel[loops.width];
  const AffineMap &image = nest.terms[0].map;
  int64_t taps = 1;
  for (unsigned loop = 0; loop < nest.reduction.size(); ++loop) {
    auto extent = dl::asConstant(nest.reduction[loop]);
    if (!extent)
      return false;
    bool isTap = llvm::any_of(image.getResults(), [&](AffineExpr index) {
      return index.isFunctionOfDim(nest.parallel.size() + loop) &&
             index.isFunctionOfDim(loops.width);
    });
    (isTap ? loops.taps : loops.rows).push_back(loop);
    taps *= isTap ? *extent : 1;
  }
  if (loops.taps.empty() || taps > kMostTaps)
    return false;
  loops.images.resize(loops.rows.size());
  loops.low = 0;
  loops.high = loops.positions;
  bool isKnown = true;
  emitter.visitTermTests(loops.parallel, loops.reduction, [&](AffineExpr index, AffineExpr extent) {
    auto size = dl::asConstant(extent);
    auto step = math.stepAlong(index, width);
    isKnown &= math.stepAlong(index, loops.parallel[loops.channel]) == 0;
    if (step && *step > 0 && size) {
      auto rest = math.range(math.simplify(index - width * *step));
      isKnown &= rest.has_value();
      if (!rest)
        return;
      loops.low = std::max(loops.low, llvm::divideCeilSigned(-rest->min, *step));
      loops.high = std::min(loops.high, llvm::divideFloorSigned(*size - 1 - rest->max, *step) + 1);
      return;
    }
    // base + row, and nothing else that is summed over.
    isKnown &= step == 0;
    AffineExpr *base = nullptr;
    for (auto [number, row] : llvm::enumerate(loops.rows)) {
      auto along = math.stepAlong(index, loops.reduction[row]);
      if (along == 0)
        continue;
      isKnown &= along == 1 && !base && !loops.images[number].first;
      loops.images[number] = {math.simplify(index - loops.reduction[row]), extent};
      base = &loops.images[number].first;
    }
    isKnown &= base != nullptr;
    for (AffineExpr variable : loops.reduction)
      isKnown = isKnown && math.stepAlong(*base, variable) == 0;
  });
  return isKnown;
}

static std::optional<WindowLoops> findWindow(BodyEmitter &emitter, IndexMath &math) {
  const LoopNest &nest = emitter.getNest();
  if (!emitter.getRoot() || emitter.getPool() || !nest.isProduct || nest.terms.size() != 2 ||
      !nest.isWindow() || nest.hasComputed() || nest.spanned.any() || nest.terms[1].checked ||
      nest.terms[0].fill != 0 || emitter.getResults().size() != 1)
    return std::nullopt;
  RankedTensorType type = emitter.getResultType();
  if (dl::getLayout(type).isTiled() || type.getRank() < 3)
    return std::nullopt;
  WindowLoops loops;
  for (AffineExpr dim : nest.parallel)
    loops.parallel.push_back(math.addLoop(dim));
  for (AffineExpr dim : nest.reduction)
    loops.reduction.push_back(math.addLoop(dim));
  loops.outer = emitter.memoryOrder();
  loops.channel = loops.outer.pop_back_val();
  loops.width = loops.outer.pop_back_val();
  auto positions = dl::asConstant(nest.parallel[loops.width]);
  // The neighbours of a block share the filter.
  if (!positions || *positions < 2 || nest.terms[1].map.isFunctionOfDim(loops.width))
    return std::nullopt;
  loops.positions = *positions;

  AffineExpr channel = loops.parallel[loops.channel];
  bool moves = false;
  auto isVector = [&](unsigned, AffineExpr offset, bool) {
    moves |= math.strideAlong(offset, channel) == Stride::unit;
    return isVectorAccess(math, offset, channel);
  };
  bool isAlong = math.strideAlong(emitter.resultOffset(loops.parallel), channel) == Stride::unit &&
                 !emitter.needsScalarAlong(channel, loops.parallel, loops.reduction) &&
                 emitter.visitTermReads(loops.parallel, loops.reduction, isVector) && moves &&
                 emitter.visitResultReads(loops.parallel, isVector);
  if (!isAlong || !findBorders(emitter, math, loops) || !loops.areInside(kMostNeighbours) ||
      !loops.areInside(kMostNeighboursAvx2))
    return std::nullopt;
  return loops;
}

bool isWindowProduct(BodyEmitter &emitter, IndexMath &math) {
  return findWindow(emitter, math).has_value();
}

//===- Blocks ---------------------------------------------------------------------------------===//

WindowSchedule::WindowSchedule(CpuKernel &kernel, WindowLoops found)
    : k(kernel), nest(kernel.emitter.getNest()), loops(std::move(found)),
      accType(kernel.emitter.accumulatorType(0)), accKind(kernel.emitter.accumulatorKind(0)) {
  int64_t most = k.isa == IsaVariant::avx2 ? kMostNeighboursAvx2 : kMostNeighbours;
  neighbours = loops.neighbours(most);
  blocks = loops.blocks(most);
}

/// Tiles lie in the order of memory, rows before channels. So a thread has the same part of an
/// image as in the products around this kernel, and finds it in its own cache.
CpuLaunch WindowSchedule::run() {
  AffineExpr channels = nest.parallel[loops.channel], chunks = channels.ceilDiv(kTileChannels);
  AffineExpr rows = nest.parallel[loops.outer.back()];
  auto height = dl::asConstant(rows);
  int64_t rowsOfTile =
      height ? std::max<int64_t>(1, llvm::divideCeil(*height, kTilesOfHeight)) : kSymbolicRows;
  AffineExpr parts = rows.ceilDiv(rowsOfTile);
  SmallVector<AffineExpr> variables, extents;
  for (int64_t dim : ArrayRef(loops.outer).drop_back()) {
    variables.push_back(loops.parallel[dim]);
    extents.push_back(nest.parallel[dim]);
  }
  AffineExpr part = k.math.addLoop(parts), chunk = k.math.addLoop(chunks);
  variables.append({part, chunk});
  extents.append({parts, chunks});
  k.forEach(k.begin, k.end, 1, [&](Value tile) {
    k.delinearize(tile, variables, extents);
    Value from = k.value(chunk * kTileChannels);
    Value to = k.smaller(k.add(from, k.index(kTileChannels)), k.value(channels));
    Value first = k.value(part * rowsOfTile);
    Value end = k.smaller(k.add(first, k.index(rowsOfTile)), k.value(rows));
    k.forEach(first, end, 1, [&](Value row) {
      k.math.bindLoop(loops.parallel[loops.outer.back()], row);
      emitRow(from, to);
    });
  });
  return {dl::normalize(dl::product(extents, k.builder.getContext()))};
}

/// The channels from `from` to `to` of a row.
void WindowSchedule::emitRow(Value from, Value to) {
  emitBlock(k.math.constant(0), from, to);
  if (blocks > 2) {
    AffineExpr at = k.math.addLoop(k.math.constant((blocks - 3) * neighbours + 1));
    k.forEach(k.index(0), k.index((blocks - 2) * neighbours), neighbours, [&](Value next) {
      k.math.bindLoop(at, next);
      emitBlock(at + neighbours, from, to);
    });
  }
  // The last block may compute some of the one before it again.
  if (blocks > 1)
    emitBlock(k.math.constant(loops.positions - neighbours), from, to);
}

/// `neighbours` results from `first` on, of the channels from `from` to `to`.
void WindowSchedule::emitBlock(AffineExpr first, Value from, Value to) {
  AffineExpr width = loops.parallel[loops.width];
  k.forVector(loops.parallel[loops.channel], from, to, [&] {
    position = first;
    Type type = k.vector ? Type(VectorType::get({k.vector->lanes}, accType)) : accType;
    SmallVector<Value> sums(neighbours, neutral(k.builder, k.loc, Combiner::add, type, accKind));
    SmallVector<AffineExpr> whole = loops.reduction;
    sums = reduceRows(0, sums);
    loops.reduction = whole;
    for (auto [number, sum] : llvm::enumerate(sums)) {
      loops.parallel[loops.width] = first + number;
      Value value = k.emitter.emitResult(k.builder, loops.parallel, sum);
      k.store(value, k.emitter.resultOffset(loops.parallel));
    }
    loops.parallel[loops.width] = width;
  });
}

/// The loops over rows from number `depth` on.
SmallVector<Value> WindowSchedule::reduceRows(unsigned depth, SmallVector<Value> sums) {
  if (depth == loops.rows.size())
    return addTaps(std::move(sums));
  unsigned row = loops.rows[depth];
  auto [base, extent] = loops.images[depth];
  auto walk = [&](Value from, Value to, AffineExpr variable) {
    return k.fold(from, to, 1, sums, [&](Value at, ValueRange carried) {
      k.math.bindLoop(variable, at);
      return reduceRows(depth + 1, SmallVector<Value>(carried));
    });
  };
  AffineExpr whole = loops.reduction[row];
  if (!base)
    return walk(k.index(0), k.value(nest.reduction[row]), whole);
  // By the place in the image: it needs no test then.
  AffineExpr place = k.math.addLoop(extent);
  loops.reduction[row] = k.math.simplify(place - base);
  Value start = k.value(base);
  Value from = arith::MaxSIOp::create(k.builder, k.loc, start, k.index(0));
  Value to = k.smaller(k.add(start, k.value(nest.reduction[row])), k.value(extent));
  sums = walk(from, to, place);
  loops.reduction[row] = whole;
  return sums;
}

/// The taps at hand lie outside of the image for the neighbour at hand, and add nothing.
bool WindowSchedule::isOutside() const {
  bool is = false;
  k.emitter.visitTermTests(loops.parallel, loops.reduction,
                           [&](AffineExpr index, AffineExpr extent) {
                             auto at = dl::asConstant(index), size = dl::asConstant(extent);
                             is |= at && (*at < 0 || (size && *at >= *size));
                           });
  return is;
}

/// Returns what term access `access` reads, in the type of the sums.
Value WindowSchedule::factor(unsigned access) {
  SmallVector<AffineExpr> at = loops.parallel;
  llvm::append_range(at, loops.reduction);
  Value tensor = k.emitter.getRoot()->getOperand(nest.terms[access].operand);
  Value value = k.emitter.emitTermRead(k.builder, access, at);
  value = Scalar(k.builder, k.loc, value, scalarKind(getElementTypeOrSelf(tensor.getType())))
              .convertTo(accType, accKind)
              .value();
  return k.vector && !isa<VectorType>(value.getType()) ? k.splat(value, k.vector->lanes) : value;
}

SmallVector<Value> WindowSchedule::addTaps(SmallVector<Value> sums) {
  SmallVector<AffineExpr> whole = loops.reduction;
  AffineExpr width = loops.parallel[loops.width];
  // Values that are read of the image, by where they lie.
  llvm::DenseMap<Attribute, Value> image;
  int64_t count = 1;
  for (unsigned tap : loops.taps)
    count *= *dl::asConstant(nest.reduction[tap]);
  for (int64_t tap = 0; tap < count; ++tap) {
    int64_t rest = tap;
    for (unsigned loop : llvm::reverse(loops.taps)) {
      int64_t extent = *dl::asConstant(nest.reduction[loop]);
      loops.reduction[loop] = k.math.constant(rest % extent);
      rest /= extent;
    }
    Value filter;
    for (auto [number, sum] : llvm::enumerate(sums)) {
      loops.parallel[loops.width] = k.math.simplify(position + number);
      if (isOutside())
        continue;
      if (!filter)
        filter = factor(1);
      SmallVector<AffineExpr> at = loops.parallel, places;
      llvm::append_range(at, loops.reduction);
      for (AffineExpr index : nest.terms[0].map.getResults())
        places.push_back(k.math.simplify(index.replaceDims(at)));
      Value &read = image[AffineMapAttr::get(
          AffineMap::get(at.size(), dl::kMaxSymbols, places, k.builder.getContext()))];
      if (!read)
        read = factor(0);
      if (accKind == ScalarKind::floating)
        sum = math::FmaOp::create(k.builder, k.loc, read, filter, sum);
      else
        sum = arith::AddIOp::create(k.builder, k.loc, sum,
                                    arith::MulIOp::create(k.builder, k.loc, read, filter));
    }
  }
  loops.parallel[loops.width] = width;
  loops.reduction = whole;
  return sums;
}

CpuLaunch scheduleWindows(CpuKernel &kernel) {
  auto loops = findWindow(kernel.emitter, kernel.math);
  assert(loops && "the plan was made where it has such loops");
  return WindowSchedule(kernel, std::move(*loops)).run();
}

} // namespace dlc::codegen
