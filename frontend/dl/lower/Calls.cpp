//===- Calls.cpp - Calls of functions and layers, and operators on tensors ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/dl/declare/Elaborate.h"
#include "frontend/dl/evaluate/Arithmetic.h"
#include "frontend/dl/evaluate/DerivedDims.h"
#include "frontend/dl/lower/ForwardLowering.h"
#include "frontend/dl/syntax/Hints.h"
#include "frontend/dl/syntax/Parser.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc::frontend {

//===- Callees --------------------------------------------------------------------------------===//

Item ForwardLowering::evaluateCall(const CallExpr &expr) {
  const Expr &callee = *expr.callee;
  std::optional<LayerRef> layer;
  if (auto path = pathOf(callee, /*isCallee=*/true))
    layer = findLayer(*path->instance, path->text);
  // The tensor of a method comes before its arguments, as in Python.
  std::optional<Method> method = layer ? std::nullopt : methodOf(callee);
  const auto *name = llvm::dyn_cast<NameExpr>(&callee);
  if (!layer && name && name->name == "derived")
    return callDerived(expr);
  SmallVector<PassedArgument> arguments;
  bool good = evaluateArguments(expr, arguments);
  if (layer)
    return callLayer(*layer, expr, arguments, good);
  if (method)
    return callMethod(*method, expr, arguments, good);
  if (name)
    return callFunction(name->name, expr, arguments, good);
  // `layer[-1](x)`, or a layer of a list.
  if (auto *subscript = llvm::dyn_cast<SubscriptExpr>(&callee)) {
    Item item = evaluate(*subscript);
    if (item.isPoison())
      return poison(expr.loc);
    if (item.is<LayerRef>())
      return callLayer(item.as<LayerRef>(), expr, arguments, good);
    diagnostics.error(expr.loc) << "only functions and layers can be called, got "
                                << describe(item, diagnostics.module);
    return poison(expr.loc);
  }
  return unknownCallee(expr, textOf(callee));
}

StringRef ForwardLowering::guess(StringRef name) {
  SmallVector<StringRef> known;
  for (const auto &entry : frame->instance->children)
    known.push_back(entry.first);
  forEachFunction([&](const Signature &signature, StringRef) { known.push_back(signature.name); });
  return nearest(name, known).value_or(StringRef());
}

Item ForwardLowering::unknownCallee(const CallExpr &expr, StringRef name) {
  auto error = diagnostics.error(expr.loc);
  auto isFunction = [&](StringRef other) { return isKnownFunction(other); };
  StringRef last = name.rsplit('.').second;
  if (dlc::frontend::findLayer(name)) {
    error << quote(name)
          << " is a kind of layer; declare one above 'forward', as in 'name: " << name
          << "(...)', and call it by its name";
  } else if (auto group = frame->instance->groups.find(name.rsplit('.').first);
             group != frame->instance->groups.end() && !last.empty() &&
             llvm::all_of(last, llvm::isDigit)) {
    error << "there is no layer " << quote(name) << "; " << quote(group->first) << " has "
          << quote(group->second.front().path) << " to " << quote(group->second.back().path);
  } else if (auto group = frame->instance->groups.find(name);
             group != frame->instance->groups.end()) {
    error << quote(name) << " is a list of " << group->second.size()
          << " layers; call one of them, as in " << name << "[0](x)";
  } else if (std::string lacking = describeLacking(name, isFunction); !lacking.empty()) {
    error << lacking;
  } else {
    error << "unknown function or layer " << quote(name);
    std::string hint = hintForCall(name, isFunction);
    if (name == "range")
      error << "; a range is written 0..12";
    else if (!hint.empty())
      error << hint;
    else if (StringRef near = guess(name); !near.empty())
      error << "; did you mean " << quote(near) << "?";
    else
      error
          << "; expected a layer declared above 'forward', or a function that 'dlc list ops' shows";
  }
  return poison(expr.loc);
}

//===- Functions ------------------------------------------------------------------------------===//

