//===- Importer.h - From ONNX graphs to dl functions --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks the nodes in an order in which each value is made before it is used. What computes a node
// is said by the `onnx` line of a dl op's record (OpRules.h) or by a function of ops/; nodes over
// known numbers are folded (sizes/ShapeFolding.cpp).
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_ONNX_IMPORTER_H
#define DLC_FRONTEND_ONNX_IMPORTER_H

#include "frontend/Frontend.h"
#include "frontend/dl/lower/OpEmitter.h"
#include "frontend/onnx/Value.h"
#include "frontend/onnx/read/ModelFile.h"
#include "frontend/onnx/sizes/SolvedSymbols.h"

#include "ir/dl/DLOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <variant>

namespace dlc::onnx {

using frontend::Item;

/// A graph or a call of a function: its values, and what the attributes of the call say.
struct Frame {
  Frame *parent = nullptr; // of a subgraph: the graph that it stands in
  llvm::StringMap<Value> values;
  llvm::StringMap<const Attribute *> arguments; // of a function's call
  llvm::ArrayRef<Opset> opsets;
  std::string prefix;               // of the names of weights
  llvm::StringSet<> variables = {}; // names that a Gradient says are independent of others
  /// Its ops are in a block of their own: what it makes of values around it serves in it alone.
  bool isRegion = false;
};

class NodeImport;

/// How a model is imported, and what earlier attempts found out about it.
struct ImportAttempt {
  SolvedSymbols solved;
  bool readsSizes = false; ///< sizes that the data say are read, and not counted
  int64_t largestDim = frontend::kDefaultDimMax; ///< of a dim whose range nobody says
};

class Importer {
public:
  /// The newest opset that the rules were written for, and the oldest.
  static constexpr int64_t kOldestOpset = 1, kNewestOpset = 28;
  static constexpr unsigned kMaxCalls = 32;      // of functions within functions
  static constexpr int64_t kMaxSteps = 256;      // of a Loop or Scan, each of which is written out
  static constexpr int64_t kMostUnrolled = 8192; // nodes of its body in all steps
  static constexpr int64_t kMostRead = 65536;    // sizes that the running model says, at most
  static constexpr int64_t kMostElements = int64_t(1) << 40; // of all tensors of a sequence
  static constexpr size_t kCallsPerNode = 4;   // of functions of the language, on average
  static constexpr size_t kDerivedPerNode = 4; // ops that Gradients go through or make, on average

  /// `maxNodes`: see onnx::importModel. hasSolved tells that this attempt found out more than
  /// `attempt` held.
  Importer(ModelFile &file, const ImportOptions &options, mlir::ModuleOp module, size_t maxNodes,
           ImportAttempt &attempt);
  /// Builds `func.func @forward`. Every error has been reported.
  mlir::LogicalResult run();

  /// The numbers of a tensor, if it is small.
  std::optional<Known> numbersOf(const Tensor &tensor);
  std::optional<Known> numbersOf(frontend::ElementType type, llvm::ArrayRef<int64_t> shape,
                                 llvm::ArrayRef<uint8_t> bytes);
  frontend::OpEmitter &opEmitter() { return *emitter; }
  /// The program that made the file.
  llvm::StringRef producer() const { return file.model().producer; }

