//===- Loss.cpp - What a training makes small ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/train/step/Loss.h"

#include "frontend/Spelling.h"
#include "ir/dl/DLOps.h"
#include "ir/dl/base/ModuleSymbols.h"
#include "tools/driver/base/Output.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dlc {

using frontend::quote;

namespace {
/// A name in an expression that stands for a value.
struct Use {
  StringRef name;
  StringRef function; // whose argument it is; empty: none's
  StringRef first;    // the first name in that call
};
} // namespace

/// The values that an expression of the language names, in their order.
static SmallVector<Use> valuesIn(StringRef text) {
  static const llvm::StringSet<> kWords = {"True", "False", "None", "true", "false", "if",
                                           "else", "and",   "or",   "not",  "in"};
  SmallVector<Use> uses;
  SmallVector<std::pair<StringRef, StringRef>>
      calls;        // the functions around, with their first names
  StringRef before; // the name in front of a bracket
  for (size_t at = 0; at < text.size();) {
    StringRef rest = text.drop_front(at);
    StringRef word =
        rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    if (rest.front() == '\'' || rest.front() == '"') {
      size_t end = rest.find(rest.front(), 1);
      at = end == StringRef::npos ? text.size() : at + end + 1;
      continue;
    }
    if (word.empty()) {
      if (rest.front() == '(')
        calls.push_back({before, ""});
      else if (rest.front() == ')' && !calls.empty())
        calls.pop_back();
      before = "";
      ++at;
      continue;
    }
    at += word.size();
    StringRef next = text.drop_front(at).ltrim();
    bool isCall = next.starts_with("("),
         isKeyword = next.starts_with("=") && !next.starts_with("==");
    before = word;
    StringRef name = word.split('.').first;
    if (isCall || isKeyword || llvm::isDigit(name.empty() ? '0' : name.front()) ||
        kWords.contains(name))
      continue;
    for (auto &[function, first] : calls)
      if (first.empty())
        first = name;
    uses.push_back({name, calls.empty() ? StringRef() : calls.back().first,
                    calls.empty() ? StringRef() : calls.back().second});
  }
  return uses;
}

/// Whether the function takes classes as its target, and not numbers like its first argument.
static bool takesClasses(StringRef function) {
  static const llvm::StringSet<> kFunctions = {"cross_entropy", "nll_loss", "multi_margin_loss",
                                               "accuracy"};
  return kFunctions.contains(function);
}

/// The type of a target by the call that it stands in.
static std::string typeOfTarget(const Use &use, Value first) {
  auto type = cast<RankedTensorType>(first.getType());
  auto module = first.getParentRegion()->getParentOfType<ModuleOp>();
  dl::Dims dims = dl::getDims(type);
  if (!takesClasses(use.function) || dims.empty())
    return dl::text(type, module);
  dims.erase(dims.begin() + (dims.size() == 1 ? 0 : 1));
  return dl::text(dl::makeTensor(dims, IntegerType::get(type.getContext(), 64)), module);
}

static void noteClasses(const Use &use, Value first, LossInputs &used) {
  dl::Dims dims = dl::getDims(cast<RankedTensorType>(first.getType()));
  if (dims.empty())
    return;
  if (auto classes = dl::asConstant(dims[dims.size() == 1 ? 0 : 1]))
    used.classes[use.name.str()] = *classes;
}

/// The model's inputs and outputs that have names of the language, and dims that inputs bind.
static llvm::MapVector<StringRef, Value> valuesOf(func::FuncOp model) {
  llvm::MapVector<StringRef, Value> values;
  llvm::SmallBitVector ofData = symbolsOfData(model->getParentOfType<ModuleOp>());
  auto isOfData = [&](AffineExpr dim) { return dl::mentions(dim, ofData); };
  auto add = [&](StringAttr name, Value value) {
    if (name && isIdentifier(name.getValue()) &&
        llvm::none_of(dl::getDims(cast<RankedTensorType>(value.getType())), isOfData))
      values[name.getValue()] = value;
  };
  for (BlockArgument argument : model.getArguments())
    if (!model.getArgAttr(argument.getArgNumber(), "dl.state"))
      add(model.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "dl.name"), argument);
  for (auto [index, result] : llvm::enumerate(model.front().getTerminator()->getOperands()))
    if (!model.getResultAttr(index, "dl.state") && !model.getResultAttr(index, "dl.count"))
      add(model.getResultAttrOfType<StringAttr>(index, "dl.name"), result);
  return values;
}

static bool isDimOrDtype(StringRef name, ModuleOp module) {
  return dl::dtypeNamed(name, module.getContext()) ||
         llvm::any_of(dl::symbolsOf(module),
                      [&](dl::SymbolAttr symbol) { return symbol.getName() == name; });
}

int makeLoss(const TrainingOptions &text, func::FuncOp model, Snippet &snippet, LossInputs &used) {
  llvm::MapVector<StringRef, Value> values = valuesOf(model);
  for (auto [name, value] : values) {
    snippet.inputs.push_back({name.str(), dl::text(value)});
    used.values.push_back(value);
  }
  llvm::StringMap<std::string> given;
  for (const std::string &target : text.targets) {
    auto [name, type] = StringRef(target).split(':');
    if (!isIdentifier(name.trim()) || type.trim().empty())
      return fail(kUsage, "--target " + quote(target) +
                              " is no name and type; expected such as 'labels: i64[N]'");
    given[name.trim()] = type.trim().str();
  }
  std::vector<std::string> expressions{text.loss};
  expressions.insert(expressions.end(), text.metrics.begin(), text.metrics.end());
  llvm::StringSet<> known;
  auto module = model->getParentOfType<ModuleOp>();
  for (const std::string &expression : expressions)
    for (const Use &use : valuesIn(expression)) {
      if (values.contains(use.name) || isDimOrDtype(use.name, module) ||
          !known.insert(use.name).second)
        continue;
      auto first = values.find(use.first);
      if (!given.contains(use.name) && first == values.end()) {
        SmallVector<StringRef> names =
            llvm::map_to_vector(values, [](auto &entry) { return entry.first; });
        return fail(kUsage, "--loss: " + quote(use.name) +
                                " is no input or output of the model, '" +
                                llvm::join(names, "', '") + "', and its type is not known" +
                                frontend::didYouMean(use.name, names) +
                                "; a target has one by --target '" + use.name.str() + ": f32[N]'");
      }
      bool isGiven = given.contains(use.name);
      used.targets.push_back(
          {use.name.str(), isGiven ? given.lookup(use.name) : typeOfTarget(use, first->second)});
      if (!isGiven && takesClasses(use.function))
        noteClasses(use, first->second, used);
    }
  for (auto &entry : given)
    if (!known.contains(entry.getKey()))
      return fail(kUsage,
                  "--target names '" + entry.getKey().str() + "', which the loss does not read");
  snippet.inputs.insert(snippet.inputs.end(), used.targets.begin(), used.targets.end());
  for (auto [index, expression] : llvm::enumerate(expressions)) {
    std::string name = index == 0 ? "loss" : StringRef(expression).split('(').first.trim().str();
    while (llvm::any_of(snippet.inputs, [&](auto &input) { return input.name == name; }) ||
           llvm::any_of(snippet.outputs, [&](auto &output) { return output.name == name; }))
      name += "_";
    snippet.outputs.push_back({name, "f32[]"});
    snippet.statements.push_back(name + " = " + expression);
  }
  return kOk;
}

} // namespace dlc