Item ForwardLowering::callFunction(StringRef name, const CallExpr &expr,
                                   ArrayRef<PassedArgument> arguments, bool good, bool isMethod) {
  if (keepsItsTensor(name) && arguments.size() == 1 && arguments[0].value.isTensor())
    return Item(arguments[0].value).at(expr.loc);
  bool isKnown = isKnownFunction(name);
  bool isOfSizes = name == "size" || name == "padded" || name == "head" || name == "dim_of";
  bool isOfLibrary = frame->isLibrary && isLibraryOnly(name);
  if (!isKnown && !isCompileTimeFunction(name) && !isOfSizes && !isOfLibrary && name != "tensor")
    return unknownCallee(expr, name);
  diagnostics.mention(Mention::Kind::function, name, {}, [&] { return name.str(); });
  if (!good)
    return poison(expr.loc);
  if (name == "size")
    return callSize(expr.loc, arguments);
  if (name == "dim_of")
    return callDimOf(expr.loc, arguments);
  if (isOfSizes)
    return callHead(name, expr.loc, arguments);
  if (isOfLibrary)
    return callLibraryOnly(name, expr.loc, arguments);
  if (name == "tensor")
    return callTensor(expr.loc, arguments);
  if (auto result = callCompileTimeFunction(name, expr.loc, arguments, diagnostics))
    return *result;
  if (isKnown)
    return call(name, expr.loc, arguments, isMethod);
  diagnostics.error(expr.loc) << misuseOf(name, arguments, diagnostics.module);
  return poison(expr.loc);
}

Item ForwardLowering::call(StringRef callee, llvm::SMLoc loc, ArrayRef<PassedArgument> arguments,
                           bool isMethod) {
  return functions.call(callee, loc, arguments, isMethod);
}

/// `size(x, dim)`: a dim, as an integer where it is constant; `size(x)`: all of them.
Item ForwardLowering::callSize(llvm::SMLoc loc, ArrayRef<PassedArgument> arguments) {
  auto result = bindByName("size", {"x", "dim"}, arguments, diagnostics.module);
  if (auto *problem = std::get_if<BindError>(&result)) {
    diagnostics.error(problem->loc) << problem->message;
    return poison(loc);
  }
  auto bound = std::get<0>(result);
  if (!bound[0] || !bound[0]->value.isTensor()) {
    diagnostics.error(loc)
        << "'size' takes a tensor and the number of a dim, as in size(x, 1), got "
        << (bound[0] ? describe(bound[0]->value, diagnostics.module) : std::string("no tensor"));
    return poison(loc);
  }
  Item shape = attributeOf(bound[0]->value, "shape", "x.shape", loc);
  if (!bound[1])
    return shape;
  const Item &dim = bound[1]->value;
  auto rank = static_cast<int64_t>(shape.as<Item::List>().size());
  int64_t position = dim.is<int64_t>() ? dim.as<int64_t>() : rank;
  if (position < -rank || position >= rank) {
    diagnostics.error(bound[1]->loc)
        << "'dim' of 'size' is " << describe(dim, diagnostics.module) << "; expected " << -rank
        << " to " << rank - 1 << " for " << dl::text(bound[0]->value.as<Value>());
    return poison(loc);
  }
  return shape.as<Item::List>()[position < 0 ? position + rank : position];
}

