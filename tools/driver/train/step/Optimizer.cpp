//===- Optimizer.cpp - How weights follow from their gradients ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/train/step/Optimizer.h"

#include "frontend/Spelling.h"
#include "tools/driver/base/Output.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <optional>

using namespace llvm;

namespace dlc {

namespace {
struct OptimizerRow {
  StringRef name;     // PyTorch's
  StringRef function; // of the library
  StringRef lr;       // PyTorch's default; empty: it must be given
  ArrayRef<StringRef> states;
  bool countsSteps;
  StringRef argument; // the row is for calls that have it; empty: any
};
} // namespace

static ArrayRef<OptimizerRow> optimizers() {
  static const StringRef kMoments[] = {"exp_avg", "exp_avg_sq"}, kAverage[] = {"exp_avg"},
                         kSquares[] = {"square_avg"}, kDeltas[] = {"square_avg", "acc_delta"},
                         kMomentum[] = {"momentum_buffer"}, kSum[] = {"sum"};
  static const OptimizerRow rows[] = {{"Adam", "adam", "0.001", kMoments, true, ""},
                                      {"AdamW", "adamw", "0.001", kMoments, true, ""},
                                      {"SGD", "sgd", "0.001", kMomentum, true, "momentum"},
                                      {"SGD", "sgd", "0.001", {}, false, ""},
                                      {"RMSprop", "rmsprop", "0.01", kSquares, false, ""},
                                      {"Adagrad", "adagrad", "0.01", kSum, true, ""},
                                      {"Adadelta", "adadelta", "1.0", kDeltas, false, ""},
                                      {"Lion", "lion", "0.0001", kAverage, false, ""}};
  return rows;
}

/// What follows a name in the text, spaces apart; nullopt where it is not there.
static std::optional<StringRef> behind(StringRef text, StringRef name) {
  auto isPart = [](char c) { return isAlnum(c) || c == '_'; };
  for (size_t at = text.find(name); at != StringRef::npos; at = text.find(name, at + 1)) {
    StringRef rest = text.substr(at + name.size());
    if ((at == 0 || !isPart(text[at - 1])) && (rest.empty() || !isPart(rest.front())))
      return rest.ltrim();
  }
  return std::nullopt;
}

/// Whether the text of arguments gives the one of this name.
static bool gives(StringRef arguments, StringRef name) {
  auto rest = behind(arguments, name);
  return rest && rest->starts_with("=");
}

int Optimizer::parse(StringRef call) {
  auto [name, rest] = call.trim().split('(');
  name = name.rtrim();
  if (call.contains('(') && !rest.consume_back(")"))
    return fail(kUsage, "--optimizer " + frontend::quote(call) + " lacks its ')'");
  arguments = rest.trim().str();
  for (const OptimizerRow &row : optimizers()) {
    if (row.name != name || (!row.argument.empty() && !gives(arguments, row.argument)))
      continue;
    function = row.function;
    states = row.states;
    counts = row.countsSteps;
    isScheduled = behind(arguments, "step").has_value();
    if (!gives(arguments, "lr"))
      arguments = "lr=" + row.lr.str() + (arguments.empty() ? "" : ", ") + arguments;
    return kOk;
  }
  SmallVector<StringRef> names;
  for (const OptimizerRow &row : optimizers())
    if (!is_contained(names, row.name))
      names.push_back(row.name);
  return fail(kUsage, "--optimizer " + frontend::quote(name) + " is not known; dlc has " +
                          join(names, ", ") + frontend::didYouMean(name, names));
}

std::string Optimizer::call(StringRef param, StringRef grad, ArrayRef<std::string> held) const {
  std::string text = function + "(" + param.str() + ", " + grad.str();
  for (const std::string &state : held)
    text += ", " + state;
  return text + (counts ? ", step, " : ", ") + arguments + ")";
}

} // namespace dlc