  /// Returns the size that `size` defines: a dim where the ranges of the symbols decide it, else a
  /// derived symbol, one for each definition. Null where the data say one of its symbols, its range
  /// is not known, or the model has too many symbols.
  mlir::AffineExpr derive(dl::DerivedAttr size);
  /// Looks for sizes that make `a` and `b` equal, for the reason `why`. Where some are found, they
  /// are noted, the rest of this attempt is void, and the result is true.
  bool solve(mlir::AffineExpr a, mlir::AffineExpr b, const std::string &why);
  /// Whether a tensor was refused that would fit if dims were smaller whose ranges nobody says.
  bool isTooLarge() const { return emitter && emitter->sawTooLarge; }
  /// Whether `dim` is a symbol that the running model reads.
  bool isRead(mlir::AffineExpr dim) const {
    auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(dim);
    return symbol && symbols[symbol.getPosition()].isRead;
  }
  /// A dl.while at the node: `build` makes its body, and returns whether the loop goes on (null
  /// without a condition), the next carried tensors and what is gathered. Sets the results. False
  /// after an error.
  using BuildBody = llvm::function_ref<std::optional<llvm::SmallVector<mlir::Value>>(
      mlir::Value step, llvm::ArrayRef<mlir::BlockArgument> carried)>;
  bool buildWhile(NodeImport &node, mlir::Value trips, mlir::Value condition,
                  llvm::ArrayRef<mlir::Value> initial, const BuildBody &build,
                  llvm::SmallVectorImpl<mlir::Value> &results);
  bool hasStates() const { return !states.empty(); }
  /// Whether sizes are counted that could be read.
  bool hasCounts() const { return emitter && emitter->countedSizes() > 0; }
  /// The model is to be imported again, with the symbols that were solved.
  bool hasSolved() const { return isSolved; }
  /// Whether `dim` is a symbol of the inputs, or a multiple of one.
  bool isOfInput(mlir::AffineExpr dim) const;

private:
  friend class NodeImport;

  struct State;

