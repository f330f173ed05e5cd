//===- Arguments.cpp - Arguments of a call and the parameters that they are for -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/lower/Arguments.h"

#include "frontend/Spelling.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::frontend {

static std::string expectation(const Param &param) {
  switch (param.type) {
  case Param::tensor:
    return "a tensor";
  case Param::tensors:
    return "a list of tensors";
  case Param::integer:
    return "an integer";
  case Param::integers:
    if (param.optionalElements)
      return "an integer from 0 to 2^31 - 1, None, or a list of " + std::to_string(param.count);
    return "an integer or a list of " +
           (param.count ? std::to_string(param.count) : std::string("integers"));
  case Param::floating:
    return "a number";
  case Param::floatings:
    return "a number or a list of numbers";
  case Param::boolean:
    return "true or false";
  case Param::string:
    return "a string";
  case Param::dtype:
    return "a dtype such as f32";
  case Param::dims:
    return param.count ? "an integer or a dim" : "a list of integers or dims";
  case Param::fixed:
    return param.constant == "True" || param.constant == "False" ? param.constant.lower()
                                                                 : param.constant.str();
  }
  llvm_unreachable("a parameter of no type");
}

/// Sizes, strides and positions stay small enough that ops may add and multiply a few of them. The
/// bounds of a slice are clamped before they are used. A negative number where None may be is not a
/// size.
static bool isReasonable(const Param &param, const Item &item) {
  if (!item.is<int64_t>())
    return false;
  int64_t value = item.as<int64_t>();
  if (param.optionalElements && value < 0)
    return false;
  return llvm::isInt<32>(value) || param.name == "start" || param.name == "end";
}

/// A number as a float; nothing of other items. As in Python, a bool is a number, where a factor is
/// asked for.
static std::optional<Item> toFloat(const Param &param, const Item &item) {
  if (item.is<double>())
    return item;
  if (item.is<bool>() && (param.name == "alpha" || param.name == "beta"))
    return Item{item.as<bool>() ? 1.0 : 0.0, item.loc};
  if (item.is<int64_t>())
    return Item{static_cast<double>(item.as<int64_t>()), item.loc};
  return std::nullopt;
}

/// The constant that the parameter takes.
static bool isConstantOf(const Param &param, const Item &item) {
  Item constant = *literal(param.constant);
  if (constant.is<bool>())
    return item.is<bool>() && item.as<bool>() == constant.as<bool>();
  if (constant.is<std::string>())
    return item.is<std::string>() && item.as<std::string>() == constant.as<std::string>();
  return item.is<Item::None>();
}

/// The item in the form that the parameter's type asks for; nothing where it is of another type.
static std::optional<Item> convert(const Param &param, const Item &item) {
  auto isListOf = [&](auto accepts) {
    return item.is<Item::List>() && llvm::all_of(item.as<Item::List>(), accepts);
  };
  auto isInteger = [&](const Item &item) {
    return isReasonable(param, item) || (param.optionalElements && item.is<Item::None>());
  };
  auto isDim = [](const Item &item) { return item.isDim(); };
  auto isTensor = [](const Item &item) { return item.isTensor(); };
  switch (param.type) {
  case Param::tensor:
    if (item.isTensor() || item.isNumber() || item.isDim())
      return item;
    break;
  case Param::tensors:
    if (isListOf(isTensor))
      return item;
    if (item.isTensor())
      return Item{Item::List{item}, item.loc};
    break;
  case Param::integer:
    if (isInteger(item))
      return item;
    break;
  case Param::integers:
    if (isInteger(item))
      return Item{Item::List(std::max(param.count, 1u), item), item.loc};
    if (isListOf(isInteger)) {
      const auto &list = item.as<Item::List>();
      if (param.count == 0 || list.size() == param.count)
        return item;
      if (list.size() == 1)
        return Item{Item::List(param.count, list.front()), item.loc};
      // Both sides of each dim, where they differ: top, left, bottom, right.
      if (param.name == "padding" && param.count > 1 && list.size() == 2 * param.count)
        return item;
    }
    // Resolved where the window is known.
    if (param.name == "padding" && item.is<std::string>() &&
        (item.as<std::string>() == "same" || item.as<std::string>() == "valid"))
      return item;
    break;
  case Param::floating:
    return toFloat(param, item);
  case Param::floatings: {
    Item::List list;
    for (const Item &element : item.is<Item::List>() ? item.as<Item::List>() : Item::List{item}) {
      auto number = toFloat(param, element);
      if (!number)
        return std::nullopt;
      list.push_back(*number);
    }
    return Item{std::move(list), item.loc};
  }
  case Param::fixed:
    if (isConstantOf(param, item))
      return item;
    break;
  case Param::boolean:
    if (item.is<bool>())
      return item;
    break;
  case Param::string:
    if (item.is<std::string>())
      return item;
    break;
  case Param::dtype:
    if (item.is<Type>())
      return item;
    break;
  case Param::dims:
    if (item.isDim())
      return Item{Item::List{item}, item.loc};
    if (param.count == 0 && isListOf(isDim))
      return item;
    break;
  }
  return std::nullopt;
}

