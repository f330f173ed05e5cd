//===- LineRunner.cpp - Ops over the lines of a tensor, run on host tensors ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/interpreter/LineRunner.h"

#include "ir/interpreter/NestRunner.h"

#include <cmath>
#include <numeric>

using namespace mlir;

namespace dlc {

namespace {
/// The elements of one line: every `stride`-th from `first` on.
struct Line {
  int64_t first, stride, length;
  int64_t at(int64_t place) const { return first + place * stride; }
};
} // namespace

static bool precedes(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }
static bool precedesInt(int64_t a, int64_t b) { return a < b; }
/// Tensor holds a ui64 by its bits.
static bool precedesUnsigned(int64_t a, int64_t b) {
  return static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
}

template <typename T>
static void order(ArrayRef<T> x, bool (*precedes)(T, T), bool descending, const Line &from,
                  const Line &to, MutableArrayRef<int64_t> y) {
  std::vector<int64_t> places(from.length);
  std::iota(places.begin(), places.end(), 0);
  llvm::sort(places, [&](int64_t a, int64_t b) {
    T left = x[from.at(descending ? b : a)], right = x[from.at(descending ? a : b)];
    return precedes(left, right) || (!precedes(right, left) && a < b);
  });
  for (int64_t i = 0; i < to.length; ++i)
    y[to.at(i)] = i < from.length ? places[i] : 0;
}

static void sum(const Tensor &x, const Line &line, Tensor &y) {
  double total = 0;
  uint64_t whole = 0;
  for (int64_t i = 0; i < line.length; ++i) {
    int64_t at = line.at(i);
    if (x.isFloat()) {
      y.floats()[at] = total += x.floats()[at];
    } else {
      whole += static_cast<uint64_t>(x.ints()[at]);
      y.ints()[at] = wrapTo(cast<IntegerType>(y.getElementType()), static_cast<int64_t>(whole));
    }
  }
}

Tensor runLines(LineOpInterface op, const Tensor &x, ArrayRef<int64_t> symbols) {
  LineWork work = op.getLineWork();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t outer = 1, inner = 1;
  SmallVector<int64_t> dims;
  for (auto [number, expr] : llvm::enumerate(dl::getDims(type))) {
    int64_t size = evaluateDim(expr, symbols);
    dims.push_back(size);
    if (number != work.dim)
      (number < work.dim ? outer : inner) *= size;
  }
  Tensor y(type.getElementType(), dims);
  int64_t length = evaluateDim(work.length, symbols), count = dims[work.dim];
  auto integer = dyn_cast<IntegerType>(x.getElementType());
  for (int64_t line = 0; line < outer * inner; ++line) {
    Line from{line / inner * length * inner + line % inner, inner, length};
    Line to{line / inner * count * inner + line % inner, inner, count};
    if (work.kind == LineWork::Kind::sum)
      sum(x, from, y);
    else if (x.isFloat())
      order<double>(x.floats(), precedes, work.descending, from, to, y.ints());
    else
      order<int64_t>(x.ints(), integer.isUnsigned() ? precedesUnsigned : precedesInt,
                     work.descending, from, to, y.ints());
  }
  return y;
}

} // namespace dlc
