//===- Hints.h - What PyTorch's and Keras's ways of writing are called here ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// People bring habits along. Each function takes a word that is unknown here and says what to write
// instead, as the end of a message: "; write ...". Empty where nothing is known of the word.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_DL_SYNTAX_HINTS_H
#define DLC_FRONTEND_DL_SYNTAX_HINTS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace dlc::frontend {

/// For a kind of layer: "nn.Conv2d", "Dense", "Sequential". `isKnown` says whether there is a kind
/// of that name.
std::string hintForLayer(llvm::StringRef name, llvm::function_ref<bool(llvm::StringRef)> isKnown);

/// For what is called: "self.conv1", "F.relu", "torch.cat". `isKnown` says whether there is a
/// function of that name.
std::string hintForCall(llvm::StringRef name, llvm::function_ref<bool(llvm::StringRef)> isKnown);

/// A whole message about a name that PyTorch has and the language lacks, with or without its
/// module: "torch.cdist", "F.ctc_loss", "nn.LPPool2d". Empty of others. `isKnown` says whether the
/// language has the name after all.
std::string describeLacking(llvm::StringRef name,
                            llvm::function_ref<bool(llvm::StringRef)> isKnown);

/// Whether PyTorch has a function or method, or a kind of layer, of that name, which stands without
/// its module; of those that the language had, too, when the list was written it is not told.
bool isTorchFunction(llvm::StringRef name);
bool isTorchLayer(llvm::StringRef name);

/// For a name that is used as a value: "self.scale", "TRUE".
std::string hintForValue(llvm::StringRef name);

/// For a dtype: "float32", "torch.half", "int".
std::string hintForDtype(llvm::StringRef name);

/// A whole message about characters that are not ASCII and stand outside of strings and comments:
/// their code points, and what to write where they look like something else. `text` is UTF-8, or is
/// said not to be.
std::string describeStray(llvm::StringRef text);

/// For the word or sign with which a declaration, member or statement begins: "def", "class",
/// "import", "//", "self.fc".
std::string hintForStart(llvm::StringRef word);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_SYNTAX_HINTS_H