/// The element of a list that its parameter does not take, or the item itself.
static const Item &culpritOf(const Param &param, const Item &item) {
  bool takesLists =
      param.type == Param::tensors || param.type == Param::integers || param.type == Param::dims;
  if (takesLists && item.is<Item::List>())
    for (const Item &element : item.as<Item::List>()) {
      bool isInteger =
          isReasonable(param, element) || (param.optionalElements && element.is<Item::None>());
      if (param.type == Param::tensors ? !element.isTensor()
          : param.type == Param::dims  ? !element.isDim()
                                       : !isInteger)
        return element;
    }
  return item;
}

/// Whether further positional arguments join the list that this parameter takes: permute(0, 2, 1),
/// but not the arguments after the dims of a reduction, as in sum(0, true).
static bool gathers(const Param &param) {
  return param.type == Param::tensors ||
         ((param.type == Param::dims || param.type == Param::integers) && param.count == 0 &&
          param.name != "dim");
}

static std::string unexpectedArgument(StringRef callee, StringRef keyword, ArrayRef<Param> params) {
  SmallVector<StringRef> names;
  for (const Param &param : params)
    names.push_back(param.name);
  std::string message =
      quote(callee) + " has no argument " + quote(keyword) + didYouMean(keyword, names);
  if (!nearest(keyword, names))
    message += names.empty() ? "; it takes none" : "; it takes " + llvm::join(names, ", ");
  return message;
}

std::variant<BoundArguments, BindError> bindArguments(StringRef callee, llvm::SMLoc loc,
                                                      ArrayRef<Param> params,
                                                      ArrayRef<PassedArgument> arguments,
                                                      dl::SymbolNames names) {
  BoundArguments bound(params.size());
  size_t position = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const PassedArgument &argument = arguments[i];
    size_t target = position;
    Item value = argument.value;
    bool isAlone = false; // a list was made of it
    if (argument.keyword.empty()) {
      if (position == params.size())
        return BindError{argument.loc, quote(callee) + " takes " + std::to_string(params.size()) +
                                           (params.size() == 1 ? " argument" : " arguments") +
                                           ", got more: " + describe(value, names)};
      ++position;
      if (gathers(params[target]) && !value.is<Item::List>() && !value.is<Item::None>()) {
        Item::List list{value};
        while (i + 1 < arguments.size() && arguments[i + 1].keyword.empty() &&
               arguments[i + 1].value.isTensor() == value.isTensor())
          list.push_back(arguments[++i].value);
        isAlone = list.size() == 1;
        value = {std::move(list), argument.loc};
      }
    } else {
      auto named = [&](StringRef name) {
        return llvm::find_if(params, [&](const Param &param) { return param.name == name; });
      };
      auto param = named(argument.keyword);
      if (param == params.end() &&
          argument.keyword == "input") // PyTorch's name of the first tensor
        param = named("x");
      if (param == params.end())
        return BindError{argument.loc, unexpectedArgument(callee, argument.keyword, params)};
      target = param - params.begin();
    }
    const Param &param = params[target];
    if (bound[target])
      return BindError{argument.loc,
                       quote(callee) + " gets its argument " + quote(param.name) + " twice"};
    bool isNone = value.is<Item::None>();
    // PyTorch's default of a stride: that of no numbers is the window.
    isNone |= param.optional && param.type == Param::integers && value.is<Item::List>() &&
              value.as<Item::List>().empty();
    if (isNone && (param.optional || param.defaultValue == "None")) {
      bound[target] = {Item::None(), value.loc};
      continue;
    }
    // No dims are all dims, as where they are left out.
    if (value.is<Item::None>() && param.type == Param::integers && param.defaultValue == "[]")
      continue;
    bound[target] = convert(param, value);
    bool isEmpty = target == 0 && param.type == Param::tensors && bound[target] &&
                   bound[target]->as<Item::List>().empty();
    if (bound[target] && !isEmpty)
      continue;
    std::string expected = isEmpty ? "at least one tensor" : expectation(param);
    if (param.name == "padding" && value.is<std::string>())
      expected += ", or \"same\" or \"valid\"";
    const Item &culprit = culpritOf(param, value);
    if (culprit.is<int64_t>() && !param.optionalElements &&
        (param.type == Param::integer || param.type == Param::integers))
      expected += " between -2^31 and 2^31 - 1";
    if (target > 0 && params[target - 1].name == "dim" && argument.keyword.empty() &&
        value.is<int64_t>() && params[target - 1].type == Param::integers)
      expected += "; several dims are a list, as in dim=(0, 1)";
    return BindError{argument.loc,
                     "argument " + quote(param.name) + " of " + quote(callee) +
                         (&culprit == &value || isAlone ? " is " : " holds ") +
                         describe(culprit, names) + "; expected " + expected,
                     param.type == Param::fixed ? expected : std::string()};
  }
  // That a way of calling is not meant comes before what it misses.
  for (bool isOfConstants : {true, false})
    for (auto [param, item] : llvm::zip(params, bound)) {
      bool isMissing = !item && !param.hasDefault && !param.optional;
      if (isMissing && (param.type == Param::fixed) == isOfConstants)
        return BindError{loc,
                         quote(callee) + " needs its argument " + quote(param.name) + ", " +
                             expectation(param),
                         isOfConstants ? expectation(param) : std::string()};
    }
  // None means the same as leaving the argument out, unless the default is something else.
  for (auto [param, item] : llvm::zip(params, bound))
    if (item && item->is<Item::None>() && (!param.hasDefault || param.defaultValue == "None"))
      item = std::nullopt;
  return bound;
}

