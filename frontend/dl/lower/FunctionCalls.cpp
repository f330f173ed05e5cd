//===- FunctionCalls.cpp - Calls of functions ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/lower/FunctionCalls.h"

#include "frontend/dl/lower/TorchCalls.h"

using namespace mlir;

namespace dlc::frontend {

/// The error of the way of calling that the arguments were meant for: the one that takes most of
/// them, else the first. Where an argument has none of the values that tell the ways apart, they
/// are listed.
static BindError problemOf(std::vector<BindError> problems) {
  assert(!problems.empty() && "a call of a function that does not exist");
  BindError *chosen = nullptr;
  for (BindError &problem : problems)
    if (!chosen || (chosen->constant.empty() == problem.constant.empty()
                        ? std::less()(chosen->loc.getPointer(), problem.loc.getPointer())
                        : problem.constant.empty()))
      chosen = &problem;
  if (chosen->constant.empty())
    return std::move(*chosen);
  StringRef head = chosen->message;
  head.consume_back(chosen->constant);
  llvm::SmallVector<StringRef> constants;
  for (const BindError &problem : problems)
    if (StringRef(problem.message).starts_with(head) &&
        !llvm::is_contained(constants, problem.constant))
      constants.push_back(problem.constant);
  std::string message = head.str();
  for (auto [position, constant] : llvm::enumerate(constants))
    message += ((position == 0                      ? ""
                 : position + 1 == constants.size() ? " or "
                                                    : ", ") +
                constant)
                   .str();
  return {chosen->loc, std::move(message)};
}

Item FunctionCalls::call(StringRef callee, llvm::SMLoc loc, ArrayRef<PassedArgument> arguments,
                         bool isMethod) {
  std::vector<BindError> problems;
  auto signatures = library ? functionSignatures(callee) : signaturesOf(callee);
  for (const Signature *signature : waysOfCalling(signatures, isMethod)) {
    auto bound = bindArguments(callee, loc, signature->params, arguments, diagnostics.module);
    if (auto *good = std::get_if<BoundArguments>(&bound)) {
      if (const LibraryFunction *function = libraryFunctionOf(*signature))
        return library(*function, *good, loc);
      return emitCall(emitter, diagnostics.translate(loc), *signature, std::move(*good)).at(loc);
    }
    problems.push_back(std::move(std::get<BindError>(bound)));
  }
  BindError problem = problemOf(std::move(problems));
  diagnostics.error(problem.loc.isValid() ? problem.loc : loc) << problem.message;
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
