//===- ContractionNeighbours.cpp - Several steps of a sum of products at once -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One instruction multiplies neighbours along the innermost loop of a sum and adds the products to
// it, in all lanes:
//   vpdpbusd   four of u8 with four of i8, sums in i32 (avx512_vnni)
//   vpdpwssd   two of i16, sums in i32 (avx512_vnni); before that vpmaddwd and an addition
//   vdpbf16ps  two of bf16, sums in f32 (avx512_bf16)
// Those of integers are exact, and wrap as i32 does. vdpbf16ps rounds each sum to nearest even and
// takes numbers below 2^-126 for
// 0. The neighbours of the first operand are 32 bits, which one load gives to all lanes. u8 less a
//    zero point is multiplied as it
// is stored where there is vpdpbusd: the sums then start from minus the zero point times the sum of
// the column's weights, which is computed once for all rows of a tile. Else a block's rows become
// i16 in scratch memory first (WideRows.cpp).
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/contraction/ContractionSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

//===- Sums -----------------------------------------------------------------------------------===//

SmallVector<Value> ContractionSchedule::reduceNeighbours(unsigned dim, SmallVector<Value> accs) {
  AffineExpr extent = nest.reduction[dim];
  auto steps = dl::asConstant(extent);
  if (steps && *steps <= 2 * kUnrolledSteps) {
    for (int64_t at = 0; at < *steps; at += neighbours) {
      reductionAt[dim] = k.math.constant(at);
      accs = neighbourStep(accs, std::min(neighbours, *steps - at));
    }
    return accs;
  }
  auto run = [&](Value from, Value to, ValueRange init) {
    return k.fold(from, to, neighbours, init, [&](Value at, ValueRange carried) {
      k.math.bindLoop(reduction[dim], at);
      reductionAt[dim] = reduction[dim];
      return neighbourStep(SmallVector<Value>(carried), neighbours);
    });
  };
  Value whole = steps ? k.index(*steps / neighbours * neighbours)
                      : k.mul(k.divide(k.value(extent), k.index(neighbours)), k.index(neighbours));
  int64_t blockSteps = wideRows ? wideRowSteps() : 0;
  bool isOneBlock = steps && *steps <= blockSteps;
  if (!widensRows()) {
    accs = run(k.index(0), whole, accs);
  } else if (isOneBlock) {
    widenRows(dim, k.index(0), whole);
    accs = run(k.index(0), whole, accs);
  } else {
    accs = k.fold(k.index(0), whole, blockSteps, accs, [&](Value from, ValueRange carried) {
      Value to = k.smaller(k.add(from, k.index(blockSteps)), whole);
      widenRows(dim, from, to);
      return run(from, to, carried);
    });
  }
  wideRowsFrom = {};
  if (neighbours == 1)
    return accs;
  if (steps) {
    int64_t rest = *steps % neighbours;
    reductionAt[dim] = k.math.constant(*steps - rest);
    return rest ? neighbourStep(accs, rest) : accs;
  }
  return k.fold(whole, k.value(extent), 1, accs, [&](Value at, ValueRange carried) {
    k.math.bindLoop(reduction[dim], at);
    reductionAt[dim] = reduction[dim];
    return neighbourStep(SmallVector<Value>(carried), 1);
  });
}

SmallVector<Value> ContractionSchedule::neighbourStep(ArrayRef<Value> accs, int64_t count) {
  if (neighbours == 1)
    return reduceStep(accs);
  SmallVector<Value> b = readStepsOfB(count), next;
  prefetchB();
  Type pack = VectorType::get({lanes * neighbours}, neighbourType());
  for (int64_t row = 0, numRows = rows.size(); row < numRows; ++row) {
    Value a = k.splat(readNeighboursOfA(row, count), lanes);
    a = vector::BitCastOp::create(k.builder, k.loc, pack, a);
    for (int64_t j = 0; j < numVectors; ++j)
      next.push_back(multiplyNeighbours(a, b[j], accs[row * numVectors + j]));
  }
  return next;
}

Type ContractionSchedule::neighbourType() const {
  return k.builder.getIntegerType(32 / neighbours);
}

Value ContractionSchedule::multiplyNeighbours(Value a, Value b, Value acc) {
  auto call = [&](StringRef name, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(k.builder, k.loc, acc.getType(),
                                         k.builder.getStringAttr(name), operands)
        .getResult(0);
  };
  if (parts.brainFloats) {
    // Kernel IR has bf16 as the integers that lowerBFloat16ToIntegers makes of it.
    Type pairs = VectorType::get({2 * lanes}, k.builder.getBF16Type());
    return call("llvm.x86.avx512bf16.dpbf16ps.512",
                {acc, LLVM::BitcastOp::create(k.builder, k.loc, pairs, a),
                 LLVM::BitcastOp::create(k.builder, k.loc, pairs, b)});
  }
  if (neighbours == 4)
    return call("llvm.x86.avx512.vpdpbusd.512", {acc, a, b});
  if (k.isa >= IsaVariant::avx512Vnni)
    return call("llvm.x86.avx512.vpdpwssd.512", {acc, a, b});
  Value products =
      call(k.isa == IsaVariant::avx2 ? "llvm.x86.avx2.pmadd.wd" : "llvm.x86.avx512.pmaddw.d.512",
           {a, b});
  return arith::AddIOp::create(k.builder, k.loc, acc, products);
}

//===- The first operand ----------------------------------------------------------------------===//

