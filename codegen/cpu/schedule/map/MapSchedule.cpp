//===- MapSchedule.cpp - Kernels without reductions on the CPU ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of the result as it lies in memory, vectors along a row. Where every operand lies as the
// result does, the whole of it is one row; where operands differ only along the row (a bias), rows
// need no indices. Operands that lie the other way round (a transpose) are turned a block at a
// time. Where neighbours along the rows read at computed places, vectors lie along another dim, and
// are turned as they are stored. A few neighbours in the result that are far apart in an operand
// are stored from a vector each. A result in panels (packed weights) is written panel by panel, its
// zero tail included.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/CpuKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace dlc::codegen {

/// Elements of a tile: enough work to be worth handing to a thread, little enough to balance.
static constexpr int64_t kTileElements = 4096;
/// Rows and columns of a block that is turned: two lines of the cache of f32 in each row.
static constexpr int64_t kBlock = 32;
/// Elements of a row that are no vector, but are written out: what is chosen by their index is then
/// known.
static constexpr int64_t kFewColumns = 4;

namespace {

class MapSchedule {
public:
  MapSchedule(CpuKernel &kernel, std::optional<ResultPart> part);

  CpuLaunch run() {
    if (dl::getLayout(type).isTiled())
      return panels();
    if (isFlat())
      return flat();
    if (order.empty())
      return single();
    if (int64_t dim = findBesideFew(); dim >= 0)
      return besideFew(dim);
    if (findTurned())
      return blocks();
    if (int64_t dim = findApart(); dim >= 0)
      return apart(dim);
    return rows();
  }

private:
  /// `offset` over `position`, which counts the elements of the innermost `count` dims, where it
  /// stays or moves by one from each of them to the next; null elsewhere.
  AffineExpr alongRun(AffineExpr offset, unsigned count, AffineExpr position) const;
  AffineExpr flatOffset(AffineExpr offset) const; // the same of all dims
  /// Returns true if the innermost `count` dims are one row: what is read and written in them moves
  /// as `along` says, which is null where it cannot.
  bool areRuns(unsigned count, llvm::function_ref<AffineExpr(AffineExpr)> along);
  bool isFlat();
  /// Innermost dims that are one row to everything that is read and written.
  unsigned dimsOfRow();
  bool rowsNeedIndices(unsigned dimsOfRow);
  bool isVectorAlong(AffineExpr variable);
  CpuLaunch flat();
  CpuLaunch single(); // element, read at places that a body computes
  CpuLaunch rows();
  CpuLaunch panels();
  CpuLaunch blocks();
  CpuLaunch apart(int64_t dim);
  /// A dim that can be a vector where the innermost one has few elements, which lie beside each
  /// other: operands have neighbours along it, as in a shuffle of channels; -1: there is none.
  int64_t findBesideFew();
  CpuLaunch besideFew(int64_t dim);
  /// A dim that can be a vector where the innermost one cannot: operands have neighbours along it,
  /// at places that a body computes; -1: there is none.
  int64_t findApart();
  /// Finds the operands that have neighbours along another dim than the result has them.
  bool findTurned();
  void turn(unsigned number, Value rows, Value columns);
  /// Stores the element of each result at `at`, the indices that `offset` is the address of.
  void emitElement(ArrayRef<AffineExpr> at, AffineExpr offset) {
    k.storeEach([&] { return k.emitter.emitMap(k.builder, at); }, [&] { return offset; });
  }
  void emitElement() { emitElement(indices, resultOffset); }
  /// BodyEmitter::visitReads of all results.
  bool visitReads(ArrayRef<AffineExpr> at, BodyEmitter::Visit visit) const {
    return llvm::all_of(k.emitter.getResults(),
                        [&](Value result) { return k.emitter.visitReads(result, at, visit); });
  }
  bool storesSeveral() const { return k.emitter.getResults().size() > 1; }
  /// Calls `body(i)` for the items of this call's tiles, `perTile` of `total` each.
  CpuLaunch overTiles(AffineExpr total, int64_t perTile,
                      llvm::function_ref<void(Value, Value)> body);

