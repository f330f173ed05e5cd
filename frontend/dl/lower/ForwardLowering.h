//===- ForwardLowering.h - The evaluator of forward ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to Lower.cpp (the function, statements), control/Branches.cpp, control/Loops.cpp,
// Names.cpp, Calls.cpp, Methods.cpp, BlockCalls.cpp, LibraryCalls.cpp, Subscripts.cpp and
// TensorLiteral.cpp.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_DL_LOWER_FORWARDLOWERING_H
#define DLC_FRONTEND_DL_LOWER_FORWARDLOWERING_H

#include "frontend/dl/lower/LayerCalls.h"
#include "frontend/dl/lower/control/AssignedNames.h"
#include "frontend/dl/lower/control/Regions.h"

#include <map>

namespace dlc::frontend {

/// Ops in one model: small files can ask for many.
inline constexpr size_t kMaxOps = 32768;

/// Evaluates the statements of `forward`, building ops as it goes. A call of a block evaluates the
/// block's own forward.
class ForwardLowering : public Evaluator {
public:
  ForwardLowering(Model &model, const BoundWeights &weights, Diagnostics &diagnostics,
                  mlir::ModuleOp module)
      : Evaluator(diagnostics, module.getContext(), model.root().scope, model.budget), model(model),
        builder(module.getContext(), &listener), emitter(builder, model.symbols, module),
        regions(emitter, builder, model.symbols, module),
        functions(emitter, diagnostics, libraryCall()),
        layers(builder, emitter, weights, diagnostics, libraryCall()), module(module) {}

  void run(CountedSizes &counted);

protected:
  Item evaluateName(const NameExpr &expr) override;
  Item evaluateCall(const CallExpr &expr) override;
  Item evaluateSubscript(const SubscriptExpr &expr) override;
  Item evaluateAttribute(const AttributeExpr &expr) override;
  Item applyToTensor(UnaryOp op, const Item &operand, llvm::SMLoc loc) override;
  Item combineTensors(BinaryOp op, const Item &lhs, const Item &rhs, llvm::SMLoc loc) override;
  bool hasTensors() const override { return true; }
  Item chooseByTensor(const ConditionalExpr &expr, const Item &condition) override;

private:
  struct Binding {
    Item item;
    llvm::SMLoc loc;
    llvm::SmallVector<llvm::SMLoc, 0> others = {}; // that assign to it too, in branches and loops
  };
  using Values = llvm::MapVector<llvm::StringRef, Binding>;
  /// Why a name has no value after a branch or loop, in words that follow the name.
  struct Lost {
    std::string why;
    llvm::SMLoc loc; // of the branch or loop
  };
  /// One evaluation of a forward.
  struct Frame {
    Instance *instance;
    Values values;
    bool isLibrary = false; // of a function of the library
    bool hasFailed = false; // the function has reported an error
    llvm::MapVector<llvm::StringRef, Lost> lost = {};
  };
  /// A value by the place that assigns to it, however often it does.
  struct Usage {
    llvm::StringRef name;
    llvm::SMLoc loc;
    bool isUsed = false;
  };
  /// A name with dots and indices below an instance.
  struct LayerPath {
    Instance *instance;
    std::string text;
  };
  /// Counts ops, marks those that shall not be fused, and adds to locations the layer that is
  /// called.
  struct OpListener : mlir::OpBuilder::Listener {
    size_t count = 0;
    std::string layer;    // its path; empty outside of layers
    unsigned unfused = 0; // statements and layers with @no_fuse around
    void notifyOperationInserted(mlir::Operation *op,
                                 mlir::OpBuilder::InsertPoint previous) override;
  };
  /// What annotations ask for, while it lives.
  class Annotated;

  //===- Statements ---------------------------------------------------------------------------===//
  void runStatements(llvm::ArrayRef<StatementPtr> body);
  void runAssign(const AssignStatement &statement);
  void runLoop(const LoopStatement &loop);
  void runWhile(const WhileStatement &loop);
  void assign(const Target &target, Item item);
  void assign(const Identifier &name, Item item);
  /// Makes the states of the frame's instance values of it.
  void bindStates();
  /// A state has a new value from here on.
  void setState(State &state, const Item &item, llvm::SMLoc loc);
  Item outputOf(const Port &port, mlir::RankedTensorType declared, bool isTyped);
  void checkStates();
  bool isOver();
  void warnUnused();
  void warnUncalled();
  void warnUnusedParameters();

