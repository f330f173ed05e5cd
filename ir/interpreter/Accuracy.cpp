//===- Accuracy.cpp - How far results may lie from a reference ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/interpreter/Accuracy.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace dlc {

double ulp(Type type, double value) {
  const llvm::fltSemantics &format = cast<FloatType>(type).getFloatSemantics();
  int least = llvm::APFloat::semanticsMinExponent(format);
  int exponent = std::isfinite(value) && value != 0.0 ? std::max(std::ilogb(value), least) : least;
  return std::ldexp(1.0,
                    exponent - static_cast<int>(llvm::APFloat::semanticsPrecision(format)) + 1);
}

static std::string text(Type elementType, ArrayRef<int64_t> dims) {
  std::string result;
  llvm::raw_string_ostream os(result);
  os << "[";
  llvm::interleaveComma(dims, os);
  os << "] of " << elementType;
  return result;
}

std::optional<std::string> compareTensors(const Tensor &actual, const Tensor &expected,
                                          Tolerance tolerance) {
  Type type = expected.getElementType();
  if (actual.getElementType() != type || actual.getDims() != expected.getDims())
    return text(actual.getElementType(), actual.getDims()) + ", expected " +
           text(type, expected.getDims());
  double largest = 0.0;
  if (expected.isFloat())
    for (double number : expected.floats())
      if (std::isfinite(number))
        largest = std::max(largest, std::abs(number));
  int64_t wrong = 0, worst = 0;
  double worstExcess = -1.0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    double excess; // distance beyond what is allowed; negative where that is kept
    if (!expected.isFloat()) {
      excess = actual.ints()[i] == expected.ints()[i] ? -1.0 : 1.0;
    } else {
      double a = actual.floats()[i], b = expected.floats()[i];
      double allowed = tolerance.ulps * ulp(type, b) + tolerance.ofLargest * largest,
             distance = std::abs(a - b);
      // A reference that carries more digits may lie just inside the range that `actual` left.
      bool isClose = a == b || (std::isnan(a) && std::isnan(b)) || distance <= allowed ||
                     (std::isinf(a) && roundTo(type, b) == a);
      excess = isClose                ? -1.0
               : std::isnan(distance) ? std::numeric_limits<double>::infinity()
                                      : distance - allowed;
    }
    wrong += excess >= 0.0;
    if (excess > worstExcess)
      worstExcess = excess, worst = i;
  }
  if (wrong == 0)
    return std::nullopt;
  std::string result;
  llvm::raw_string_ostream os(result);
  SmallVector<int64_t> index(expected.getDims().size());
  int64_t rest = worst;
  for (int64_t dim = static_cast<int64_t>(index.size()) - 1; dim >= 0; --dim) {
    index[dim] = rest % expected.getDims()[dim];
    rest /= expected.getDims()[dim];
  }
  os << wrong << " of " << expected.size() << " values differ, most at [";
  llvm::interleaveComma(index, os);
  os << "]: ";
  if (expected.isFloat())
    os << llvm::format("%.9g, expected %.9g", actual.floats()[worst], expected.floats()[worst]);
  else
    os << actual.ints()[worst] << ", expected " << expected.ints()[worst];
  return result;
}

} // namespace dlc