  CpuKernel &k;
  RankedTensorType type;
  std::optional<ResultPart> part;    // what is computed of the result
  dl::Dims dims;                     // of the part
  SmallVector<int64_t> order;        // of the dims, outermost in memory first
  SmallVector<AffineExpr> variables; // loops over the part, by dims
  SmallVector<AffineExpr> indices;   // of the result at these
  AffineExpr resultOffset;
  AffineExpr element;  // position in the part, or in a row of it, in memory order
  int64_t across = -1; // the dim along which the operands of `turned` have neighbours
  SmallVector<std::pair<unsigned, AffineExpr>> turned; // input and offset of such a read
  SmallVector<Value> held; // its block, rows of kBlock as the result has them
};

} // namespace

MapSchedule::MapSchedule(CpuKernel &kernel, std::optional<ResultPart> part)
    : k(kernel), type(kernel.emitter.getResultType()), part(part), dims(dl::getDims(type)) {
  kernel.emitter.laneTests->places = [&kernel](OpBuilder &at, AffineExpr expr) {
    return kernel.placesOf(at, expr);
  };
  if (part)
    dims[part->dim] = part->extent;
  for (AffineExpr dim : dims)
    variables.push_back(k.math.addLoop(dim));
  indices = variables;
  if (part)
    indices[part->dim] = indices[part->dim] + part->first;
  // Vectors lie along a dim of which a part has several indices.
  auto isSingle = [&](int64_t dim) { return part && dl::isConstant(dims[dim], 1); };
  for (bool single : {true, false})
    for (unsigned dim : k.emitter.memoryOrder())
      if (isSingle(dim) == single)
        order.push_back(dim);
  if (dl::getLayout(type).isTiled())
    return;
  resultOffset = k.emitter.resultOffset(indices);
  element = k.math.addLoop(dl::product(dims, type.getContext()));
}

AffineExpr MapSchedule::alongRun(AffineExpr offset, unsigned count, AffineExpr position) const {
  if (offset.isSymbolicOrConstant())
    return offset;
  SmallVector<AffineExpr> loops, extents;
  for (int64_t dim : ArrayRef(order).take_back(count)) {
    loops.push_back(variables[dim]);
    extents.push_back(dims[dim]);
  }
  AffineExpr along = k.alongLinear(loops, extents, position, offset);
  for (AffineExpr loop : loops)
    if (along.isFunctionOfDim(cast<AffineDimExpr>(loop).getPosition()))
      return {};
  // A part with one index of the innermost dim stores its elements one by one.
  bool isScattered = part && offset == resultOffset;
  return isScattered || isVectorAccess(k.math, along, position) ? along : AffineExpr();
}

AffineExpr MapSchedule::flatOffset(AffineExpr offset) const {
  if (!part && !k.emitter.storesPart() && offset == resultOffset)
    return element; // also where dims are symbols
  return alongRun(offset, order.size(), element);
}

bool MapSchedule::areRuns(unsigned count, llvm::function_ref<AffineExpr(AffineExpr)> along) {
  if (k.emitter.isInPlace() || !along(resultOffset))
    return false;
  for (int64_t dim : ArrayRef(order).take_back(count))
    if (k.emitter.needsScalarAlong(variables[dim], indices, {}))
      return false;
  return visitReads(indices, [&](unsigned, AffineExpr offset,
                                 bool checked) { return !checked && along(offset); }) &&
         k.emitter.visitPlaces(indices, [&](AffineExpr place) { return bool(along(place)); });
}

bool MapSchedule::isFlat() {
  return areRuns(order.size(), [&](AffineExpr offset) { return flatOffset(offset); });
}

unsigned MapSchedule::dimsOfRow() {
  for (unsigned count = order.size(); count-- > 2;)
    if (areRuns(count, [&](AffineExpr offset) { return alongRun(offset, count, element); }))
      return count;
  return 1;
}

bool MapSchedule::rowsNeedIndices(unsigned dimsOfRow) {
  if (k.emitter.storesPart() || part)
    return true;
  ArrayRef<int64_t> outer = ArrayRef(order).drop_back(dimsOfRow);
  for (int64_t dim : outer)
    if (k.emitter.needsScalarAlong(variables[dim], indices, {}))
      return true;
  auto staysInRow = [&](AffineExpr offset) {
    return llvm::none_of(outer, [&](int64_t dim) {
      return offset.isFunctionOfDim(cast<AffineDimExpr>(variables[dim]).getPosition());
    });
  };
  auto isOwn = [&](AffineExpr place) { return place == resultOffset || staysInRow(place); };
  return !k.emitter.visitPlaces(indices, isOwn) ||
         !visitReads(indices, [&](unsigned, AffineExpr offset, bool checked) {
           return (!checked && offset == resultOffset) || staysInRow(offset);
         });
}