/// `count` neighbours of a row in 32 bits, the first one lowest; 0 for those after them.
Value ContractionSchedule::readNeighboursOfA(int64_t row, int64_t count) {
  OpBuilder &builder = k.builder;
  Type i32 = builder.getI32Type();
  auto number = [&](int64_t value) {
    return arith::ConstantOp::create(builder, k.loc, builder.getI32IntegerAttr(value)).getResult();
  };
  unsigned dim = parts.reduction.back();
  auto loadAsOne = [&](Value buffer, Value at) {
    Type element = cast<MemRefType>(buffer.getType()).getElementType();
    Value pack =
        vector::LoadOp::create(builder, k.loc, VectorType::get({neighbours}, element), buffer, at);
    pack = vector::BitCastOp::create(builder, k.loc, VectorType::get({1}, i32), pack);
    return vector::ExtractOp::create(builder, k.loc, pack, 0).getResult();
  };
  if (readsZeroPoint)
    return number(static_cast<int32_t>(0x01010101u * static_cast<uint32_t>(parts.zeroPoint)));
  if (wideRowsFrom)
    return loadAsOne(wideRows, placeInWideRows(row));
  const Row &from = rows[row];
  bool isAsStored = storedBitsOfA() * neighbours == 32;
  if (isAsStored && (count == neighbours || readsOn) && parts.areNeighbours &&
      (from.source || !from.inside)) {
    auto [buffer, at] = placeOfA(from);
    return loadAsOne(buffer, at);
  }
  AffineExpr first = reductionAt[dim];
  Value packed;
  for (int64_t step = 0; step < count; ++step) {
    reductionAt[dim] = first + step;
    Value bits = readBitsOfA(from);
    if (parts.brainFloats)
      bits = arith::BitcastOp::create(builder, k.loc, builder.getI16Type(), bits);
    bits = arith::ExtUIOp::create(builder, k.loc, i32, bits);
    if (!isAsStored) {
      bits = arith::SubIOp::create(builder, k.loc, bits, number(parts.zeroPoint));
      bits = arith::AndIOp::create(builder, k.loc, bits, number(0xffff));
    }
    if (step > 0)
      bits = arith::ShLIOp::create(builder, k.loc, bits, number(step * 32 / neighbours));
    packed = packed ? arith::OrIOp::create(builder, k.loc, packed, bits).getResult() : bits;
  }
  reductionAt[dim] = first;
  return packed;
}

int64_t ContractionSchedule::storedBitsOfA() const {
  return getElementTypeOrSelf(aTensor.getType()).getIntOrFloatBitWidth();
}

/// Where the element of a row at hand lies, if not outside of the operand.
std::pair<Value, Value> ContractionSchedule::placeOfA(const Row &row) {
  if (row.source)
    return {row.source, k.add(row.first, k.value(reductionAt[parts.reduction.back()]))};
  AffineExpr offset =
      k.emitter.offset(cast<RankedTensorType>(aTensor.getType()), aIndices(row.parallel));
  return {k.input(cast<BlockArgument>(aTensor).getArgNumber()), k.value(alongRows(row, offset))};
}

/// The element of a row at hand as it is stored.
Value ContractionSchedule::readBitsOfA(const Row &row) {
  Value bits;
  if (row.source || !row.inside) {
    auto [buffer, at] = placeOfA(row);
    bits = memref::LoadOp::create(k.builder, k.loc, buffer, at);
  } else {
    k.guard = row.inside;
    bits =
        k.load(cast<BlockArgument>(aTensor).getArgNumber(),
               k.emitter.offset(cast<RankedTensorType>(aTensor.getType()), aIndices(row.parallel)));
    k.guard = {};
    Value outside = arith::ConstantOp::create(k.builder, k.loc, storedZeroOfA());
    bits = arith::SelectOp::create(k.builder, k.loc, row.inside, bits, outside);
  }
  return bits;
}

/// The stored form of an element of the first operand that means 0.
TypedAttr ContractionSchedule::storedZeroOfA() const {
  Type type = storageType(getElementTypeOrSelf(aTensor.getType()));
  return parts.zeroPoint ? k.builder.getIntegerAttr(type, parts.zeroPoint)
                         : k.builder.getZeroAttr(type);
}

//===- The zero point -------------------------------------------------------------------------===//

void ContractionSchedule::planZeroPointSums() {
  if (neighbours != 4 || parts.zeroPoint == 0)
    return;
  int64_t begin = llvm::alignTo(scratchBytes, 64), elements = mostPanelsAtOnce() * kPanel;
  zeroPointSums = k.scratchView(k.builder.getI32Type(), elements, begin);
  scratchBytes = begin + elements * 4;
}

void ContractionSchedule::sumZeroPoint(Value firstPanel, int64_t panels) {
  bindPanels(firstPanel, panels);
  readsZeroPoint = true;
  Value zero = arith::ConstantOp::create(k.builder, k.loc,
                                         k.builder.getZeroAttr(VectorType::get({lanes}, accType)));
  SmallVector<Value> sums = reduce(0, SmallVector<Value>(numVectors, zero), /*guarded=*/false);
  readsZeroPoint = false;
  for (auto [j, sum] : llvm::enumerate(sums)) {
    Value less = arith::SubIOp::create(k.builder, k.loc, zero, sum);
    vector::StoreOp::create(k.builder, k.loc, less, zeroPointSums, k.index(j * lanes));
  }
}

} // namespace dlc::codegen
