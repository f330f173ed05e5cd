//===- Arguments.h - Arguments of a call and the parameters that they are for -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_LOWER_ARGUMENTS_H
#define DLC_FRONTEND_DL_LOWER_ARGUMENTS_H

#include "frontend/dl/evaluate/Item.h"
#include "frontend/dl/syntax/Diagnostics.h"
#include "ir/OpTable.h"

#include <optional>

namespace dlc::frontend {

/// An argument whose expression has been evaluated.
struct PassedArgument {
  llvm::StringRef keyword; // empty: positional
  llvm::SMLoc loc;         // of the keyword or the value
  Item value;
};

/// One item for each parameter; nothing where the default holds.
using BoundArguments = llvm::SmallVector<std::optional<Item>, 6>;

/// An error that is not reported yet: another way of calling may fit.
struct BindError {
  llvm::SMLoc loc;
  std::string message;
  /// The end of the message, where this way of calling is for that value of the argument alone.
  std::string constant = {};
};

/// Distributes `arguments` over `params` as Python does, and converts each to its parameter's type:
/// a number to int[n] or float, a dim to SymInt. A list parameter also takes several positional
/// arguments (`permute(x, 0, 2, 1)`). `callee` and `loc` are for errors about the whole, `names`
/// for the dims that they show.
std::variant<BoundArguments, BindError> bindArguments(llvm::StringRef callee, llvm::SMLoc loc,
                                                      llvm::ArrayRef<Param> params,
                                                      llvm::ArrayRef<PassedArgument> arguments,
                                                      dl::SymbolNames names);

/// A constant as schemas write it: "1", "1e-05", "True", "'zeros'", "[]", "None"; nothing where it
/// is a name.
std::optional<Item> literal(llvm::StringRef text);

/// What holds where an argument is left out: the default in the form of the parameter's type;
/// Item::None where there is none.
Item defaultItem(const Param &param);

/// The attribute that stands for a converted argument of a parameter that is no tensor.
mlir::Attribute attributeOf(const Param &param, const Item &item, mlir::MLIRContext *context);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_LOWER_ARGUMENTS_H
