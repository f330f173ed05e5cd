//===- Elaborate.h - The layers that the declarations of a model make ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_DECLARE_ELABORATE_H
#define DLC_FRONTEND_DL_DECLARE_ELABORATE_H

#include "frontend/dl/evaluate/Sema.h"

namespace dlc::frontend {

/// Layers and instances of blocks in one model, its states, how deep blocks may stand in blocks,
/// and the length of a layer's name: small files can ask for much.
inline constexpr size_t kMaxLayers = 16384, kMaxStates = 4096, kMaxBlockDepth = 64,
                        kMaxPathBytes = 1024;
/// How deep blocks and loops of layers may stand in each other: protects the stack.
inline constexpr unsigned kMaxMemberDepth = 1024;

/// The blocks of all files by name. Reports those that have the name of another, or of a kind of
/// layer.
void collectBlocks(const SourceFile &file, llvm::ArrayRef<const SourceFile *> included,
                   llvm::StringMap<const BlockDecl *> &blocks, Diagnostics &diagnostics);

/// Makes the instances and layers of `decl` in `model`: parameters and constants are evaluated,
/// loops unrolled, blocks expanded. Every error is reported; a layer that has one has no kind.
void elaborate(Model &model, const BlockDecl &decl,
               const llvm::StringMap<const BlockDecl *> &blocks, Diagnostics &diagnostics,
               mlir::MLIRContext *context);

/// Distributes `arguments` over `names` as Python does; null for a name that gets none. An error
/// shows dims by `symbols`.
std::variant<llvm::SmallVector<const PassedArgument *>, BindError>
bindByName(llvm::StringRef callee, llvm::ArrayRef<llvm::StringRef> names,
           llvm::ArrayRef<PassedArgument> arguments, dl::SymbolNames symbols);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_DECLARE_ELABORATE_H