bool MapSchedule::isVectorAlong(AffineExpr variable) {
  if (k.emitter.needsScalarAlong(variable, indices, {}))
    return false;
  return visitReads(indices, [&](unsigned, AffineExpr offset, bool) {
    return isVectorAccess(k.math, offset, variable);
  });
}

CpuLaunch MapSchedule::overTiles(AffineExpr total, int64_t perTile,
                                 llvm::function_ref<void(Value, Value)> body) {
  Value size = k.index(perTile), end = k.smaller(k.mul(k.end, size), k.value(total));
  Value begin = k.mul(k.begin, size);
  body(part ? k.smaller(begin, end) : begin, end); // tiles of other parts may come before and after
  return {total.ceilDiv(perTile)};
}

CpuLaunch MapSchedule::flat() {
  AffineExpr total = dl::product(dims, type.getContext());
  k.rewriteOffset = [this](AffineExpr offset) { return flatOffset(offset); };
  return overTiles(total, kTileElements, [&](Value from, Value to) {
    k.forVector(element, from, to, [&] { emitElement(); });
  });
}

CpuLaunch MapSchedule::single() {
  return overTiles(k.math.constant(1), 1, [&](Value from, Value to) {
    k.forEach(from, to, 1, [&](Value) {
      k.emitter.bindPlace(k.builder, indices);
      emitElement();
    });
  });
}

CpuLaunch MapSchedule::rows() {
  unsigned merged = dimsOfRow();
  int64_t inner = order.back();
  SmallVector<AffineExpr> outerVariables, outerDims, rowDims;
  for (int64_t dim : ArrayRef(order).drop_back(merged)) {
    outerVariables.push_back(variables[dim]);
    outerDims.push_back(dims[dim]);
  }
  for (int64_t dim : ArrayRef(order).take_back(merged))
    rowDims.push_back(dims[dim]);
  bool isVector = merged > 1 || isVectorAlong(variables[inner]),
       needsIndices = rowsNeedIndices(merged);
  AffineExpr count = dl::product(outerDims, type.getContext()), row = k.math.addLoop(count);
  AffineExpr extent = dl::normalize(dl::product(rowDims, type.getContext()));
  AffineExpr own = resultOffset, column = merged > 1 ? element : variables[inner]; // at hand
  k.rewriteOffset = [&](AffineExpr offset) {
    if (!needsIndices && offset == own)
      return row * extent + column;
    return merged > 1 ? alongRun(offset, merged, column) : offset;
  };
  auto width = dl::asConstant(extent), length = k.math.usual(extent);
  bool isNarrow = !isVector && width && *width <= kFewColumns;
  int64_t perTile = length && *length > 0 ? std::max<int64_t>(1, kTileElements / *length) : 1;
  return overTiles(count, perTile, [&](Value from, Value to) {
    k.forEach(from, to, 1, [&](Value i) {
      k.math.bindLoop(row, i);
      if (needsIndices)
        k.delinearize(i, outerVariables, outerDims);
      k.emitter.bindPlace(k.builder, indices);
      Value zero = k.index(0), end = k.value(extent);
      if (isVector) {
        k.forVector(column, zero, end, [&] { emitElement(); });
        return;
      }
      for (int64_t j = 0; isNarrow && j < *width; ++j) {
        SmallVector<AffineExpr> at(indices);
        column = k.math.constant(j);
        at[inner] = at[inner].replace(variables[inner], column);
        own = k.math.simplify(resultOffset.replace(variables[inner], column));
        emitElement(at, own);
      }
      if (isNarrow)
        return;
      k.forEach(zero, end, 1, [&](Value j) {
        k.math.bindLoop(variables[inner], j);
        emitElement();
      });
    });
  });
}

