//===- Sema.h - What the declarations of a file mean --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_EVALUATE_SEMA_H
#define DLC_FRONTEND_DL_EVALUATE_SEMA_H

#include "frontend/dl/declare/Layers.h"
#include "frontend/dl/evaluate/Evaluator.h"
#include "frontend/dl/syntax/AST.h"
#include "ir/analysis/GivenShapes.h"
#include "ir/dl/base/DerivedSize.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/StringSaver.h"

namespace dlc::frontend {

/// The range of a dim without one: `dim N`.
inline constexpr int64_t kDefaultDimMin = 1, kDefaultDimMax = 65536;
/// The limit of the numbers that sizes are computed from.
inline constexpr int64_t kMostSize = int64_t(1) << 40;

/// A symbolic dim of the module. Its range and usual size are the symbol's; the name belongs to
/// `step` times the symbol plus `offset`.
struct Symbol {
  llvm::StringRef name;
  llvm::SMLoc loc;
  int64_t min, max;
  mlir::AffineExpr most = {}; // of a counted one (#dl.symbol); else null
  int64_t usual = 0;          // the size to be fast for; 0: none is told
  int64_t step = 1, offset = 0;
  dl::DerivedAttr derived = {}; // of a symbol that is computed from others; else null
  std::string why = {};         // where the range or the step comes from; empty: from the text
  bool isRead = false;          // an op says what it is while the model runs (#dl.symbol)

  int64_t sizeAt(int64_t value) const { return step * value + offset; }
};

/// Writes the model's symbols into the module, where messages find their names. The range of a
/// counted one follows from its most.
void declareSymbols(mlir::ModuleOp module, llvm::ArrayRef<Symbol> symbols);

/// A weight that the model needs.
struct Parameter {
  std::string path = {};      // "layer1.0.conv1.weight"
  std::string leaf = {};      // "weight"
  std::string parameter = {}; // of the layer's function, that takes it
  llvm::SmallVector<int64_t> shape = {};
  llvm::SMLoc loc = {};  // of its layer
  mlir::Type dtype = {}; // that it must have; null: any float
};

/// A declared layer.
struct Layer {
  llvm::StringRef path; // whole: "encoder.layer.0.attention.self.query"
  const LayerDecl *decl = nullptr;
  const LayerKind *kind = nullptr; // null: an error has been reported
  std::vector<Param> params;
  BoundArguments arguments;
  std::vector<Parameter> weights;
  Instance *parent = nullptr;
  bool isCalled = false;
};

/// A tensor that a context keeps from run to run. All are zero at first.
struct State {
  llvm::StringRef path; // "layer.0.attention.k"
  llvm::SMLoc loc;
  mlir::RankedTensorType type; // null: an error has been reported
  mlir::Value value = {};      // what it holds at this place of forward
  bool isAssigned = false;
};

/// The model itself, or a block that a layer declaration makes: its compile-time names and its
/// layers.
struct Instance {
  const BlockDecl *decl = nullptr;
  const LayerDecl *site = nullptr; // null for the model
  llvm::StringRef path;            // empty for the model
  Instance *parent = nullptr;
  Scope scope;
  /// By their names in the block.
  llvm::MapVector<llvm::StringRef, LayerRef> children;
  /// Children whose names end in a number, keyed by the prefix: `encoder.layer` for
  /// `encoder.layer.0`.
  llvm::DenseMap<llvm::StringRef, std::vector<LayerRef>> groups;
  /// What the names of children begin with, up to each of their dots.
  llvm::DenseSet<llvm::StringRef> prefixes;
  llvm::MapVector<llvm::StringRef, size_t> states; // by name: positions in Model::states
  bool isBroken = false; // an error has been reported: its parameters have no values
  bool isCalled = false;
};

/// A model whose declarations have been checked. Strings point into the source, or belong to the
/// model.
struct Model {
  Identifier name;
  llvm::ArrayRef<WeightsDecl> weights;
  std::vector<Symbol> symbols;
  std::unique_ptr<Scope> scope = std::make_unique<Scope>(); // of the file
  /// The model and all instances of blocks, each after its parent. Empty after an error.
  std::vector<std::unique_ptr<Instance>> instances;
  /// All layers that are no blocks, by their whole paths.
  llvm::MapVector<llvm::StringRef, Layer> layers;
  std::vector<State> states;
  std::optional<size_t> generator; // of random numbers: the position of the state; none without
  llvm::SmallVector<mlir::RankedTensorType> inputs,
      outputs; // null where an error has been reported
  /// Where the model is a list of Keras's layers, in place of instances.
  const SequentialDecl *sequential = nullptr;
  std::vector<std::unique_ptr<LayerDecl>> sequentialLayers;
  /// Tensors that checkpoints may hold beside the parameters.
  std::vector<std::string> trainingState;
  Budget budget;
  std::unique_ptr<llvm::BumpPtrAllocator> strings = std::make_unique<llvm::BumpPtrAllocator>();

  Instance &root() const { return *instances.front(); }
  llvm::StringRef save(const llvm::Twine &text) { return llvm::StringSaver(*strings).save(text); }
};

/// Sizes of declared dims that take the place of their ranges, by the dims' names.
using GivenSizes = llvm::StringMap<SymbolSizes>;

/// Checks the declarations of the model `name` of `file`, or of its only model if `name` is empty.
/// Dims, constants and blocks of `included` count as declared in `file`. Every error is reported.
/// Returns nullopt if `file` has no model that later steps can use.
/// `module`, which the model will become, gets its dims as they are declared.
std::optional<Model> analyze(const SourceFile &file, llvm::ArrayRef<const SourceFile *> included,
                             llvm::StringRef name, const GivenSizes &sizes,
                             Diagnostics &diagnostics, mlir::ModuleOp module);

/// The sizes that `shapes` give to the dims of the model that analyze would give, which need no
/// more of it than its dims and inputs: the rest may be wrong for other sizes. Nothing, reported,
/// where they contradict the inputs. Errors of the text itself are left to analyze.
std::optional<GivenSizes> sizesOf(const SourceFile &file,
                                  llvm::ArrayRef<const SourceFile *> included, llvm::StringRef name,
                                  const GivenShapes &shapes, const llvm::SourceMgr &sources,
                                  mlir::MLIRContext *context);

/// The type of an input or output, 1 in place of dims of `?`; null after an error, which has been
/// reported.
mlir::RankedTensorType portType(const Port &port, Evaluator &evaluator,
                                llvm::ArrayRef<Symbol> symbols, Diagnostics &diagnostics,
                                mlir::MLIRContext *context);

/// Declares a name of compile time. Reports where it is a dtype, or known already; `mayHide` where
/// it is known further out. `what` is for the error.
void declare(Scope &scope, llvm::StringRef what, const Identifier &name, Item item,
             Diagnostics &diagnostics, mlir::MLIRContext *context, bool mayHide = false);

/// Whether a tensor of the type is small enough at the upper end of its symbols' ranges; reports at
/// `loc` if not. It fails for dims of more than kMaxDimOperations and for more than 64 dims, too.
/// The report shows dims by `names`.
bool checkSize(mlir::RankedTensorType type, llvm::ArrayRef<Symbol> symbols, mlir::Location loc,
               dl::SymbolNames names);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_EVALUATE_SEMA_H