std::optional<Item> literal(StringRef text) {
  auto item = [](auto value) { return Item{std::move(value), {}}; };
  if (text == "None")
    return item(Item::None());
  if (text == "True" || text == "False")
    return item(text == "True");
  if (text.consume_front("'"))
    return item(text.drop_back().str());
  if (text == "[]")
    return item(Item::List());
  if (int64_t integer; !text.getAsInteger(10, integer))
    return item(integer);
  if (double number; !text.getAsDouble(number))
    return item(number);
  return std::nullopt;
}

Item defaultItem(const Param &param) {
  std::optional<Item> item = literal(param.defaultValue);
  if (!item || item->is<Item::None>())
    return {Item::None(), {}};
  item = convert(param, *item);
  assert(item && "the default of a schema has not the type of its parameter");
  return *item;
}

Attribute attributeOf(const Param &param, const Item &item, MLIRContext *context) {
  Builder builder(context);
  switch (param.type) {
  case Param::integer:
    return builder.getI64IntegerAttr(item.as<int64_t>());
  case Param::integers: {
    SmallVector<int64_t> values;
    for (const Item &element : item.as<Item::List>())
      values.push_back(element.is<Item::None>() ? -1 : element.as<int64_t>());
    return builder.getDenseI64ArrayAttr(values);
  }
  case Param::floating:
    return builder.getF64FloatAttr(item.as<double>());
  case Param::floatings: {
    SmallVector<double> values;
    for (const Item &element : item.as<Item::List>())
      values.push_back(element.as<double>());
    return builder.getDenseF64ArrayAttr(values);
  }
  case Param::boolean:
    return builder.getBoolAttr(item.as<bool>());
  case Param::string:
    return builder.getStringAttr(item.as<std::string>());
  case Param::dtype:
    return TypeAttr::get(item.as<Type>());
  case Param::dims: {
    SmallVector<AffineExpr> dims;
    for (const Item &element : item.as<Item::List>())
      dims.push_back(element.asDim(context));
    return AffineMapAttr::get(dl::dimsMap(dims, context));
  }
  case Param::tensor:
  case Param::tensors:
  case Param::fixed:
    break;
  }
  llvm_unreachable("tensors are operands, and constants nothing");
}

} // namespace dlc::frontend