int64_t MapSchedule::findBesideFew() {
  // A part may leave others between the elements of its innermost dim.
  if (order.size() < 2 || k.emitter.isInPlace() || k.emitter.storesPart() || part ||
      storesSeveral())
    return -1;
  int64_t inner = order.back(), dim = order.end()[-2];
  auto width = dl::asConstant(dims[inner]);
  if (!width || *width < 2 || *width > kFewColumns)
    return -1;
  bool hasNeighbours = false;
  SmallVector<AffineExpr> at(variables);
  for (int64_t j = 0; j < *width; ++j) {
    at[inner] = k.math.constant(j);
    bool isVector = !k.emitter.needsScalarAlong(variables[dim], at, {}) &&
                    visitReads(at, [&](unsigned, AffineExpr offset, bool) {
                      hasNeighbours |= k.math.strideAlong(offset, variables[dim]) == Stride::unit;
                      return isVectorAccess(k.math, offset, variables[dim]);
                    });
    if (!isVector)
      return -1;
  }
  return hasNeighbours ? dim : -1;
}

/// Vectors along `dim`, one for each element of the innermost dim, which are interleaved as they
/// are stored.
CpuLaunch MapSchedule::besideFew(int64_t dim) {
  int64_t inner = order.back(), width = *dl::asConstant(dims[inner]);
  int64_t lines = kTileElements / width;
  SmallVector<AffineExpr> outerVariables, outerDims;
  for (int64_t outer : ArrayRef(order).drop_back(2)) {
    outerVariables.push_back(variables[outer]);
    outerDims.push_back(dims[outer]);
  }
  outerDims.push_back(dims[dim].ceilDiv(lines));
  outerVariables.push_back(k.math.addLoop(outerDims.back()));
  AffineExpr top = outerVariables.back() * lines, count = dl::product(outerDims, type.getContext());
  auto length = k.math.usual(dims[dim]);
  int64_t perTile = length && *length > 0 ? std::max<int64_t>(1, lines / *length) : 1;
  return overTiles(count, perTile, [&](Value from, Value to) {
    k.forEach(from, to, 1, [&](Value i) {
      k.delinearize(i, outerVariables, outerDims);
      Value first = k.value(top), end = k.smaller(k.add(first, k.index(lines)), k.value(dims[dim]));
      k.forVector(variables[dim], first, end, [&] {
        SmallVector<AffineExpr> at(variables);
        SmallVector<Value> values;
        for (int64_t j = 0; j < width; ++j) {
          at[inner] = k.math.constant(j);
          values.push_back(k.emitter.emitMap(k.builder, at));
        }
        at[inner] = k.math.constant(0);
        k.storeInterleaved(values,
                           k.math.simplify(resultOffset.replace(variables[inner], at[inner])));
      });
    });
  });
}

int64_t MapSchedule::findApart() {
  if (order.size() < 2 || k.emitter.isInPlace() || storesSeveral() ||
      isVectorAlong(variables[order.back()]))
    return -1;
  for (int64_t dim : llvm::reverse(ArrayRef(order).drop_back())) {
    bool hasNeighbours = !visitReads(indices, [&](unsigned, AffineExpr offset, bool) {
      return !k.math.isComputed(offset) ||
             k.math.strideAlong(offset, variables[dim]) != Stride::unit;
    });
    if (hasNeighbours && isVectorAlong(variables[dim]))
      return dim;
  }
  return -1;
}

/// Blocks of vectors along `dim` in scratch memory, from where they go to the rows of the result:
/// elements stored as they come would lie in lines of the cache that often are a power of two
/// apart.
CpuLaunch MapSchedule::apart(int64_t dim) {
  int64_t inner = order.back();
  Type element = storageType(type.getElementType());
  Value block = k.scratchView(element, kBlock * kBlock);
  SmallVector<AffineExpr> outerVariables, outerDims;
  for (int64_t outer : ArrayRef(order).drop_back())
    if (outer != dim) {
      outerVariables.push_back(variables[outer]);
      outerDims.push_back(dims[outer]);
    }
  for (int64_t blocked : {dim, inner}) {
    outerDims.push_back(dims[blocked].ceilDiv(kBlock));
    outerVariables.push_back(k.math.addLoop(outerDims.back()));
  }
  AffineExpr top = outerVariables.end()[-2] * kBlock, left = outerVariables.back() * kBlock;
  AffineExpr at = (variables[inner] - left) * kBlock + variables[dim] - top;
  llvm::DenseMap<AffineExpr, AffineExpr> next = {{variables[dim], variables[dim] + 1}};
  AffineExpr lineLength = k.math.simplify(resultOffset.replace(next) - resultOffset);
  auto difference = [&](Value a, Value b) {
    return k.builder.createOrFold<arith::SubIOp>(k.loc, a, b);
  };
  auto tiles = overTiles(
      dl::product(outerDims, type.getContext()), kTileElements / (kBlock * kBlock),
      [&](Value from, Value to) {
        k.forEach(from, to, 1, [&](Value i) {
          k.delinearize(i, outerVariables, outerDims);
          Value firstRow = k.value(top), firstColumn = k.value(left);
          Value endRow = k.smaller(k.add(firstRow, k.index(kBlock)), k.value(dims[dim]));
          Value endColumn = k.smaller(k.add(firstColumn, k.index(kBlock)), k.value(dims[inner]));
          k.forEach(firstColumn, endColumn, 1, [&](Value column) {
            k.math.bindLoop(variables[inner], column);
            k.forVector(variables[dim], firstRow, endRow,
                        [&] { k.store(k.emitter.emitMap(k.builder, indices), at, block); });
          });
          k.math.bindLoop(variables[dim], firstRow);
          k.math.bindLoop(variables[inner], firstColumn);
          k.copyTurned({block, k.index(0), k.index(kBlock)},
                       {k.output(0), k.value(resultOffset), k.value(lineLength)},
                       difference(endColumn, firstColumn), difference(endRow, firstRow));
        });
      });
  return {tiles.tiles, kBlock * kBlock * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)};
}

