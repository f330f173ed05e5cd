//===- LineRunner.cpp - Ops over the lines of a tensor, run on host tensors ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
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

/// b instead of a where it is larger: NaN is largest, and +0 larger than -0.
static double larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) ? a : b;
  return b > a || (b == a && std::signbit(a)) ? b : a;
}

static double combine(Combiner combiner, double a, double b) {
  switch (combiner) {
  case Combiner::add:
    return a + b;
  case Combiner::mul:
    return a * b;
  case Combiner::max:
    return larger(a, b);
  default:
    return -larger(-a, -b);
  }
}

static int64_t combine(Combiner combiner, IntegerType type, int64_t a, int64_t b) {
  auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  bool isLess = type.isUnsigned() ? x < y : a < b;
  switch (combiner) {
  case Combiner::add:
    return wrapTo(type, static_cast<int64_t>(x + y));
  case Combiner::mul:
    return wrapTo(type, static_cast<int64_t>(x * y));
  case Combiner::max:
    return isLess ? b : a;
  default:
    return isLess ? a : b;
  }
}

/// `y` holds the elements of x.
static void scatter(std::optional<Combiner> combiner, const Tensor &index, const Tensor &src,
                    const Line &from, const Line &to, Tensor &y) {
  auto type = dyn_cast<IntegerType>(y.getElementType());
  for (int64_t i = 0; i < from.length; ++i) {
    int64_t at = from.at(i), place = index.ints()[at];
    if (place < 0 || place >= to.length)
      continue;
    if (y.isFloat()) {
      double &element = y.floats()[to.at(place)], update = src.floats()[at];
      element = combiner ? combine(*combiner, element, update) : update;
    } else {
      int64_t &element = y.ints()[to.at(place)], update = src.ints()[at];
      element = combiner ? combine(*combiner, type, element, update) : update;
    }
  }
}

namespace {
/// The boxes of a line, by their places in the tensors of its corners.
struct Boxes {
  ArrayRef<Tensor> corners; // low0, low1, high0, high1

  double area(int64_t box) const { return extent(box, box, 0) * extent(box, box, 1); }
  double overlap(int64_t a, int64_t b) const {
    double common = std::max(extent(a, b, 0), 0.0) * std::max(extent(a, b, 1), 0.0);
    return common / (area(a) + area(b) - common);
  }

private:
  double at(unsigned corner, int64_t box) const { return corners[corner].floats()[box]; }
  double extent(int64_t a, int64_t b, unsigned axis) const {
    return std::min(at(axis + 2, a), at(axis + 2, b)) - std::max(at(axis, a), at(axis, b));
  }
};
} // namespace

/// `corners`: where the line's boxes begin in the tensors of corners.
static void suppress(ArrayRef<Tensor> operands, const Line &from, const Line &to, int64_t corners,
                     Tensor &y) {
  Boxes boxes{operands.slice(1, 4)};
  double threshold = operands[5].floats()[0];
  ArrayRef<int64_t> order = operands[0].ints(), takesPart = operands[6].ints();
  SmallVector<int64_t> taken; // places in the tensors of corners
  for (int64_t i = 0; i < to.length; ++i)
    y.ints()[to.at(i)] = -1;
  for (int64_t i = 0; i < from.length && static_cast<int64_t>(taken.size()) < to.length; ++i) {
    int64_t place = order[from.at(i)], box = corners + place;
    if (place < 0 || place >= from.length || !takesPart[from.at(place)] ||
        llvm::any_of(taken, [&](int64_t other) { return boxes.overlap(box, other) > threshold; }))
      continue;
    y.ints()[to.at(static_cast<int64_t>(taken.size()))] = place;
    taken.push_back(box);
  }
}

/// Where line `line` of `dims`, whose last one it goes along, begins in a tensor that is repeated
/// along its dims of size 1.
static int64_t beginOfLine(const Tensor &tensor, ArrayRef<int64_t> dims, int64_t line) {
  ArrayRef<int64_t> own = tensor.getDims();
  int64_t at = 0, stride = own.back();
  for (size_t dim = dims.size() - 1; dim-- > 0;) {
    if (own[dim] != 1)
      at += line % dims[dim] * stride;
    line /= dims[dim];
    stride *= own[dim];
  }
  return at;
}

/// `tensor`, of integers, repeated along its dims of size 1 to `dims`.
static Tensor repeated(const Tensor &tensor, ArrayRef<int64_t> dims) {
  Tensor result(tensor.getElementType(), dims);
  for (int64_t i = 0; i < result.size(); ++i) {
    int64_t rest = i, at = 0, stride = 1;
    for (size_t dim = dims.size(); dim-- > 0;) {
      if (tensor.getDims()[dim] != 1)
        at += rest % dims[dim] * stride;
      rest /= dims[dim];
      stride *= tensor.getDims()[dim];
    }
    result.ints()[i] = tensor.ints()[at];
  }
  return result;
}

static Tensor copyOf(const Tensor &x) {
  Tensor y(x.getElementType(), x.getDims());
  if (x.isFloat())
    llvm::copy(x.floats(), y.floats().begin());
  else
    llvm::copy(x.ints(), y.ints().begin());
  return y;
}

Tensor runLines(LineOpInterface op, ArrayRef<Tensor> operands, ArrayRef<int64_t> symbols) {
  LineWork work = op.getLineWork();
  const Tensor &x = operands.front();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t outer = 1, inner = 1;
  SmallVector<int64_t> dims;
  for (auto [number, expr] : llvm::enumerate(dl::getDims(type))) {
    int64_t size = evaluateDim(expr, symbols);
    dims.push_back(size);
    if (number != work.dim)
      (number < work.dim ? outer : inner) *= size;
  }
  bool isScatter = work.kind == LineWork::Kind::scatter;
  Tensor y = isScatter ? copyOf(x) : Tensor(type.getElementType(), dims), index;
  if (isScatter)
    index = repeated(operands[1], operands[2].getDims());
  int64_t length = evaluateDim(work.length, symbols), count = dims[work.dim];
  auto integer = dyn_cast<IntegerType>(x.getElementType());
  for (int64_t line = 0; line < outer * inner; ++line) {
    Line from{line / inner * length * inner + line % inner, inner, length};
    Line to{line / inner * count * inner + line % inner, inner, count};
    if (isScatter)
      scatter(work.combiner, index, operands[2], from, to, y);
    else if (work.kind == LineWork::Kind::suppress)
      suppress(operands, from, to, beginOfLine(operands[1], dims, line), y);
    else if (work.kind == LineWork::Kind::sum)
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