/// `dim_of(x, most=65536, least=0)`: the dim that a tensor of one integer says while the model
/// runs.
Item ForwardLowering::callDimOf(llvm::SMLoc loc, ArrayRef<PassedArgument> arguments) {
  auto result = bindByName("dim_of", {"x", "most", "least"}, arguments, diagnostics.module);
  if (auto *problem = std::get_if<BindError>(&result)) {
    diagnostics.error(problem->loc) << problem->message;
    return poison(loc);
  }
  auto bound = std::get<0>(result);
  if (bound[0] && bound[0]->value.isDim())
    return Item(bound[0]->value).at(loc);
  auto isOne = [&](RankedTensorType type) {
    return !isa<FloatType>(type.getElementType()) && !type.getElementType().isInteger(1) &&
           dl::isConstant(dl::product(dl::getDims(type), context), 1);
  };
  if (!bound[0] || !bound[0]->value.isTensor() || !isOne(bound[0]->value.tensorType())) {
    diagnostics.error(bound[0] ? bound[0]->loc : loc)
        << "'dim_of' takes a tensor of one integer, as in dim_of(n, most=64), got "
        << (bound[0] ? describe(bound[0]->value, diagnostics.module) : std::string("no tensor"));
    return poison(loc);
  }
  dl::Range range{0, Regions::kMostRead};
  for (auto [argument, limit] : {std::pair(bound[1], &range.max), std::pair(bound[2], &range.min)})
    if (argument && argument->value.is<int64_t>())
      *limit = argument->value.as<int64_t>();
    else if (argument) {
      diagnostics.error(argument->loc)
          << "a limit of 'dim_of' is " << describe(argument->value, diagnostics.module)
          << "; expected an integer";
      return poison(loc);
    }
  if (range.min < -kMostSize || range.max < range.min || range.max > kMostSize) {
    diagnostics.error(loc) << "'dim_of' is of " << range.min << " to " << range.max << "; expected "
                           << -kMostSize << " <= least <= most <= " << kMostSize;
    return poison(loc);
  }
  AffineExpr dim =
      emitter.read(diagnostics.translate(loc), bound[0]->value.as<mlir::Value>(), "dim", range);
  return dim ? Item::dim(dim, loc) : poison(loc);
}

/// `derived(min(n, 10), most=10, least=0)`: a dim that functions of dims give. Outside of models it
/// is declared, as in `dim few = min(N, 10)`.
Item ForwardLowering::callDerived(const CallExpr &expr) {
  dl::Range limits{-kMostSize, kMostSize};
  const Expr *written = nullptr;
  bool isGood = true;
  for (const Argument &argument : expr.arguments) {
    int64_t *limit = !argument.keyword                   ? nullptr
                     : argument.keyword->name == "most"  ? &limits.max
                     : argument.keyword->name == "least" ? &limits.min
                                                         : nullptr;
    isGood &= limit || (!argument.keyword && !written);
    if (!limit) {
      written = argument.value.get();
      continue;
    }
    Item value = evaluate(*argument.value);
    isGood &= value.is<int64_t>();
    *limit = value.is<int64_t>() ? value.as<int64_t>() : *limit;
  }
  if (!written || !isGood) {
    diagnostics.error(expr.loc) << "'derived' takes one function of dims, and limits, as in "
                                   "derived(min(n, 10), most=10, least=0)";
    return poison(expr.loc);
  }
  auto evaluatePart = [&](const Expr &part) { return evaluate(part); };
  Attribute defined = definitionOf(*written, evaluatePart, diagnostics, context);
  if (!defined)
    return poison(expr.loc);
  if (auto plain = dyn_cast<AffineMapAttr>(defined))
    return Item::dim(plain.getValue().getResult(0), expr.loc);
  if (!rangeOfDefinition(defined, written->loc, "the dim", diagnostics))
    return poison(expr.loc);
  if (AffineExpr dim = emitter.derive(cast<dl::DerivedAttr>(defined), limits))
    return Item::dim(dim, expr.loc);
  // The sizes may be read in another attempt.
  diagnostics.error(expr.loc) << "'derived' gives no dim: it is computed from a size that is "
                                 "counted, its limits leave nothing, "
                                 "or the model has more than "
                              << dl::kMaxDeclared << " dims that vary";
  return poison(expr.loc);
}