  bool checkHeader();
  bool readConstInputs();
  bool readStates();
  bool addState(llvm::StringRef input, llvm::StringRef output, std::optional<int64_t> capacity);
  void declareStates(mlir::func::FuncOp function);
  void checkSizeOf(const State &state, llvm::ArrayRef<mlir::Type> inputs);
  /// Appends the next values of the states to the results.
  void finishStates(mlir::func::FuncOp function, llvm::SmallVectorImpl<mlir::Value> &results);
  /// A state's next value has its dims, but for one, the symbol `past`, to which `step` is added.
  struct Growth {
    unsigned past;
    int64_t dim;
    mlir::AffineExpr step;
  };
  std::optional<Growth> growthOf(const State &state, mlir::RankedTensorType next) const;
  /// The state `generator`, made if there is none; null, reported, if its name is taken.
  mlir::Value generatorOf(NodeImport &node);
  /// The generator after the draws of a run.
  mlir::Value nextGenerator(mlir::Location loc);
  /// Positions that the caches shall hold: what the user says, or else what the model takes.
  /// Nothing, reported, where neither says it.
  std::optional<int64_t> capacityOf(mlir::func::FuncOp function, mlir::AffineExpr past,
                                    mlir::AffineExpr whole);
  /// States that grow become caches of a fixed size (Caches.cpp). False after an error.
  bool makeCaches(mlir::func::FuncOp function);
  bool isNextOfState(llvm::StringRef output) const;
  mlir::DictionaryAttr named(llvm::StringRef name);
  bool declareInputs(mlir::func::FuncOp function);
  mlir::RankedTensorType typeOf(const ValueInfo &info, const std::string &what);
  void readShapes();
  /// Narrows the symbols' ranges to the shapes that were given; false, reported, where these
  /// contradict the inputs.
  bool applyGivenShapes(mlir::func::FuncOp function);
  void declareSymbols();
  void narrowForNeeds(mlir::func::FuncOp function);
  /// Narrows the range of a symbol so that `size` is `least` or more, for the reason `why`; false
  /// where that cannot be, or what would change is a bound that the user gave.
  bool narrow(mlir::AffineExpr size, int64_t least, const std::string &why);
  void noteRanges();
  void note(const Solution &solution, const std::string &why);
  frontend::Symbol declaredSymbol(llvm::StringRef name, bool mayBeEmpty) const;
  mlir::AffineExpr symbolNamed(llvm::StringRef name, const std::string &fallback);
  /// A dim that is called "past + new" of dims that inputs have by themselves; null where it is
  /// called otherwise.
  mlir::AffineExpr sumNamed(llvm::StringRef name);
  /// Symbols that are the sizes of inputs along dims in which a Concat joins others to them: they
  /// may be 0.
  llvm::StringSet<> joinedSymbols() const;
  void declareInitializers(const Graph &graph, Frame &frame);
  bool importNodes(llvm::ArrayRef<Node> nodes, Frame &frame);
  void importNode(const Node &node, Frame &frame);
  /// Those values that a Gradient among `nodes` differentiates by, or holds constant, get tensors
  /// of their own: nothing that is computed from one is folded, and what has the same elements by
  /// another name is told from it.
  void declareVariables(llvm::ArrayRef<Node> nodes, Frame &frame);
  void makeVariable(Value &value, llvm::StringRef name);
  void dropVariables();
  void openGraph(NodeImport &node, const Graph &graph, Frame &frame);
  std::optional<std::vector<Value>> importGraph(const Graph &graph, Frame &held,
                                                llvm::ArrayRef<Value> given);
  bool importIf(NodeImport &node);
  bool importBranches(NodeImport &node, const Graph *const branches[2]);
  bool yieldEither(NodeImport &node, dl::IfOp draft, Value *const sides[2],
                   llvm::SmallVector<mlir::Value> yielded[2]);
  bool importAssumed(NodeImport &node, const Graph &branch, mlir::AffineExpr truth);
  mlir::RankedTensorType typeOfEither(NodeImport &node, mlir::Value a, mlir::Value b,
                                      size_t firstSymbol);
  bool importLoop(NodeImport &node);
  struct Loop;
  std::optional<bool> truthOf(Value &value);
  std::optional<bool> unrollLoop(NodeImport &node, const Loop &loop);
  bool importWhile(NodeImport &node, Loop &loop);
  bool flatten(NodeImport &node, Value &value, const Sequence *like,
               llvm::SmallVectorImpl<mlir::Value> &tensors);
  bool needsKinds(const Loop &loop);
  bool importKinds(NodeImport &node, Loop &loop, size_t firstSymbol,
                   llvm::MutableArrayRef<mlir::Type> types);
  bool findKinds(NodeImport &node, Loop &loop);
  mlir::Type typeAtStart(mlir::RankedTensorType result, size_t firstSymbol) const;
  bool beginWith(NodeImport &node, Loop &loop, size_t position, mlir::Type type);
  bool expectStep(NodeImport &node, mlir::Value trips, mlir::Value condition);
  /// Whether a node or a result of a graph has the name.
  bool isEverRead(llvm::StringRef name);
  std::optional<llvm::SmallVector<mlir::Value>> importBody(
      NodeImport &node, const Graph &graph, llvm::ArrayRef<Value> given,
      std::optional<bool> &goesOn,
      llvm::function_ref<bool(size_t)> isKept = [](size_t) { return true; });
  void dropCondition(dl::WhileOp loop);
  /// Runs `import`, and drops the ops that it has made. Returns its result.
  bool tryOut(llvm::function_ref<bool()> import);
  /// Erases the ops after `before` (null: all) up to where the next one goes, but for weights.
  void dropOpsAfter(mlir::Operation *before);
  /// The model is to be imported again, with sizes read that were counted. False.
  bool readCounts() { return isSolved = attempt.readsSizes = true, false; }
  /// A loop over the bags of PyTorch's EmbeddingBag; nothing where it is another.
  std::optional<bool> importEmbeddingBags(NodeImport &node, const Graph &body);
  bool importScan(NodeImport &node);
  /// An op on sequences or optionals: isSequenceOp holds for it.
  bool importSequenceOp(NodeImport &node);
  /// The sequence that an input holds; null, reported, where it holds none.
  std::shared_ptr<Sequence> sequenceOf(NodeImport &node, size_t input);
  using SharedSequence = std::shared_ptr<Sequence>;
  /// The sequence in tensors. `like`, in tensors, tells what elements it has if it has none. Null
  /// after an error.
  SharedSequence inTensors(NodeImport &node, const Sequence &sequence,
                           const Sequence *like = nullptr);
  /// The sequence in tensors whose only element is `element`.
  SharedSequence sequenceOfOne(NodeImport &node, const Value &element,
                               const Sequence *like = nullptr);
  /// Element `position` of a sequence in tensors: a tensor or a sequence.
  std::optional<Value> elementAt(NodeImport &node, const Sequence &sequence, Item position);
  /// A sequence in tensors without its element at `position`, or with the only element of
  /// `inserted` before it if that is not null.
  SharedSequence withElement(NodeImport &node, const Sequence &sequence, Item position,
                             const Sequence *inserted);
  bool importSequenceAt(NodeImport &node);
  bool importSequenceInsert(NodeImport &node);
  bool importSequenceErase(NodeImport &node);
  bool importSequenceLength(NodeImport &node);
  bool importSplit(NodeImport &node);
  bool importJoin(NodeImport &node);
  Item joined(NodeImport &node, Sequence &sequence, int64_t axis, bool isNew);
  Item joinedInLoop(NodeImport &node, const Sequence &sequence,
                    llvm::ArrayRef<mlir::AffineExpr> dims, int64_t axis);
  bool importOptionalOp(NodeImport &node);
  bool importSequenceMap(NodeImport &node);
  struct SequenceMap;
  bool agreeOnLengths(NodeImport &node, SequenceMap &map);
  std::optional<std::vector<Value>> importElement(NodeImport &node, const SequenceMap &map,
                                                  Item position, bool isRegion);
  bool unrollMap(NodeImport &node, const SequenceMap &map);
  std::vector<SharedSequence> resultsInTensors(NodeImport &node, const SequenceMap &map, Item step);
  bool importMapLoop(NodeImport &node, const SequenceMap &map);
  struct Scan;
  bool importScanLoop(NodeImport &node, const Scan &scan);
  bool countStep(NodeImport &node, int64_t steps);
  Item stacked(NodeImport &node, llvm::ArrayRef<Item> steps, int64_t axis, bool isEmpty = false);
  Item itemOf(Value &value, NodeImport &node);
  bool importCall(NodeImport &node, const Function &function);
  /// Null where it cannot be had, which has been reported.
  mlir::Value outputNamed(llvm::StringRef name, mlir::Location loc);
  bool finish(mlir::func::FuncOp function);
  Value *find(llvm::StringRef name, Frame &frame);
  /// The tensor of a value, made now if need be; null after an error, reported for `what`.
  mlir::Value materialise(Value &value, mlir::Location loc, const std::string &what);
  mlir::Value weight(Value &value, const std::string &what);
  mlir::Value constant(const Known &known, mlir::Location loc, const std::string &what);
  /// The numbers of a value, if it is small and known.
  const Known *known(Value &value);
  /// True where all of a value's numbers are known to be 0; of initializers of any size.
  bool isZero(Value &value);
  /// The integers of a value, if all are known and none is symbolic; of initializers of any size.
  std::optional<llvm::SmallVector<int64_t>> integersOf(Value &value);
  void error(const llvm::Twine &message);
  /// The same, for an error that is not the model's: the first of them tells ImportOptions::fault.
  void error(ImportFault fault, const llvm::Twine &message);
  void report();

