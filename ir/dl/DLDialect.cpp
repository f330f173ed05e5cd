//===- DLDialect.cpp - The dl dialect and its attributes ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/DLDialect.h"

#include "ir/dl/DLOps.h"
#include "ir/dl/base/DLTypes.h"
#include "ir/dl/base/DerivedSize.h"
#include "ir/scalar/ScalarFunctions.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "ir/dl/DLDialect.cpp.inc"
#include "ir/dl/DLEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/dl/DLAttrs.cpp.inc"

namespace dlc::dl {

void DLDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/dl/DLAttrs.cpp.inc"
      >();
  registerDLDialectOperations(this);
  // Bodies of ops build its functions.
  getContext()->getOrLoadDialect<dls::DLSDialect>();
}

LogicalResult SymbolAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                 int64_t min, int64_t max, int64_t usual, int64_t step,
                                 int64_t offset, DerivedAttr derived, StringRef, AffineMap most,
                                 bool read) {
  if (name.empty())
    return emitError() << "a symbolic dim needs a name";
  if ((min < 0 && !derived && !read) || max < min)
    return emitError() << "the range of dim '" << name << "' is " << min << ".." << max
                       << "; expected 0 <= min <= max";
  if (usual != 0 && (usual < min || usual > max || most))
    return emitError() << "the usual size of dim '" << name << "' is " << usual
                       << "; expected one of " << min << ".." << max
                       << ", and none of a counted dim";
  if (most && (most.getNumDims() != 0 || most.getNumResults() != 1 || min != 0))
    return emitError() << "the dim '" << name
                       << "' is counted: expected a range from 0 and one dim as its most";
  if (step < 1 || offset < 0 || (step > 1 && (most || derived)))
    return emitError() << "the dim '" << name << "' has step " << step << " and offset " << offset
                       << "; expected a step of 1 or more and an offset of 0 or more, and neither "
                          "for a counted or derived dim";
  if (read && (most || derived || step != 1 || offset != 0))
    return emitError() << "the dim '" << name
                       << "' is read: expected a range alone, and no most, definition or step";
  if (derived && (most || isReal(derived)))
    return emitError() << "the dim '" << name
                       << "' is derived: expected an integer that the data do not count";
  return success();
}

/// `<` `[` expr, ... `]` (`,` `order` `=` `[` ints `]`)? (`,` `tile` `=` int `of` int)? `>`
Attribute TensorAttr::parse(AsmParser &parser, Type) {
  // The names s0, s1, ... stand for the module's symbols; made once, since the parser keeps
  // StringRefs.
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (unsigned i = 0; i < kMaxDeclared; ++i)
      list.push_back("s" + std::to_string(i));
    return list;
  }();
  SmallVector<std::pair<StringRef, AffineExpr>> symbols;
  for (auto [position, name] : llvm::enumerate(names))
    symbols.push_back({name, getAffineSymbolExpr(position, parser.getContext())});

  Dims dims;
  SmallVector<int64_t> order;
  int64_t tileDim = -1, tile = 1;
  auto parseDim = [&]() -> ParseResult {
    AffineExpr dim;
    if (parser.parseAffineExpr(symbols, dim))
      return failure();
    dims.push_back(normalize(dim));
    return success();
  };
  auto parseOrder = [&]() -> ParseResult { return parser.parseInteger(order.emplace_back()); };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    StringRef key;
    if (parser.parseKeyword(&key) || parser.parseEqual())
      return {};
    if (key == "order") {
      if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOrder))
        return {};
    } else if (key == "tile") {
      if (parser.parseInteger(tile) || parser.parseKeyword("of") || parser.parseInteger(tileDim))
        return {};
    } else {
      parser.emitError(parser.getCurrentLocation(), "expected 'order' or 'tile', got '")
          << key << "'";
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(parser.getNameLoc()); }, parser.getContext(),
                    dims, order, tileDim, tile);
}

void TensorAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer);
  printer << "]";
  if (!getOrder().empty()) {
    printer << ", order = [";
    llvm::interleaveComma(getOrder(), printer);
    printer << "]";
  }
  if (getTileDim() >= 0)
    printer << ", tile = " << getTile() << " of " << getTileDim();
  printer << ">";
}

LogicalResult TensorAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<AffineExpr> dims, ArrayRef<int64_t> order,
                                 int64_t tileDim, int64_t tile) {
  assert(llvm::all_of(dims, [](AffineExpr dim) { return normalize(dim) == dim; }) &&
         "dims of an encoding are in normal form, so that equal ones are one");
  if (!order.empty()) {
    llvm::SmallBitVector seen(dims.size());
    for (int64_t dim : order)
      if (dim >= 0 && dim < static_cast<int64_t>(dims.size()))
        seen.set(dim);
    if (order.size() != dims.size() || !seen.all())
      return emitError() << "order must name each of the " << dims.size() << " dims once";
  }
  if (tileDim < -1 || tileDim >= static_cast<int64_t>(dims.size()) || tile < 1)
    return emitError() << "tile " << tile << " of " << tileDim << " does not fit rank "
                       << dims.size();
  return success();
}

LogicalResult TensorAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                         function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getDims().size())
    return emitError() << "encoding has " << getDims().size() << " dims, the tensor "
                       << shape.size();
  for (auto [size, dim] : llvm::zip(shape, getDims()))
    if (asConstant(dim).value_or(ShapedType::kDynamic) != size)
      return emitError() << "dim " << text(dim, {}) << " of the encoding differs from the tensor's";
  return success();
}

} // namespace dlc::dl