/// `padded(x, dim=0)`: a dim whose size the data say, as large as it may be;
/// `head(x, count, dim=0)`: its first elements, as many as a tensor of one integer says.
Item ForwardLowering::callHead(StringRef name, llvm::SMLoc loc,
                               ArrayRef<PassedArgument> arguments) {
  bool hasCount = name == "head";
  SmallVector<StringRef> names{"x", "dim"};
  if (hasCount)
    names.insert(names.begin() + 1, "count");
  auto result = bindByName(name, names, arguments, diagnostics.module);
  if (auto *problem = std::get_if<BindError>(&result)) {
    diagnostics.error(problem->loc) << problem->message;
    return poison(loc);
  }
  auto bound = std::get<0>(result);
  const PassedArgument *x = bound.front(), *count = hasCount ? bound[1] : nullptr,
                       *along = bound.back();
  if (!x || !x->value.isTensor() || (hasCount && (!count || !count->value.isTensor()))) {
    diagnostics.error(loc) << quote(name) << " takes a tensor"
                           << (hasCount ? ", a tensor of one integer" : "")
                           << " and the number of a dim, as in "
                           << (hasCount ? "head(x, count, 0)" : "padded(x, 0)");
    return poison(loc);
  }
  int64_t rank = x->value.tensorType().getRank();
  int64_t dim = !along ? 0 : along->value.is<int64_t>() ? along->value.as<int64_t>() : rank;
  if (dim < -rank || dim >= rank) {
    diagnostics.error(along ? along->loc : loc)
        << "'dim' of " << quote(name) << " is "
        << (along ? describe(along->value, diagnostics.module) : "0") << "; expected " << -rank
        << " to " << rank - 1 << " for " << dl::text(x->value.as<Value>());
    return poison(loc);
  }
  dim += dim < 0 ? rank : 0;
  Location place = diagnostics.translate(loc);
  if (!hasCount)
    return {emitter.padded(place, x->value.as<mlir::Value>(), dim), loc};
  auto type = count->value.tensorType();
  if (isa<FloatType>(type.getElementType()) ||
      !dl::isConstant(dl::product(dl::getDims(type), context), 1)) {
    diagnostics.error(count->loc) << "'count' of 'head' is " << dl::text(type, diagnostics.module)
                                  << "; expected one integer";
    return poison(loc);
  }
  mlir::Value part =
      emitter.head(place, x->value.as<mlir::Value>(), count->value.as<mlir::Value>(), dim);
  return part ? Item{part, loc} : poison(loc);
}

//===- Operators ------------------------------------------------------------------------------===//

Item ForwardLowering::callOperator(StringRef function, llvm::SMLoc loc,
                                   ArrayRef<PassedArgument> operands) {
  // On truth values & | ^ ~ are the logical functions.
  std::string logical;
  bool areBool = llvm::all_of(operands, [](const PassedArgument &operand) {
    return operand.value.is<bool>() ||
           (operand.value.isTensor() && operand.value.tensorType().getElementType().isInteger(1));
  });
  if (function.consume_front("bitwise_")) {
    logical = ("logical_" + function).str();
    if (areBool && !signaturesOf(logical).empty())
      return call(logical, loc, operands);
    logical = ("bitwise_" + function).str();
    function = logical;
  }
  assert(!signaturesOf(function).empty() && "each operator on tensors has its function");
  return call(function, loc, operands);
}

Item ForwardLowering::applyToTensor(UnaryOp op, const Item &operand, llvm::SMLoc loc) {
  return callOperator(functionOf(op), loc, PassedArgument{{}, loc, operand});
}

Item ForwardLowering::combineTensors(BinaryOp op, const Item &lhs, const Item &rhs,
                                     llvm::SMLoc loc) {
  for (const Item *item : {&lhs, &rhs})
    if (!item->isTensor() && !item->isNumber() && !item->isDim()) {
      diagnostics.error(loc) << "operator " << quote(spellingOf(op))
                             << " takes tensors and numbers, got "
                             << describe(*item, diagnostics.module);
      return poison(loc);
    }
  return callOperator(functionOf(op), loc,
                      {PassedArgument{{}, loc, lhs}, PassedArgument{{}, loc, rhs}});
}

} // namespace dlc::frontend
