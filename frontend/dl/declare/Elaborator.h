//===- Elaborator.h - Makes the layers of a model -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to Elaborate.cpp (members, loops, blocks) and ElaborateLayers.cpp (layers that are no
// blocks).
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_DL_DECLARE_ELABORATOR_H
#define DLC_FRONTEND_DL_DECLARE_ELABORATOR_H

#include "frontend/dl/declare/Elaborate.h"

namespace dlc::frontend {

/// Expands declarations into instances and layers, for elaborate().
class Elaborator {
public:
  Elaborator(Model &model, const llvm::StringMap<const BlockDecl *> &blocks,
             Diagnostics &diagnostics, mlir::MLIRContext *context)
      : model(model), blocks(blocks), diagnostics(diagnostics), context(context) {}

  Instance &makeInstance(const BlockDecl &decl, const LayerDecl *site, Instance *parent,
                         llvm::StringRef path);
  /// Gives the parameters of the instance their values, from `passed` or the defaults.
  bool bindParameters(Instance &instance, llvm::ArrayRef<PassedArgument> passed);
  void addMembers(Instance &instance, llvm::ArrayRef<MemberPtr> members, Scope &scope);

private:
  void addState(Instance &instance, const StateDecl &decl, Scope &scope);
  void addConstant(Instance &instance, const ConstDecl &decl, Scope &scope);
  void addLoop(Instance &instance, const LoopMember &loop, Scope &scope);
  void addBranch(Instance &instance, const BranchMember &branch, Scope &scope);
  /// `loop` counts the loops of the declaration that have been entered.
  void addLayers(Instance &instance, const LayerDecl &decl, Scope &scope, size_t loop);
  void addLayer(Instance &instance, const LayerDecl &decl, const Scope &scope);
  std::optional<std::string> pathOf(const LayerDecl &decl, Evaluator &evaluator);
  bool checkPath(Instance &instance, const LayerDecl &decl, llvm::StringRef whole);
  void addBlock(Instance &instance, const LayerDecl &decl, const BlockDecl &block,
                llvm::StringRef name, llvm::StringRef whole, llvm::ArrayRef<PassedArgument> passed);
  void addChild(Instance &instance, llvm::StringRef name, LayerRef ref);
  bool checkRecursion(Instance &instance, const LayerDecl &decl, const BlockDecl &block);
  void addLeaf(Instance &instance, const LayerDecl &decl, llvm::StringRef name,
               llvm::StringRef whole, llvm::ArrayRef<PassedArgument> passed, bool isPoisoned);
  void reportUnknown(const LayerDecl &decl);
  void addWeights(Layer &layer);
  void addParameter(Layer &layer, llvm::ArrayRef<PassedArgument> passed);
  void note(const Layer &layer);
  bool isOver() const { return diagnostics.isFull() || model.budget.isSpent() || isTooLarge; }

  Model &model;
  const llvm::StringMap<const BlockDecl *> &blocks;
  Diagnostics &diagnostics;
  mlir::MLIRContext *context;
  llvm::DenseMap<llvm::StringRef, const LayerDecl *> declared; // by whole path
  llvm::DenseSet<const LayerDecl *> repeated;
  llvm::DenseSet<const StateDecl *> repeatedStates;
  unsigned depth = 0;
  bool isTooLarge = false;
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_DECLARE_ELABORATOR_H
