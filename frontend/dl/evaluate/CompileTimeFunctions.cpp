//===- CompileTimeFunctions.cpp - min, len, sqrt ... of values known at compile time ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/evaluate/Arithmetic.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace mlir;

namespace dlc::frontend {

using Passed = ArrayRef<PassedArgument>;

namespace {
/// Gives nothing where the arguments are of other kinds, and a message where they have no value.
struct Function {
  StringRef name, takes;
  std::optional<Item> (*call)(Passed arguments, llvm::SMLoc loc, std::string &problem);
};
} // namespace

static bool isReal(const Item &item) { return item.is<int64_t>() || item.is<double>(); }
static double realOf(const Item &item) {
  return item.is<double>() ? item.as<double>() : static_cast<double>(item.as<int64_t>());
}

/// The least or greatest of several numbers, or of a list of them; an integer stays one.
template <bool kGreatest>
static std::optional<Item> extremum(Passed arguments, llvm::SMLoc loc, std::string &problem) {
  Item::List list;
  if (arguments.size() == 1 && arguments[0].value.is<Item::List>())
    list = arguments[0].value.as<Item::List>();
  else
    for (const PassedArgument &argument : arguments)
      list.push_back(argument.value);
  if (arguments.empty() || !llvm::all_of(list, isReal))
    return std::nullopt;
  if (list.empty()) {
    problem = "has no value; expected at least one number";
    return std::nullopt;
  }
  Item best = list.front();
  for (const Item &item : list) {
    bool less = item.is<int64_t>() && best.is<int64_t>() ? item.as<int64_t>() < best.as<int64_t>()
                                                         : realOf(item) < realOf(best);
    bool equal = realOf(item) == realOf(best);
    if (kGreatest ? !less && !equal : less)
      best = item;
  }
  best.loc = loc;
  return best;
}

static std::optional<Item> toInteger(double value, llvm::SMLoc loc, std::string &problem) {
  if (value >= -0x1p63 && value < 0x1p63)
    return Item{static_cast<int64_t>(value), loc};
  problem = "does not fit in 64 bits";
  return std::nullopt;
}

template <double (*round)(double)>
static std::optional<Item> rounded(Passed arguments, llvm::SMLoc loc, std::string &problem) {
  if (arguments.size() != 1 || !isReal(arguments[0].value))
    return std::nullopt;
  if (arguments[0].value.is<int64_t>())
    return Item{arguments[0].value.as<int64_t>(), loc};
  return toInteger(round(realOf(arguments[0].value)), loc, problem);
}

template <double (*function)(double)>
static std::optional<Item> real(Passed arguments, llvm::SMLoc loc, std::string &problem) {
  if (arguments.size() != 1 || !isReal(arguments[0].value))
    return std::nullopt;
  double value = function(realOf(arguments[0].value));
  if (std::isfinite(value))
    return Item{value, loc};
  problem = "is no finite number";
  return std::nullopt;
}

static std::optional<Item> callAbs(Passed arguments, llvm::SMLoc loc, std::string &problem) {
  if (arguments.size() != 1 || !isReal(arguments[0].value))
    return std::nullopt;
  const Item &item = arguments[0].value;
  if (item.is<double>())
    return Item{std::abs(item.as<double>()), loc};
  if (item.as<int64_t>() == std::numeric_limits<int64_t>::min()) {
    problem = "does not fit in 64 bits";
    return std::nullopt;
  }
  return Item{std::abs(item.as<int64_t>()), loc};
}

static std::optional<Item> callBool(Passed arguments, llvm::SMLoc loc, std::string &) {
  if (arguments.size() != 1)
    return std::nullopt;
  if (auto truth = truthOf(arguments[0].value))
    return Item{*truth, loc};
  return std::nullopt;
}

static std::optional<Item> callFloat(Passed arguments, llvm::SMLoc loc, std::string &) {
  if (arguments.size() != 1)
    return std::nullopt;
  const Item &item = arguments[0].value;
  if (item.is<std::string>()) { // as Python says what has no digits
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return llvm::StringSwitch<std::optional<Item>>(item.as<std::string>())
        .Case("inf", Item{kInfinity, loc})
        .Case("-inf", Item{-kInfinity, loc})
        .Case("nan", Item{std::numeric_limits<double>::quiet_NaN(), loc})
        .Default(std::nullopt);
  }
  if (!isReal(item))
    return std::nullopt;
  return Item{realOf(item), loc};
}

static std::optional<Item> callInt(Passed arguments, llvm::SMLoc loc, std::string &problem) {
  if (arguments.size() == 1 && arguments[0].value.is<bool>())
    return Item{int64_t(arguments[0].value.as<bool>()), loc};
  return rounded<std::trunc>(arguments, loc, problem);
}

static std::optional<Item> callLen(Passed arguments, llvm::SMLoc loc, std::string &) {
  if (arguments.size() != 1)
    return std::nullopt;
  const Item &item = arguments[0].value;
  if (item.is<Item::List>())
    return Item{static_cast<int64_t>(item.as<Item::List>().size()), loc};
  if (item.is<std::string>())
    return Item{static_cast<int64_t>(item.as<std::string>().size()), loc};
  return std::nullopt;
}

static constexpr StringRef kNumber = "a number", kFloat = "a number, \"inf\", \"-inf\" or \"nan\"",
                           kNumbers = "numbers, or a list of them,";

static constexpr Function kFunctions[] = {
    {"abs", kNumber, callAbs},
    {"bool", "one value", callBool},
    {"ceil", kNumber, rounded<std::ceil>},
    {"exp", kNumber, real<std::exp>},
    {"float", kFloat, callFloat},
    {"floor", kNumber, rounded<std::floor>},
    {"int", kNumber, callInt},
    {"len", "a list or a string", callLen},
    {"log", kNumber, real<std::log>},
    {"max", kNumbers, extremum<true>},
    {"min", kNumbers, extremum<false>},
    {"round", kNumber, rounded<std::nearbyint>},
    {"sqrt", kNumber, real<std::sqrt>},
};

bool isCompileTimeFunction(StringRef name) {
  return llvm::any_of(kFunctions, [&](const Function &function) { return function.name == name; });
}

std::string compileTimeFunctions() {
  SmallVector<StringRef> names;
  for (const Function &function : kFunctions)
    names.push_back(function.name);
  return llvm::join(names, ", ");
}

std::string misuseOf(StringRef name, Passed arguments, dl::SymbolNames names) {
  auto function =
      llvm::find_if(kFunctions, [&](const Function &function) { return function.name == name; });
  std::string got;
  for (const PassedArgument &argument : arguments)
    got += (got.empty() ? "" : " and ") +
           (argument.keyword.empty() ? std::string() : (argument.keyword + " = ").str()) +
           describe(argument.value, names);
  return (llvm::Twine(quote(name)) + " takes " + function->takes + " known at compile time, got " +
          (got.empty() ? "nothing" : got))
      .str();
}

std::optional<Item> callCompileTimeFunction(StringRef name, llvm::SMLoc loc, Passed arguments,
                                            Diagnostics &diagnostics) {
  if (llvm::any_of(arguments,
                   [](const PassedArgument &argument) { return !argument.keyword.empty(); }))
    return std::nullopt;
  for (const Function &function : kFunctions) {
    if (function.name != name)
      continue;
    std::string problem;
    std::optional<Item> result = function.call(arguments, loc, problem);
    if (problem.empty())
      return result;
    diagnostics.error(loc) << quote(name) << " of "
                           << describe(arguments.front().value, diagnostics.module) << " "
                           << problem;
    return Item{Item::Poison(), loc};
  }
  return std::nullopt;
}

} // namespace dlc::frontend