  /// An input that stays in the model.
  struct State {
    llvm::StringRef input, output;
    mlir::RankedTensorType type;          // null until it is declared
    std::optional<int64_t> capacity = {}; // that the user gave it, of a cache
  };

  ModelFile &file;
  const ImportOptions &options;
  llvm::SmallVector<State> states;
  llvm::SmallVector<std::pair<size_t, Growth>> growing; // by their places among the states
  mlir::ModuleOp module;
  mlir::MLIRContext *context;
  mlir::OpBuilder builder;
  size_t maxNodes;
  mlir::Operation *lastWeight = nullptr;
  std::vector<frontend::Symbol> symbols;
  std::vector<std::string> symbolNames;
  std::unique_ptr<frontend::OpEmitter> emitter;
  Frame outermost;
  llvm::StringMap<unsigned>
      weightNames; // with the number that would tell the next one of that name
  llvm::StringMap<Known> constInputs;
  llvm::StringMap<llvm::SmallVector<int64_t>> shapes; // of inputs, -1 for what has no one number
  llvm::StringMap<int64_t> symbolValues;              // what they make of dims
  /// For each symbol that an input has, the bounds that the user gave, and why the model narrowed
  /// others.
  struct Bounds {
    bool isMinGiven = false, isMaxGiven = false;
    std::string whyMin, whyMax;
  };
  std::vector<Bounds> bounds;
  std::vector<std::string> unsupported; // nodes, in the words of the report
  ImportAttempt &attempt;
  SolvedSymbols &solved;
  bool isSolved = false;
  std::vector<std::unique_ptr<mlir::Block>> kindBlock; // whose arguments say what a loop will carry
  llvm::StringSet<> namesRead; // in all graphs and functions; filled where it is needed
  mlir::Value generator;       // the state that nodes draw random numbers from; null: none does
  int64_t draws = 0;           // from the generator
  llvm::SmallVector<mlir::Value> steps; // the numbers of the steps of the loops around
  unsigned trials = 0;                  // steps of loops around the node whose ops may be dropped
  unsigned regions = 0;                 // branches and bodies of loops around the node
  llvm::DenseMap<mlir::Attribute, mlir::AffineExpr> derivedSizes;
  std::string
      unexplained; // the first node that was not imported; each is reported by what it needs
  size_t unsupportedCount = 0, errors = 0, nodeCount = 0, callCount = 0, derivedCount = 0;
  llvm::SmallVector<mlir::Operation *> variables; // the ops that make them
  unsigned calls = 0, symbolFailures = 0;
  llvm::SmallVector<const Function *> callStack;
};

/// One node on its way into the function: what the rules and the functions of ops/ see of it.
class NodeImport {
public:
  NodeImport(Importer &importer, const Node &node, Frame &frame, int64_t opset);

