//===- DiscardableAttributes.cpp - Attributes of dl on ops, arguments and results ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A phase leaves notes for later phases in these attributes, which no op's record has. The table
// lists all of them. The verifier refuses any other name, since no phase would read it.
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace dlc::dl {

namespace {

enum class Place { module, function, op, argument, result };

struct Discardable {
  StringLiteral name; // without "dl."
  Place place;
  bool (*isKind)(Attribute);
  StringLiteral kind; // as the error names it
};

} // namespace

template <typename Kind> static bool is(Attribute attribute) { return isa<Kind>(attribute); }
static bool isTwoNumbers(Attribute attribute) {
  auto numbers = dyn_cast<DenseF64ArrayAttr>(attribute);
  return numbers && numbers.size() == 2;
}

static constexpr Discardable kTable[] = {
    {"symbols", Place::module, is<ArrayAttr>, "an array"},
    {"needs", Place::module, is<ArrayAttr>, "an array"},
    {"cache", Place::module, is<DictionaryAttr>, "a dictionary"},
    {"fitted_by", Place::module, is<StringAttr>, "a string"},
    {"gpu", Place::module, is<IntegerAttr>, "an integer"},
    {"stored_precision", Place::function, is<TypeAttr>, "a type"},
    {"no_fuse", Place::op, is<UnitAttr>, "no value"},
    {"role", Place::op, is<StringAttr>, "a string"},
    {"tf32", Place::op, is<UnitAttr>, "no value"},
    {"keep_f32", Place::op, is<UnitAttr>, "no value"},
    {"kept_by_cost", Place::op, is<StringAttr>, "a string"},
    {"kept_on", Place::op, is<DictionaryAttr>, "a dictionary"},
    {"correction", Place::op, is<UnitAttr>, "no value"},
    {"magnitudes", Place::op, isTwoNumbers, "two numbers, array<f64: SMALLEST, LARGEST>"},
    {"activation_range", Place::op, isTwoNumbers, "two numbers, array<f64: SMALLEST, LARGEST>"},
    {"stored_bits", Place::op, is<IntegerAttr>, "an integer"},
    {"stored_blocks", Place::op, is<IntegerAttr>, "an integer"},
    {"full_groups", Place::op, is<IntegerAttr>, "an integer"},
    {"stored_numbers", Place::op, is<IntegerAttr>, "an integer"},
    {"name", Place::argument, is<StringAttr>, "a string"},
    {"state", Place::argument, is<UnitAttr>, "no value"},
    {"name", Place::result, is<StringAttr>, "a string"},
    {"state", Place::result, is<UnitAttr>, "no value"},
    {"count", Place::result, is<UnitAttr>, "no value"}};

static StringRef nameOf(Place place) {
  switch (place) {
  case Place::module:
    return "a module";
  case Place::function:
    return "a function or a program";
  case Place::op:
    return "an op";
  case Place::argument:
    return "an argument";
  case Place::result:
    return "a result";
  }
  llvm_unreachable("unknown place");
}

static LogicalResult verify(Operation *op, NamedAttribute attribute, Place place) {
  StringRef name = attribute.getName().strref().drop_front(strlen("dl."));
  auto isKnown = [&](const Discardable &one) { return one.place == place && one.name == name; };
  const auto *known = llvm::find_if(kTable, isKnown);
  if (known == std::end(kTable)) {
    InFlightDiagnostic error = op->emitError()
                               << "'" << attribute.getName().strref() << "' is no attribute of "
                               << nameOf(place) << "; expected one of ";
    auto fits = [&](const Discardable &one) { return one.place == place; };
    llvm::interleaveComma(llvm::make_filter_range(kTable, fits), error,
                          [&](const Discardable &one) { error << "dl." << one.name; });
    return error;
  }
  if (!known->isKind(attribute.getValue()))
    return op->emitError() << "'" << attribute.getName().strref() << "' has " << known->kind
                           << ", got " << attribute.getValue();
  return success();
}

LogicalResult DLDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  bool isFunction = isa<FunctionOpInterface>(op) || op->getName().getStringRef() == "dlx.program";
  return verify(op, attribute,
                isa<ModuleOp>(op) ? Place::module
                : isFunction      ? Place::function
                                  : Place::op);
}

LogicalResult DLDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned,
                                                  NamedAttribute attribute) {
  return verify(op, attribute, Place::argument);
}

LogicalResult DLDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                                     NamedAttribute attribute) {
  return verify(op, attribute, Place::result);
}

} // namespace dlc::dl
