//===- CpuTurn.cpp - Blocks of elements whose lines become columns ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Squares of as many lines as a vector has lanes are turned in registers. At the ends of a block
// that is no multiple of these, squares overlap: what they have in common is written twice.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/CpuKernel.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace dlc::codegen {

/// The columns of the square that the vectors `lines` are: squares of 1, 2, 4 ... elements exchange
/// their corners.
static SmallVector<Value> turned(OpBuilder &builder, Location loc, SmallVector<Value> lines) {
  auto lanes = static_cast<int64_t>(lines.size());
  for (int64_t half = 1; half < lanes; half *= 2) {
    SmallVector<int64_t> upper, lower;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      bool isRight = lane & half;
      upper.push_back(isRight ? lanes + lane - half : lane);
      lower.push_back(isRight ? lanes + lane : lane + half);
    }
    for (int64_t line = 0; line < lanes; ++line) {
      if (line & half)
        continue;
      Value a = lines[line], b = lines[line + half];
      lines[line] = vector::ShuffleOp::create(builder, loc, a, b, upper);
      lines[line + half] = vector::ShuffleOp::create(builder, loc, a, b, lower);
    }
  }
  return lines;
}

void CpuKernel::copyTurned(const Lines &from, const Lines &to, Value count, Value length) {
  Type element = cast<MemRefType>(from.buffer.getType()).getElementType();
  int64_t side = element.getIntOrFloatBitWidth() > 32 ? lanes() / 2 : lanes();
  auto type = VectorType::get({side}, element);
  auto at = [&](const Lines &lines, Value line, Value position) {
    return add(lines.first, add(mul(line, lines.apart), position));
  };
  auto squares = [&]() -> SmallVector<Value> {
    auto begin = [&](Value position, Value end) {
      return smaller(position, builder.createOrFold<arith::SubIOp>(loc, end, index(side)));
    };
    forEach(index(0), count, side, [&](Value j) {
      Value line = begin(j, count);
      forEach(index(0), length, side, [&](Value i) {
        Value position = begin(i, length);
        SmallVector<Value> lines;
        for (int64_t k = 0; k < side; ++k)
          lines.push_back(vector::LoadOp::create(builder, loc, type, from.buffer,
                                                 at(from, add(line, index(k)), position)));
        lines = turned(builder, loc, std::move(lines));
        for (int64_t k = 0; k < side; ++k)
          vector::StoreOp::create(builder, loc, lines[k], to.buffer,
                                  at(to, add(position, index(k)), line));
      });
    });
    return {};
  };
  auto elements = [&]() -> SmallVector<Value> {
    forEach(index(0), length, 1, [&](Value i) {
      forEach(index(0), count, 1, [&](Value j) {
        Value value = memref::LoadOp::create(builder, loc, from.buffer, at(from, j, i));
        memref::StoreOp::create(builder, loc, value, to.buffer, at(to, i, j));
      });
    });
    return {};
  };
  branch(less(index(side - 1), smaller(count, length)), {}, squares, elements);
}

} // namespace dlc::codegen