  const Node &node;
  const int64_t opset;

  //===- Inputs ---===//
  size_t inputCount() const { return inputs.size(); }
  bool has(size_t input) const { return input < inputs.size() && inputs[input]; }
  /// The tensor of an input, as an argument of a call; poison after an error.
  Item tensor(size_t input);
  mlir::RankedTensorType type(size_t input);
  /// For messages: "f32[N,3]", and "N*4".
  std::string typeText(size_t input) { return dl::text(type(input), importer.module); }
  std::string text(mlir::AffineExpr dim) const { return dl::text(dim, importer.module); }
  mlir::Type dtype(size_t input) { return type(input).getElementType(); }
  dl::Dims dims(size_t input) { return dl::getDims(type(input)); }
  int64_t rank(size_t input) { return static_cast<int64_t>(type(input).getRank()); }
  /// The numbers of an input; null where only the running model knows them.
  const Known *known(size_t input);
  /// True where all numbers of an input are known to be 0, however many they are.
  bool isZero(size_t input) { return has(input) && importer.isZero(*inputs[input]); }
  /// The integers of an input, however many they are; nothing, and nothing said, where they are not
  /// known at import.
  std::optional<llvm::SmallVector<int64_t>> knownIntegers(size_t input) {
    return has(input) ? importer.integersOf(*inputs[input]) : std::nullopt;
  }
  /// The sizes that an input holds, integers: known ones, or else symbols in `range` that the
  /// running model reads. Where `clamps`, numbers beyond the range are its ends. Nothing, reported,
  /// where they are no integers or too many; `what`: "the new shape". There are `expected` of them
  /// where their number follows from something else.
  std::optional<dl::Dims> sizes(size_t input, llvm::StringRef what, dl::Range range,
                                bool clamps = false, std::optional<int64_t> expected = {});
  /// A number of 0 to `most` that the running model computes, as a symbol; null after an error.
  mlir::AffineExpr readSize(Item number, int64_t most);
  /// The integers of an input that must be known; nothing, reported, where they are not. `what`:
  /// "the axes".
  std::optional<llvm::SmallVector<int64_t>> integers(size_t input, llvm::StringRef what);