  //===- Branches and loops that depend on data -----------------------------------------------===//
  using Arms = llvm::ArrayRef<BranchStatement::Arm>;
  struct RunningLoop;
  struct Carried;
  struct Pairs;
  void runBranch(const BranchStatement &branch) { runArms(branch.arms, branch.loc); }
  void runArms(Arms arms, llvm::SMLoc loc);
  void runTakenArm(mlir::Value condition, Arms arms, llvm::SMLoc loc);
  /// One bool, as a tensor without dims; null, reported, where the item is none.
  mlir::Value conditionTensor(const Item &item, llvm::SMLoc loc);
  /// Whether a value that is `a` or `b` is one for the ops after it.
  bool areAlike(const Item &a, const Item &b);
  /// What `a` is, computed by the first branch of `draft`, or `b`, by the second. The items are
  /// alike.
  std::optional<Item::List> joinBranches(dl::IfOp draft, size_t firstSymbol, const Item::List &a,
                                         const Item::List &b);
  /// Whether both are the same value.
  static bool areSame(const Item &a, const Item &b);
  void poisonAll(const AssignedNames &assigned);
  /// A `for` over a range.
  void runRange(const LoopStatement &loop);
  /// A bound of a range that the model computes, as a tensor<i64>; null after an error.
  mlir::Value boundOf(const Item &item);
  void runSteps(RunningLoop &loop, const Item &first);
  void planCarried(RunningLoop &loop);
  mlir::Value startLoop(RunningLoop &loop, const Item &first,
                        llvm::SmallVectorImpl<mlir::Value> &initial);
  std::optional<llvm::SmallVector<mlir::Value>>
  runStep(RunningLoop &loop, mlir::Value step, llvm::ArrayRef<mlir::BlockArgument> arguments);
  std::optional<llvm::SmallVector<mlir::Value>>
  tryStep(RunningLoop &loop, mlir::Value step, llvm::ArrayRef<mlir::BlockArgument> arguments);
  void nextOf(RunningLoop &loop, Carried &carried, const Item &initial, const Item &inside,
              const Item &next, llvm::SmallVectorImpl<mlir::Value> &yielded);
  void endLoop(RunningLoop &loop, llvm::ArrayRef<mlir::Value> results);
  /// A tensor of the item, a number or a dim of `dtype`.
  mlir::Value tensorOf(const Item &item, mlir::Type dtype, llvm::SMLoc loc);
  /// Reports that a name has no value after a branch or loop; false where it is not so.
  bool reportLost(llvm::StringRef name, llvm::SMLoc loc);
  void dropUnusedResults(mlir::func::FuncOp function);

  //===- Names --------------------------------------------------------------------------------===//
  /// A local value, which counts as used; null where there is none.
  const Binding *useValue(llvm::StringRef name);
  std::optional<LayerPath> pathOf(const Expr &expr, bool isCallee = false);
  std::optional<LayerRef> findLayer(Instance &instance, llvm::StringRef path);
  /// A weight, or a list of layers. Nothing where the name is of neither.
  std::optional<Item> evaluatePath(const Expr &expr);
  std::optional<Item> weightAt(const LayerPath &path, llvm::SMLoc loc);
  Item attributeOf(const Item &item, llvm::StringRef name, llvm::StringRef spelled,
                   llvm::SMLoc loc);
  Item unknownName(const NameExpr &expr);
  std::optional<Item> valueWithAttributes(llvm::StringRef name, llvm::SMLoc loc);
  void mentionValue(llvm::StringRef name, const Binding &binding);