bool MapSchedule::findTurned() {
  if (order.size() < 2 || k.emitter.isInPlace())
    return false;
  AffineExpr inner = variables[order.back()];
  if (k.emitter.needsScalarAlong(inner, indices, {}))
    return false;
  visitReads(indices, [&](unsigned input, AffineExpr offset, bool checked) {
    if (checked || k.math.strideAlong(offset, inner) != Stride::other)
      return true;
    for (int64_t dim : ArrayRef(order).drop_back())
      if ((across < 0 || across == dim) &&
          k.math.strideAlong(offset, variables[dim]) == Stride::unit) {
        across = dim;
        if (!llvm::is_contained(turned, std::pair(input, offset)))
          turned.push_back({input, offset});
      }
    return true;
  });
  return !turned.empty();
}

/// Copies the block of read `number` that begins at the indices bound now: along its own
/// neighbours, line by line.
void MapSchedule::turn(unsigned number, Value rows, Value columns) {
  auto [input, offset] = turned[number];
  // From column to column, the first element of each line.
  llvm::DenseMap<AffineExpr, AffineExpr> next = {
      {variables[order.back()], variables[order.back()] + 1}};
  if (AffineExpr apart = k.math.simplify(offset.replace(next) - offset);
      apart.isSymbolicOrConstant()) {
    k.copyTurned({k.input(input), k.value(offset), k.value(apart)},
                 {held[number], k.index(0), k.index(kBlock)}, columns, rows);
    return;
  }
  AffineExpr row = k.math.addLoop(k.math.constant(kBlock)),
             column = k.math.addLoop(k.math.constant(kBlock));
  llvm::DenseMap<AffineExpr, AffineExpr> moved = {
      {variables[across], variables[across] + row},
      {variables[order.back()], variables[order.back()] + column}};
  AffineExpr from = k.math.simplify(offset.replace(moved)), to = row * kBlock + column;
  k.forEach(k.index(0), columns, 1, [&](Value j) {
    k.math.bindLoop(column, j);
    k.forEach(k.index(0), rows, 1, [&](Value i) {
      k.math.bindLoop(row, i);
      memref::StoreOp::create(k.builder, k.loc, k.load(input, from), held[number], k.value(to));
    });
  });
}