  //===- Attributes ---===//
  bool hasAttribute(llvm::StringRef name);
  int64_t integer(llvm::StringRef name, int64_t otherwise);
  double real(llvm::StringRef name, double otherwise);
  std::string string(llvm::StringRef name, llvm::StringRef otherwise);
  llvm::SmallVector<int64_t> integerList(llvm::StringRef name);
  /// Nothing where the node does not have it.
  const Attribute *attribute(llvm::StringRef name);
  llvm::ArrayRef<llvm::StringRef> stringList(llvm::StringRef name);
  /// Refuses the node if it has an attribute that no rule has read; ignoring it could be wrong.
  bool allAttributesRead();
  /// What ops up to opset 6 say that later ones leave unsaid: where the dims of a second operand
  /// stand among those of the first, and that the model is not being trained.
  void readOldAttributes();
  /// `expr` becomes `most` or less: a model that takes a part of a dim of so many elements makes no
  /// sense beyond. False where that cannot be.
  bool limit(mlir::AffineExpr expr, int64_t most);
  /// `size`, the size of a dim, becomes 0 or more: an op that gives fewer elements has no meaning.
  void expectSize(mlir::AffineExpr size);
  /// The same for a part of a dim, whose end is checked when shapes are bound: of a sum of several
  /// symbols each gets the range that it needs for itself. False where the part is to be cut to the
  /// dim instead: its end is read, or may be negative.
  bool limitPart(mlir::AffineExpr end, int64_t most);
  /// The range of `expr` by the symbols' ranges; nothing where it is unbounded.
  std::optional<dl::Range> rangeOf(mlir::AffineExpr expr) const;
  /// Whether the product of `dims` is one to work with; false, reported, where sums among them
  /// would multiply to too many terms.
  bool mayMultiply(llvm::ArrayRef<mlir::AffineExpr> dims);

  //===- Results ---===//
  void set(size_t output, Item item);
  void set(size_t output, Known known);
  void setValue(size_t output, Value value);
  void alias(size_t output, size_t input);
  bool wants(size_t output) const {
    return output < node.outputs.size() && !node.outputs[output].empty();
  }

  /// The value of the graph that has this name, not poison; null, reported as what the attribute
  /// `attribute` names, where there is none.
  mlir::Value tensorNamed(llvm::StringRef name, llvm::StringRef attribute);
  /// Counts ops that a derivative goes through or makes. Returns false, after an error, if all
  /// Gradients of the model make too many.
  bool countDerived(size_t ops);
  /// Whether a Gradient stands in the node's graph or around it: it goes through ops that have a
  /// rule (ir/dl/gradient).
  bool isDerived() const;

  /// The one result of a graph that is an attribute, for one input.
  Item graph(llvm::StringRef attribute, Item input);

  /// An input of another op: none, an input of this node, or a tensor.
  using Operand = std::variant<std::monostate, size_t, Item>;
  /// Returns result 0 of the node built as `op` of ONNX's `opset`, with `operands` and this node's
  /// attributes, except for attributes that have been read. Other results become this node's.
  Item as(llvm::StringRef op, int64_t opset, llvm::ArrayRef<Operand> operands);

  //===- Building ---===//
  /// Calls a function of the language; poison after an error.
  Item call(llvm::StringRef callee, llvm::ArrayRef<Item> positional,
            llvm::ArrayRef<std::pair<llvm::StringRef, Item>> named = {});
  Item cast(Item x, mlir::Type dtype);
  Item reshape(Item x, llvm::ArrayRef<mlir::AffineExpr> dims);
  Item permute(Item x, llvm::ArrayRef<int64_t> order);
  Item broadcast(Item x, llvm::ArrayRef<mlir::AffineExpr> dims);
  /// `number` in each element of `type`.
  Item full(Item number, mlir::RankedTensorType type);
  /// x as a tensor of no dims, in `dtype`.
  Item scalar(double x, mlir::Type dtype);
  /// A dim as a tensor<i64> without dims; of what the data say the count.
  Item count(mlir::AffineExpr dim) { return {importer.opEmitter().countOf(loc, dim), {}}; }
  /// The first elements of a dim of x, as many as a tensor of one integer says.
  Item head(Item x, Item count, int64_t dim);
  mlir::AffineExpr dim(int64_t value) { return dl::constantDim(value, context); }
  /// An axis counted from the front; nothing, reported, where there is none.
  std::optional<int64_t> axis(int64_t axis, int64_t rank);
  /// The same of all that the attribute `axes` lists, or in later opsets input 1; nothing,
  /// reported, where one is wrong.
  std::optional<llvm::SmallVector<int64_t>> axes(int64_t rank);