  //===- Calls --------------------------------------------------------------------------------===//
  Item call(llvm::StringRef callee, llvm::SMLoc loc, llvm::ArrayRef<PassedArgument> arguments,
            bool isMethod = false);
  Item callFunction(llvm::StringRef name, const CallExpr &expr,
                    llvm::ArrayRef<PassedArgument> arguments, bool good, bool isMethod = false);
  /// `name` of a tensor, to be called: `x.name(...)`.
  struct Method {
    llvm::StringRef name;
    Item receiver;
  };
  /// The method that `callee` is; nothing where it names a function or a layer.
  std::optional<Method> methodOf(const Expr &callee);
  Item callMethod(const Method &method, const CallExpr &expr,
                  llvm::ArrayRef<PassedArgument> arguments, bool good);
  Item callSize(llvm::SMLoc loc, llvm::ArrayRef<PassedArgument> arguments);
  Item callDimOf(llvm::SMLoc loc, llvm::ArrayRef<PassedArgument> arguments);
  Item callDerived(const CallExpr &expr);
  Item callHead(llvm::StringRef name, llvm::SMLoc loc, llvm::ArrayRef<PassedArgument> arguments);
  /// `tensor([[1, 2], [3, 4]])`: numbers that are written out.
  Item callTensor(llvm::SMLoc loc, llvm::ArrayRef<PassedArgument> arguments);
  /// Whether the statements at work may call a function by this name.
  bool isKnownFunction(llvm::StringRef name) const;
  /// Evaluates the body of a function of the library.
  Item callLibrary(const LibraryFunction &function, const BoundArguments &arguments,
                   llvm::SMLoc loc);
  FunctionCalls::LibraryCall libraryCall() {
    return [this](const LibraryFunction &function, const BoundArguments &arguments,
                  llvm::SMLoc loc) { return callLibrary(function, arguments, loc); };
  }
  llvm::ArrayRef<StatementPtr> bodyOf(const LibraryFunction &function);
  /// A function that only the library may call: isLibraryOnly holds for its name.
  Item callLibraryOnly(llvm::StringRef name, llvm::SMLoc loc,
                       llvm::ArrayRef<PassedArgument> arguments);
  Item callFail(llvm::SMLoc loc, llvm::ArrayRef<PassedArgument> arguments);
  /// The model's generator, how many draws have been in this run, and the steps of the loops
  /// around.
  Item callDraw(llvm::SMLoc loc);
  /// The state that rand() and its like draw from, made where there is none; null, reported, where
  /// its name is taken.
  State *generatorAt(llvm::SMLoc loc);
  /// Counts the draws of this run in the generator.
  void advanceGenerator();
  Item callLayer(const LayerRef &ref, const CallExpr &expr,
                 llvm::ArrayRef<PassedArgument> arguments, bool good);
  Item callBlock(Instance &instance, const CallExpr &expr,
                 llvm::ArrayRef<PassedArgument> arguments);
  /// Finds what the call passes for each input of the block; null where the default holds.
  bool bindInputs(const Instance &instance, const CallExpr &expr,
                  llvm::ArrayRef<PassedArgument> arguments,
                  llvm::SmallVectorImpl<const PassedArgument *> &bound);
  /// Gives the inputs their values, in the frame of the block.
  bool assignInputs(const Instance &instance, llvm::ArrayRef<const PassedArgument *> bound);
  bool checkInput(const Port &port, Item &item, const Instance &instance);
  Item unknownCallee(const CallExpr &expr, llvm::StringRef name);
  void noteCall(const CallExpr &expr, Layer &layer, const Item &result);
  /// The tensors of floats in `item`, cast to `dtype`.
  Item castFloats(const Item &item, mlir::Type dtype);
  Item callOperator(llvm::StringRef function, llvm::SMLoc loc,
                    llvm::ArrayRef<PassedArgument> operands);
  llvm::StringRef guess(llvm::StringRef name);

  //===- Subscripts ---------------------------------------------------------------------------===//
  Item indexTensor(const Item &base, const SubscriptExpr &expr);
  mlir::Value slice(mlir::Value x, int64_t dim, const Index &index);
  mlir::Value everyOf(mlir::Value x, int64_t dim, std::optional<int64_t> step, llvm::SMLoc loc);
  mlir::AffineExpr computed(dl::SizeFunction function, llvm::ArrayRef<mlir::AffineExpr> dims,
                            llvm::SMLoc loc);
  mlir::AffineExpr placeOf(const Item &bound, mlir::AffineExpr size);
  mlir::Value part(mlir::Value x, int64_t dim, mlir::AffineExpr start, mlir::AffineExpr length,
                   llvm::SMLoc loc);
  mlir::Value sliceByDims(mlir::Value x, int64_t dim, const Item &start, const Item &stop,
                          llvm::SMLoc loc);
  mlir::Value select(mlir::Value x, int64_t dim, int64_t position, llvm::SMLoc loc);

  Model &model;
  OpListener listener;
  mlir::OpBuilder builder;
  OpEmitter emitter;
  Regions regions;
  FunctionCalls functions;
  LayerCalls layers;
  mlir::ModuleOp module;
  Frame *frame = nullptr;
  unsigned blockDepth = 0;
  unsigned stepDepth = 0;               // branches and loops around that depend on data
  llvm::SmallVector<mlir::Value> steps; // the numbers of the steps of the loops around
  int64_t draws = 0;                    // calls that draw random numbers
  /// The dtype that the statement at work computes in, and that of the first floats that it read;
  /// null without.
  mlir::Type precision, firstFloat;
  llvm::MapVector<const char *, Usage> usages;
  /// The statements of the library's functions that have been called.
  std::map<const LibraryFunction *, std::vector<StatementPtr>> libraryBodies;
  bool isTooLarge = false;
  bool hasRefusedGenerator = false; // its name is taken, which has been reported
};

/// True of `clone`, `detach` and `contiguous`, which give what they take.
bool keepsItsTensor(llvm::StringRef function);

/// Whether `name` is a function that answers the library about its arguments, which no model may
/// call.
bool isLibraryOnly(llvm::StringRef name);

/// The annotations of a layer or statement, taken apart.
struct Annotations {
  mlir::Type dtype; // null: as it comes
  bool noFuse = false;
  Annotations(llvm::ArrayRef<Annotation> list, mlir::MLIRContext *context);
};

class ForwardLowering::Annotated {
public:
  Annotated(ForwardLowering &lowering, const Annotations &annotations)
      : lowering(lowering), noFuse(annotations.noFuse) {
    lowering.listener.unfused += noFuse;
  }
  ~Annotated() { lowering.listener.unfused -= noFuse; }
  Annotated(const Annotated &) = delete;
  Annotated &operator=(const Annotated &) = delete;

private:
  ForwardLowering &lowering;
  bool noFuse;
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_LOWER_FORWARDLOWERING_H