CpuLaunch MapSchedule::blocks() {
  int64_t inner = order.back(), scratchBytes = 0;
  for (auto [input, offset] : turned) {
    Type element = cast<MemRefType>(k.input(input).getType()).getElementType();
    held.push_back(k.scratchView(element, kBlock * kBlock, scratchBytes));
    scratchBytes += kBlock * kBlock * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  }
  SmallVector<AffineExpr> outerVariables, outerDims;
  for (int64_t dim : ArrayRef(order).drop_back())
    if (dim != across) {
      outerVariables.push_back(variables[dim]);
      outerDims.push_back(dims[dim]);
    }
  for (int64_t dim : {across, inner}) {
    outerDims.push_back(dims[dim].ceilDiv(kBlock));
    outerVariables.push_back(k.math.addLoop(outerDims.back()));
  }
  AffineExpr top = outerVariables.end()[-2] * kBlock, left = outerVariables.back() * kBlock;
  AffineExpr count = dl::product(outerDims, type.getContext());
  auto place = [&](unsigned input, AffineExpr offset) -> CpuKernel::Place {
    for (auto [number, read] : llvm::enumerate(turned))
      if (read == std::pair(input, offset))
        return std::pair(held[number],
                         (variables[across] - top) * kBlock + variables[inner] - left);
    return std::nullopt;
  };
  return {
      overTiles(count, kTileElements / (kBlock * kBlock),
                [&](Value from, Value to) {
                  k.forEach(from, to, 1, [&](Value i) {
                    k.delinearize(i, outerVariables, outerDims);
                    auto end = [&](AffineExpr begin, int64_t dim) {
                      return k.smaller(k.add(k.value(begin), k.index(kBlock)), k.value(dims[dim]));
                    };
                    auto length = [&](AffineExpr begin, Value end) {
                      return k.builder.createOrFold<arith::SubIOp>(k.loc, end, k.value(begin));
                    };
                    Value bottom = end(top, across), right = end(left, inner);
                    k.math.bindLoop(variables[across], k.value(top));
                    k.math.bindLoop(variables[inner], k.value(left));
                    for (unsigned number = 0; number < turned.size(); ++number)
                      turn(number, length(top, bottom), length(left, right));
                    k.redirect = place;
                    k.forEach(k.value(top), bottom, 1, [&](Value row) {
                      k.math.bindLoop(variables[across], row);
                      k.forVector(variables[inner], k.value(left), right, [&] { emitElement(); });
                    });
                    k.redirect = nullptr;
                  });
                })
          .tiles,
      scratchBytes};
}

CpuLaunch MapSchedule::panels() {
  dl::Layout layout = dl::getLayout(type);
  AffineExpr tiled = dims[layout.tileDim], numTiles = tiled.ceilDiv(layout.tile);
  AffineExpr tile = k.math.addLoop(numTiles), lane = k.math.addLoop(k.math.constant(layout.tile));
  SmallVector<AffineExpr> outerVariables, outerDims;
  for (int64_t dim : order) {
    outerVariables.push_back(dim == layout.tileDim ? tile : variables[dim]);
    outerDims.push_back(dim == layout.tileDim ? numTiles : dims[dim]);
  }
  indices[layout.tileDim] = tile * layout.tile + lane;
  AffineExpr count = dl::product(outerDims, type.getContext()), row = k.math.addLoop(count);
  AffineExpr position = row * layout.tile + lane;
  bool isVector = !k.emitter.needsScalarAlong(lane, indices, {}) &&
                  visitReads(indices, [&](unsigned, AffineExpr offset, bool) {
                    return isVectorAccess(k.math, offset, lane);
                  });
  return overTiles(count, kTileElements / layout.tile, [&](Value from, Value to) {
    k.forEach(from, to, 1, [&](Value i) {
      k.math.bindLoop(row, i);
      k.delinearize(i, outerVariables, outerDims);
      // The lanes inside the tensor, then zeros.
      Value first = k.value(k.math.simplify(tile * layout.tile));
      Value inside = k.smaller(k.builder.createOrFold<arith::SubIOp>(k.loc, k.value(tiled), first),
                               k.index(layout.tile));
      auto copy = [&] { k.store(k.emitter.emitMap(k.builder, indices), position); };
      if (isVector)
        k.forVector(lane, k.index(0), inside, copy);
      else
        k.forEach(k.index(0), inside, 1, [&](Value j) {
          k.math.bindLoop(lane, j);
          copy();
        });
      Type element = computeType(type.getElementType());
      Value zero = arith::ConstantOp::create(k.builder, k.loc, k.builder.getZeroAttr(element));
      k.forEach(inside, k.index(layout.tile), 1, [&](Value j) {
        k.math.bindLoop(lane, j);
        k.store(zero, position);
      });
    });
  });
}

CpuLaunch scheduleMap(CpuKernel &kernel, std::optional<ResultPart> part) {
  CpuLaunch launch = MapSchedule(kernel, part).run();
  kernel.rewriteOffset = nullptr;
  return launch;
}

CpuLaunch scheduleMap(CpuKernel &kernel) { return scheduleMap(kernel, std::nullopt); }

} // namespace dlc::codegen