  //===- Random numbers ---===//
  /// A generator, i64[2], and the number of a draw from it.
  struct Draw {
    Item generator;
    int64_t number;
  };
  /// Returns the generator of the node's next draw: that of its attribute `seed`, or else the state
  /// `generator`. Returns nothing after an error, which is reported.
  std::optional<Draw> nextDraw();
  /// 32 random bits for each element: u32[dims]. Each `word` of a draw has its own.
  Item randomBits(const Draw &draw, llvm::ArrayRef<mlir::AffineExpr> dims, int64_t word);

  //===- Errors: each gives false ---===//
  /// The model is wrong.
  bool fail(const llvm::Twine &message);
  /// dlc cannot do it; `advice` says what it can.
  bool unsupported(const llvm::Twine &what, const llvm::Twine &advice);
  bool hasFailed() const { return failed; }
  /// Tells the user what dlc makes of the node.
  void remark(const llvm::Twine &message);

  //===- Sizes that differ in form ---===//
  /// Whether `a` and `b`, sizes that the op needs to be equal, may be so: they are equal in form,
  /// or can be equal when shapes are bound. Where a solution is known the node fails without an
  /// error, for the model is imported again.
  bool mayAgree(mlir::AffineExpr a, mlir::AffineExpr b);
  /// x under `dims`, which its own are expected to equal.
  Item expect(Item x, llvm::ArrayRef<mlir::AffineExpr> dims);
  /// Makes the dims of the inputs agree that the op needs to be equal (sizes/DimAgreement.cpp).
  void agreeOnDims();
  /// A size that computed symbols might make negative, 0 in such a place; other sizes as they are.
  mlir::AffineExpr atLeastZero(mlir::AffineExpr size);
  /// The smaller and the larger of two sizes, and `truth` ? `a` : `b`; null where none is known.
  mlir::AffineExpr smaller(mlir::AffineExpr a, mlir::AffineExpr b);
  mlir::AffineExpr larger(mlir::AffineExpr a, mlir::AffineExpr b);
  mlir::AffineExpr choose(mlir::AffineExpr truth, mlir::AffineExpr a, mlir::AffineExpr b);
  /// 1 where `a` is less than `b`, or equal to it, else 0; null where that is not known.
  mlir::AffineExpr isLess(mlir::AffineExpr a, mlir::AffineExpr b);
  mlir::AffineExpr isEqual(mlir::AffineExpr a, mlir::AffineExpr b);
  /// dim / divisor, where dim must be a multiple of it; null where it never is.
  mlir::AffineExpr exactQuotient(mlir::AffineExpr dim, int64_t divisor);
  /// x repeated along `axis` where its dim is 1 and `other` is not, as two operands broadcast whose
  /// sizes are known when shapes are bound.
  Item repeatedLike(Item x, int64_t axis, mlir::AffineExpr other);

  Importer &importer;
  Frame &frame;
  mlir::MLIRContext *context;
  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  /// What `make` gives; where that is poison the node fails, with its message or the first error of
  /// the ops that it built.
  Item emit(llvm::function_ref<Item(std::string &message)> make);

  void replaceInput(size_t input, Item item);
  void agreeBroadcast(llvm::ArrayRef<size_t> operands);
  void agreeDim(size_t input, int64_t axis, mlir::AffineExpr wanted);

  llvm::SmallVector<Value *> inputs;                  // null: left out
  llvm::SmallVector<std::unique_ptr<Value>> replaced; // in place of some of them
  llvm::StringSet<> read;
  bool failed = false;
};

/// A list of numbers as an argument.
template <typename Range> Item itemList(const Range &range) {
  Item::List list;
  for (const auto &element : range)
    list.push_back({element, {}});
  return {std::move(list), {}};
}
Item item(int64_t value);
Item item(double value);
Item item(bool value);
Item item(llvm::StringRef value);
Item item(mlir::Type value);
/// Dims, those without symbols as integers.
Item dimItems(llvm::ArrayRef<mlir::AffineExpr> dims);

/// Folds a node whose inputs are known; false where it is not of those that are folded.
bool foldKnown(NodeImport &node);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_IMPORTER_H
