//===- FunctionCalls.cpp - Calls of functions ------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/dl/FunctionCalls.h"

using namespace mlir;

namespace dlc::frontend {

Item FunctionCalls::call(StringRef callee, llvm::SMLoc loc, ArrayRef<PassedArgument> arguments) {
  std::optional<BindError> problem;
  for (const Signature *signature : signaturesOf(callee)) {
    auto bound = bindArguments(callee, loc, signature->params, arguments);
    if (auto *good = std::get_if<BoundArguments>(&bound))
      return emitter.emit(diagnostics.translate(loc), *signature, *good).at(loc);
    if (!problem)
      problem = std::get<BindError>(bound);
  }
  assert(problem && "a call of a function that does not exist");
  diagnostics.error(problem->loc.isValid() ? problem->loc : loc) << problem->message;
  return {Item::Poison(), loc};
}

Item FunctionCalls::call(StringRef callee, llvm::SMLoc loc, ArrayRef<Item> positional,
                         ArrayRef<Named> named) {
  SmallVector<PassedArgument> arguments;
  for (const Item &item : positional)
    arguments.push_back({{}, loc, item});
  for (const auto &[keyword, item] : named)
    arguments.push_back({keyword, loc, item});
  if (llvm::any_of(arguments,
                   [](const auto &argument) { return argument.value.template is<Item::Poison>(); }))
    return {Item::Poison(), loc};
  return call(callee, loc, arguments);
}

} // namespace dlc::frontend
