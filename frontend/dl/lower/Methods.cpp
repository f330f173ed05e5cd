//===- Methods.cpp - x.view(2, -1): functions of a tensor as its methods ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/dl/lower/ForwardLowering.h"
#include "frontend/dl/syntax/Hints.h"
#include "frontend/dl/syntax/Parser.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace dlc::frontend {

//===- Methods that are no functions ----------------------------------------------------------===//

/// The dtype that `x.float()` and the like give; empty for other methods.
static StringRef dtypeOfMethod(StringRef method) {
  return llvm::StringSwitch<StringRef>(method)
      .Case("double", "f64")
      .Case("float", "f32")
      .Case("half", "f16")
      .Case("bfloat16", "bf16")
      .Case("long", "i64")
      .Case("int", "i32")
      .Case("short", "i16")
      .Case("char", "i8")
      .Case("byte", "u8")
      .Case("bool", "bool")
      .Default({});
}

/// PyTorch has these for training and memory alone: a value is never changed and has no strides
/// here.
bool keepsItsTensor(StringRef function) {
  return function == "clone" || function == "detach" || function == "contiguous";
}

/// The function that takes from another tensor, in `x.view_as(other)`, what this attribute says of
/// it.
static std::pair<StringRef, StringRef> functionOfLikeness(StringRef method) {
  return llvm::StringSwitch<std::pair<StringRef, StringRef>>(method)
      .Cases({"view_as", "reshape_as"}, {"reshape", "shape"})
      .Case("type_as", {"cast", "dtype"})
      .Default({});
}

static constexpr StringRef kOtherMethods[] = {
    "double",     "float", "half",  "bfloat16", "long",    "int",     "short",
    "char",       "byte",  "bool",  "clone",    "detach",  "dim",     "contiguous",
    "reshape_as", "size",  "numel", "view_as",  "type_as", "nelement"};

/// Functions whose first argument is a tensor.
static bool takesTensorFirst(const Signature &signature) {
  return !signature.params.empty() && signature.params.front().type == Param::tensor;
}

//===- Calls ----------------------------------------------------------------------------------===//

std::optional<ForwardLowering::Method> ForwardLowering::methodOf(const Expr &callee) {
  if (auto *attribute = llvm::dyn_cast<AttributeExpr>(&callee)) {
    // `layers[0].weight.t()`, but not what is called as a layer that does not exist.
    if (auto path = pathOf(*attribute->base); path && !weightAt(*path, callee.loc))
      return std::nullopt;
    return Method{attribute->name.name, evaluate(*attribute->base)};
  }
  auto *name = llvm::dyn_cast<NameExpr>(&callee);
  auto [base, method] = name ? name->name.rsplit('.') : std::pair<StringRef, StringRef>();
  if (method.empty())
    return std::nullopt;
  auto receiver = valueWithAttributes(base, callee.loc);
  if (!receiver)
    return std::nullopt;
  return Method{method, precision ? castFloats(*receiver, precision) : *receiver};
}

Item ForwardLowering::callMethod(const Method &method, const CallExpr &expr,
                                 ArrayRef<PassedArgument> arguments, bool good) {
  const Item &x = method.receiver;
  if (x.isPoison() || !good)
    return poison(expr.loc);
  StringRef name = method.name;
  auto error = [&] { return diagnostics.error(expr.loc) << quote(textOf(*expr.callee)) << " "; };
  if (!x.isTensor()) {
    error() << "has no meaning: only tensors have methods, got " << describe(x, diagnostics.module);
    return poison(expr.loc);
  }
  if (name.ends_with("_") && !name.ends_with("__") &&
      !functionSignatures(name.drop_back()).empty()) {
    error() << "would change a value in place, which nothing does here; write "
            << "x = x." << name.drop_back() << "(...)";
    return poison(expr.loc);
  }

  StringRef dtype = dtypeOfMethod(name);
  if (!dtype.empty() || keepsItsTensor(name) || name == "dim" || name == "numel" ||
      name == "nelement") {
    if (!arguments.empty()) {
      error() << "takes no arguments, got "
              << describe(arguments.front().value, diagnostics.module);
      return poison(expr.loc);
    }
    diagnostics.mention(Mention::Kind::function, name, {}, [&] { return name.str(); });
    if (!dtype.empty())
      return call("cast", expr.loc,
                  {{{}, expr.loc, x}, {{}, expr.loc, {dtypeOf(dtype, context), expr.loc}}});
    if (name == "dim")
      return {x.tensorType().getRank(), expr.loc};
    if (keepsItsTensor(name))
      return Item(x).at(expr.loc);
    return Item::dim(dl::normalize(dl::product(dl::getDims(x.tensorType()), context)), expr.loc);
  }

  // `x.to(other)` is x.type_as(other).
  bool isOfOther = name == "to" && arguments.size() == 1 && arguments[0].value.isTensor();
  if (auto [function, attribute] = functionOfLikeness(isOfOther ? "type_as" : name);
      !function.empty()) {
    if (arguments.size() != 1 || !arguments[0].value.isTensor()) {
      error() << "takes one tensor, got "
              << (arguments.empty() ? "nothing"
                                    : describe(arguments.front().value, diagnostics.module));
      return poison(expr.loc);
    }
    diagnostics.mention(Mention::Kind::function, name, {}, [&] { return name.str(); });
    Item like = attributeOf(arguments[0].value, attribute, attribute, arguments[0].loc);
    return call(function, expr.loc, {{{}, expr.loc, x}, {{}, arguments[0].loc, like}});
  }

  SmallVector<PassedArgument> all(arguments);
  // `x.where(condition, other)` has its tensor in the second place.
  bool isSecond = name == "where" && !all.empty() && all.front().keyword.empty();
  all.insert(all.begin() + isSecond, {{}, expr.loc, x});
  bool isFunction = llvm::any_of(functionSignatures(name), [&](const Signature *signature) {
    return takesTensorFirst(*signature);
  });
  if (isFunction || name == "size")
    return callFunction(name, expr, all, good, /*isMethod=*/true);

  if (isTorchFunction(name)) {
    error()
        << "is a PyTorch method that dlc does not support; 'dlc list ops' shows the supported ones";
    return poison(expr.loc);
  }
  SmallVector<StringRef> known(std::begin(kOtherMethods), std::end(kOtherMethods));
  forEachFunction([&](const Signature &signature, StringRef) {
    if (takesTensorFirst(signature))
      known.push_back(signature.name);
  });
  std::string hint = didYouMean(name, known);
  error() << "is no method of a tensor"
          << (hint.empty() ? "; 'dlc list ops' shows the functions" : hint);
  return poison(expr.loc);
}

} // namespace dlc::frontend
