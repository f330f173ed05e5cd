//===- Importer.cpp - From ONNX graphs to dl functions ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/Importer.h"

#include "frontend/HeldReports.h"
#include "frontend/Spelling.h"
#include "frontend/arrays/NpyFile.h"
#include "frontend/arrays/SafetensorsFile.h"
#include "frontend/onnx/Import.h"
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/control/Regions.h"
#include "frontend/onnx/read/NodeOrder.h"
#include "ir/analysis/CountedDims.h"
#include "ir/dl/DLDialect.h"
#include "ir/dl/DLOps.h"
#include "ir/dl/base/ModuleSymbols.h"
#include "ir/dl/control/Flow.h"
#include "ir/dl/control/NamedSymbols.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc::onnx {

using frontend::quote;

Importer::Importer(ModelFile &file, const ImportOptions &options, ModuleOp module, size_t maxNodes,
                   ImportAttempt &attempt)
    : file(file), options(options), module(module), context(module.getContext()), builder(context),
      maxNodes(maxNodes), attempt(attempt), solved(attempt.solved) {}

void Importer::error(const llvm::Twine &message) {
  if (isSolved) // this attempt is void
    return;
  ++errors;
  if (errors <= frontend::Diagnostics::kMaxErrors)
    emitError(UnknownLoc::get(context)) << file.path() << ": " << message.str();
}

void Importer::error(ImportFault fault, const llvm::Twine &message) {
  if (options.fault && *options.fault == ImportFault::ofModel)
    *options.fault = fault;
  error(message);
}

//===- Declarations ---------------------------------------------------------------------------===//

bool Importer::checkHeader() {
  if (file.model().opsets.empty()) {
    error("it names no opset, so that the meaning of its ops is unknown; expected an opset_import");
    return false;
  }
  for (const Opset &opset : file.model().opsets) {
    bool isOnnx = opset.domain.empty() || opset.domain == "ai.onnx";
    if (isOnnx && (opset.version < kOldestOpset || opset.version > kNewestOpset)) {
      unsupported.push_back("it uses opset " + std::to_string(opset.version) + "; dlc imports " +
                            std::to_string(kOldestOpset) + " to " + std::to_string(kNewestOpset) +
                            ": convert the model with onnx.version_converter, or export it for one "
                            "of them");
      report();
      return false;
    }
  }
  return true;
}

bool Importer::readConstInputs() {
  for (const std::string &text : options.constInputs) {
    auto [name, path] = StringRef(text).split('=');
    path.consume_front("@");
    if (path.empty()) {
      error(ImportFault::ofCall,
            "--const-input " + quote(text) + ": expected NAME=@FILE.npy, as in shape=@shape.npy");
      continue;
    }
    bool isInput = llvm::any_of(file.model().graph.inputs, [&, name = name](const ValueInfo &info) {
      return info.name == name;
    });
    if (!isInput) {
      SmallVector<StringRef> names;
      for (const ValueInfo &info : file.model().graph.inputs)
        names.push_back(info.name);
      error(ImportFault::ofCall, "--const-input names " + quote(name) +
                                     ", which is no input; it has '" + llvm::join(names, "', '") +
                                     "'" + frontend::didYouMean(name, names));
      continue;
    }
    auto bytes = frontend::mapFile(path);
    if (!bytes) {
      error(ImportFault::unreadable, llvm::toString(bytes.takeError()));
      continue;
    }
    auto array = frontend::parseNpy((*bytes)->getBuffer(), path);
    if (!array) {
      error(ImportFault::damaged, llvm::toString(array.takeError()));
      continue;
    }
    auto known = numbersOf(array->type, array->shape, array->data);
    if (known)
      constInputs.try_emplace(name, std::move(*known));
    else
      error(ImportFault::ofCall, "--const-input " + quote(name) + " is " +
                                     frontend::describe(array->type, array->shape) +
                                     "; expected at most " + llvm::Twine(Known::kMaxElements) +
                                     " numbers of a dtype that dlc computes with");
  }
  return errors == 0;
}

RankedTensorType Importer::typeOf(const ValueInfo &info, const std::string &what) {
  if (info.kind != ValueInfo::tensor && info.kind != ValueInfo::unknown) {
    static constexpr const char *kKinds[] = {
        "", "", "a sequence", "an optional", "a map", "a sparse tensor"};
    unsupported.push_back(what + " is " + kKinds[info.kind] + "; dlc takes dense tensors");
    return {};
  }
  auto type = elementType(info.dataType);
  Type dtype = type ? frontend::dtypeOf(nameOf(*type), context) : Type();
  if (!dtype) {
    std::string name = dataTypeName(info.dataType);
    unsupported.push_back(what + " has the dtype " + name +
                          (name == "STRING"
                               ? "; dlc computes with numbers: look strings up before the model, "
                                 "and make the input their indices"
                               : "; dlc has " + llvm::join(frontend::dtypeNames(), ", ")));
    return {};
  }
  dl::Dims dims;
  auto given = shapes.find(info.name);
  if (!info.hasShape && given != shapes.end())
    for (auto [position, size] : llvm::enumerate(given->second))
      dims.push_back(size >= 0 ? dl::constantDim(size, context)
                               : symbolNamed({}, info.name.str() + "_" + std::to_string(position)));
  if (!info.hasShape && given == shapes.end()) {
    unsupported.push_back(what +
                          " has no shape; dlc needs its rank: give it by --shapes, or export "
                          "the model with one");
    return {};
  }
  for (auto [position, declared] : llvm::enumerate(info.dims)) {
    Dim dim = declared;
    // A dim of -1 is any, and so is one whose name is "?": the next one of that name is another.
    if (dim.value.value_or(0) == -1)
      dim.value.reset();
    if (llvm::none_of(dim.symbol, [](char c) { return llvm::isAlnum(c); }))
      dim.symbol = {};
    if (AffineExpr sum = dim.value ? AffineExpr() : sumNamed(dim.symbol)) {
      dims.push_back(sum);
      continue;
    }
    if (auto known = symbolValues.find(dim.symbol); !dim.value && known != symbolValues.end())
      dim.value = known->second;
    else if (!dim.value && given != shapes.end() && given->second.size() == info.dims.size() &&
             given->second[position] >= 0)
      dim.value = given->second[position];
    if (dim.value && (*dim.value < 0 || *dim.value > INT32_MAX)) {
      error(what + " has a dim of " + llvm::Twine(*dim.value) + "; expected 0 to 2^31 - 1");
      return {};
    }
    AffineExpr expr =
        dim.value ? dl::constantDim(*dim.value, context)
                  : symbolNamed(dim.symbol, info.name.str() + "_" + std::to_string(position));
    if (!expr) {
      unsupported.push_back(what + " brings more than " + std::to_string(dl::kMaxSymbols) +
                            " symbolic dims; give some of them numbers");
      return {};
    }
    dims.push_back(expr);
  }
  return dl::makeTensor(dims, dtype);
}

void Importer::declareInitializers(const Graph &graph, Frame &frame) {
  for (const Tensor &tensor : graph.initializers) {
    Value &value = frame.values[tensor.name];
    if (value.stored)
      error("initializer " + quote(tensor.name) + " is there twice; expected one of each name");
    value.stored = &tensor;
    value.name = frame.prefix + tensor.name.str();
  }
}

/// The attributes of an input or output. They are set for all at once: each change of one would
/// make the list anew.
DictionaryAttr Importer::named(StringRef name) {
  return builder.getDictionaryAttr(builder.getNamedAttr("dl.name", builder.getStringAttr(name)));
}

bool Importer::declareInputs(func::FuncOp function) {
  Block *entry = builder.createBlock(&function.getBody());
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  for (const ValueInfo &info : file.model().graph.inputs) {
    Value &value = outermost.values[info.name];
    if (value.stored) // the default of an input, which is a weight to dlc
      continue;
    auto *state = llvm::find_if(states, [&](const State &one) { return one.input == info.name; });
    if (state != states.end() && !state->type) {
      state->type = typeOf(info, "state " + quote(info.name));
      value.isPoison = !state->type;
      continue;
    }
    if (auto given = constInputs.find(info.name); given != constInputs.end()) {
      value.known = given->second;
      continue;
    }
    if (value.tensor || state != states.end() || info.name.empty()) {
      error("input " + quote(info.name) + (info.name.empty() ? " has no name" : " is there twice") +
            "; expected inputs of different names");
      continue;
    }
    RankedTensorType type = typeOf(info, "input " + quote(info.name));
    if (!type) {
      value.isPoison = true;
      continue;
    }
    types.push_back(type);
    attributes.push_back(named(info.name));
    value.tensor = entry->addArgument(type, function.getLoc());
  }
  function.setFunctionType(builder.getFunctionType(types, {}));
  function.setAllArgAttrs(attributes);
  SmallVector<AffineExpr> mayBeEmpty;
  for (const auto &name : joinedSymbols())
    if (!name.getKey().empty() && !symbolValues.contains(name.getKey()))
      mayBeEmpty.push_back(symbolNamed(name.getKey(), {}));
  for (auto [position, name] : llvm::enumerate(symbolNames))
    symbols.push_back(declaredSymbol(
        name, llvm::is_contained(mayBeEmpty, getAffineSymbolExpr(position, context))));
  declareSymbols();
  declareStates(function);
  if (errors == 0 && !applyGivenShapes(function))
    return false;
  emitter = std::make_unique<frontend::OpEmitter>(builder, symbols, module);
  emitter->readsCounts = attempt.readsSizes;
  emitter->narrow = [this](Location loc, const dl::RangeNeed &need) {
    auto node = llvm::dyn_cast<NameLoc>(loc);
    return narrow(need.size, need.least, (node ? node.getName().str() + " " : "") + need.what);
  };
  builder.setInsertionPointToStart(entry);
  return errors == 0;
}

//===- Nodes ----------------------------------------------------------------------------------===//

/// Gives `value`, a copy, sequences of its own.
static void copySequences(Value &value) {
  if (!value.sequence)
    return;
  value.sequence = std::make_shared<Sequence>(*value.sequence);
  for (Value &element : value.sequence->elements)
    copySequences(element);
}

Value *Importer::find(StringRef name, Frame &frame) {
  Frame *region = nullptr; // the innermost one that the value is not of
  for (Frame *at = &frame; at; at = at->parent) {
    if (auto found = at->values.find(name); found != at->values.end()) {
      Value &value = found->second;
      if (!region)
        return &value;
      bool isWeight = value.stored && !(known(value) && value.known->numbers.size() == 1);
      if (value.tensor || isWeight)
        return &value;
      Value &copy = region->values[name] = value;
      copySequences(copy);
      return &copy;
    }
    if (at->isRegion && !region)
      region = at;
  }
  return nullptr;
}

void Importer::dropOpsAfter(Operation *before) {
  Block *block = builder.getInsertionBlock();
  SmallVector<Operation *> made;
  for (auto at = builder.getInsertionPoint(); at != block->begin() && &*std::prev(at) != before;
       --at)
    made.push_back(&*std::prev(at));
  for (Operation *op : made)
    if (!isa<dl::WeightOp>(op))
      op->erase();
}

bool Importer::importCall(NodeImport &node, const Function &function) {
  if (callStack.size() >= kMaxCalls || llvm::is_contained(callStack, &function))
    return node.fail("function " + quote(function.name) +
                     (callStack.size() >= kMaxCalls
                          ? " is called more than " + llvm::Twine(kMaxCalls) + " deep"
                          : llvm::Twine(" calls itself")) +
                     "; expected functions that end");
  callStack.push_back(&function);
  llvm::scope_exit leave([&] { callStack.pop_back(); });
  Frame inner{nullptr, {}, {}, function.opsets, node.frame.prefix + node.node.name.str() + "."};
  for (auto [position, name] : llvm::enumerate(function.inputs))
    if (node.has(position))
      inner.values[name] = *find(node.node.inputs[position], node.frame);
    else
      inner.values[name].isLeftOut = true;
  for (const Attribute &attribute : function.defaults)
    inner.arguments[attribute.name] = &attribute;
  for (const Attribute &attribute : node.node.attributes)
    if (const Attribute *value = node.attribute(attribute.name))
      inner.arguments[attribute.name] = value;
  if (!importNodes(function.nodes, inner))
    return false;
  for (auto [position, name] : llvm::enumerate(function.outputs)) {
    Value *value = find(name, inner);
    if (!value)
      return node.fail("function " + quote(function.name) + " does not compute its output " +
                       quote(name));
    if (node.wants(position))
      node.frame.values[node.node.outputs[position]] = *value;
  }
  return true;
}

static int64_t opsetOf(StringRef domain, ArrayRef<Opset> opsets) {
  for (const Opset &opset : opsets)
    if ((opset.domain == "ai.onnx" ? StringRef() : opset.domain) == domain)
      return opset.version;
  return 0;
}

void Importer::importNode(const Node &node, Frame &frame) {
  if (isSolved) // begins again
    return;
  if (++nodeCount > maxNodes) {
    if (nodeCount == maxNodes + 1)
      error("it has more than " + llvm::Twine(maxNodes) +
            " nodes, those of functions counted at each call; the limit is " +
            llvm::Twine(maxNodes));
    return;
  }
  if (node.outputs.empty()) // computes nothing
    return;
  StringRef domain = node.domain == "ai.onnx" ? StringRef() : node.domain;
  std::string name = domain.empty() ? node.op.str() : (domain + "." + node.op).str();
  int64_t opset = opsetOf(domain, frame.opsets);
  if (opset == 0 && domain.empty()) // a function that imports no opset has that of the model
    opset = opsetOf(domain, outermost.opsets);
  NodeImport import(*this, node, frame, opset);
  bool isGood = !import.hasFailed();
  const auto *function = llvm::find_if(file.model().functions, [&](const Function &function) {
                           return function.name == node.op && function.domain == node.domain;
                         }).operator->();
  bool isFunction = function != file.model().functions.data() + file.model().functions.size();
  bool isControl = domain.empty() && (node.op == "If" || node.op == "Loop" || node.op == "Scan");
  bool isOfSequences = domain.empty() && isSequenceOp(node.op);
  if (!isFunction && !isControl && !isOfSequences && !hasRule(name, opset)) {
    import.unsupported("dlc does not import " + quote(name) + llvm::Twine(" of opset ") +
                           llvm::Twine(opset),
                       nearestRule(name, opset));
    isGood = false;
  }
  bool isPoisoned = llvm::any_of(node.inputs, [&](StringRef input) {
    Value *value = find(input, frame);
    return value && value->isPoison;
  });
  if (isGood && !isPoisoned) {
    if (isFunction) {
      isGood = importCall(import, *function);
    } else if (node.op == "If" && domain.empty()) {
      isGood = importIf(import) && import.allAttributesRead();
    } else if (node.op == "Loop" && domain.empty()) {
      isGood = importLoop(import) && import.allAttributesRead();
    } else if (node.op == "Scan" && domain.empty()) {
      isGood = importScan(import) && import.allAttributesRead();
    } else if (isOfSequences) {
      isGood = importSequenceOp(import) && import.allAttributesRead();
    } else {
      if (opset <= 6 && domain.empty())
        import.readOldAttributes();
      import.agreeOnDims();
      // Numbers that sizes give may be data, too: then the model computes them.
      auto to =
          node.op == "Cast" && opset > 5 ? elementType(import.integer("to", 0)) : std::nullopt;
      bool isCastToReals = to && (nameOf(*to).starts_with("f") || nameOf(*to) == "bf16");
      bool isBoth = llvm::any_of(llvm::seq(import.inputCount()), [&](size_t input) {
        const Known *known = import.known(input);
        return known &&
               (known->hasDerivedReals() || (isCastToReals && known->dims() && !known->integers()));
      });
      if (isBoth)
        isGood = buildNode(import, name) && (foldKnown(import), true);
      else
        isGood = foldKnown(import) || (!import.hasFailed() && buildNode(import, name));
    }
  }
  for (StringRef output : node.outputs)
    if (isGood && !isPoisoned && !output.empty() && !frame.values.contains(output))
      isGood = import.unsupported("dlc does not compute its result " + quote(output), "");
  for (StringRef output : node.outputs) {
    if (output.empty())
      continue;
    if (!isGood || isPoisoned)
      frame.values[output].isPoison = true;
    else if (frame.variables.contains(output))
      makeVariable(frame.values[output], output);
  }
}

bool Importer::importNodes(ArrayRef<Node> nodes, Frame &frame) {
  auto order = orderNodes(nodes, [&](StringRef name) { return find(name, frame) != nullptr; });
  if (!order) {
    error(llvm::toString(order.takeError()));
    return false;
  }
  size_t before = errors + unsupportedCount;
  for (const Node &node : nodes)
    for (StringRef output : node.outputs)
      if (!output.empty() && frame.values.contains(output)) {
        error(describe(node) + ": it computes " + quote(output) +
              ", which is an input or an initializer; expected one origin of each value");
        return false;
      }
  declareVariables(nodes, frame);
  for (size_t position : *order)
    importNode(nodes[position], frame);
  return errors + unsupportedCount == before;
}

//===- The whole ------------------------------------------------------------------------------===//

mlir::Value Importer::outputNamed(StringRef name, Location loc) {
  Value *value = find(name, outermost);
  if (!value)
    error("output " + quote(name) + " is computed by no node; expected one that does");
  return value && !value->isPoison ? materialise(*value, loc, "output " + quote(name))
                                   : mlir::Value();
}

bool Importer::finish(func::FuncOp function) {
  SmallVector<mlir::Value> results;
  SmallVector<DictionaryAttr> attributes;
  StringRef lost;
  for (const ValueInfo &info : file.model().graph.outputs) {
    if (isNextOfState(info.name))
      continue;
    mlir::Value tensor = outputNamed(info.name, function.getLoc());
    if (!tensor) {
      lost = info.name;
      continue;
    }
    auto type = llvm::cast<RankedTensorType>(tensor.getType());
    auto declared = elementType(info.dataType);
    if (info.kind == ValueInfo::tensor && declared &&
        frontend::dtypeOf(nameOf(*declared), context) != type.getElementType())
      error("output " + quote(info.name) + " is declared as " + dataTypeName(info.dataType) +
            ", but the graph computes " + dl::text(type, module));
    results.push_back(tensor);
    attributes.push_back(named(info.name));
  }
  if (file.model().graph.outputs.size() == states.size())
    error(states.empty() ? "the graph has no outputs; expected at least one"
                         : "each output is the next value of a state; expected one that is left");
  size_t outputs = results.size();
  if (generator)
    results.push_back(nextGenerator(function.getLoc()));
  finishStates(function, results);
  if (!lost.empty() && !errors && unsupported.empty())
    error("output " + quote(lost) +
          " was not imported, and no message says why, which is a bug of dlc; please report it");
  if (errors || !unsupported.empty())
    return false;
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), TypeRange(ValueRange(results))));
  for (unsigned i = function.getNumArguments() + outputs - results.size();
       i < function.getNumArguments(); ++i)
    attributes.push_back(function.getArgAttrDict(i));
  function.setAllResultAttrs(attributes);
  emitter->finish(function, function.getLoc(), results);
  return true;
}

void Importer::report() {
  if (unsupported.empty() || isSolved)
    return;
  constexpr size_t kMaxLines = 100;
  std::string list;
  for (const std::string &line : ArrayRef(unsupported).take_front(kMaxLines))
    list += "\n  " + line;
  if (unsupported.size() > kMaxLines)
    list += "\n  and " + std::to_string(unsupported.size() - kMaxLines) + " more";
  emitError(UnknownLoc::get(context))
      << file.path() << ": dlc cannot import " << unsupported.size()
      << (unsupported.size() == 1 ? " part" : " parts") << " of the model:" << list;
  if (options.fault && errors == 0)
    *options.fault = ImportFault::unsupported;
}

LogicalResult Importer::run() {
  if (!checkHeader() || !readConstInputs() || !readStates())
    return failure();
  readShapes();
  outermost.opsets = file.model().opsets;
  Location loc = NameLoc::get(builder.getStringAttr(file.path()));
  builder.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(builder, loc, "forward", builder.getFunctionType({}, {}));
  declareInitializers(file.model().graph, outermost);
  bool isGood = declareInputs(function) && importNodes(file.model().graph.nodes, outermost);
  if (isGood)
    narrowForNeeds(function);
  if (isSolved)
    return failure();
  isGood = (isGood || errors == 0) && finish(function) && isGood;
  isGood = isGood && makeCaches(function);
  report();
  if (!isGood)
    return failure();
  dropVariables();
  // Weights that only shapes were computed from leave nothing behind.
  eraseUnread(*builder.getInsertionBlock(), dl::symbolsOf(module));
  findMixedPadding(function, [&](Operation *op, const std::string &sentence) {
    auto node = dyn_cast<NameLoc>(op->getLoc());
    unsupported.push_back((node ? node.getName().str() + ": " : std::string()) + sentence);
  });
  report();
  if (!unsupported.empty() || failed(verify(module)))
    return failure();
  noteRanges();
  return success(errors == 0);
}

/// Dims whose ranges nobody says are not made smaller than this.
static constexpr int64_t kSmallestLimit = 1024;

/// Tells how inputs and outputs are called whose names a compiled model cannot have.
static void noteNames(const ModelFile &file, MLIRContext &context) {
  auto note = [&](const std::vector<ValueInfo> &values, StringRef kind) {
    for (const ValueInfo &value : values)
      for (const auto &[name, replacement] : file.names().replaced())
        if (value.name == replacement)
          emitRemark(UnknownLoc::get(&context))
              << file.path() << ": " << kind << " " << quote(name) << " is called "
              << quote(replacement) << ": dlc takes names without control characters";
  };
  note(file.model().graph.inputs, "input");
  note(file.model().graph.outputs, "output");
}

OwningOpRef<ModuleOp> importModel(std::unique_ptr<ModelFile> file, const ImportOptions &options,
                                  MLIRContext &context, size_t maxNodes) {
  context.loadDialect<dl::DLDialect, func::FuncDialect>();
  std::string name = file->model().graph.name.empty() ? "onnx" : file->model().graph.name.str();
  struct Outcome {
    OwningOpRef<ModuleOp> module;
    bool hasCounts, isTooLarge;
  };
  auto tryWith = [&](ImportAttempt &attempt) -> Outcome {
    while (true) {
      OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context), name);
      Importer importer(*file, options, *module, maxNodes, attempt);
      bool isGood = succeeded(importer.run());
      // An attempt that solved something leaves fewer sizes or symbols than the one before.
      if (!importer.hasSolved())
        return {isGood ? std::move(module) : OwningOpRef<ModuleOp>(), importer.hasCounts(),
                importer.isTooLarge()};
    }
  };
  // Counted sizes serve where each op takes them and nothing else is read; else they are read. Dims
  // are smaller where tensors would have too many elements.
  auto importWith = [&](SolvedSymbols solved) -> OwningOpRef<ModuleOp> {
    ImportAttempt attempt{std::move(solved)};
    while (true) {
      HeldReports said(context, options.fault);
      auto [module, hasCounts, isTooLarge] = tryWith(attempt);
      said.stop();
      bool mayRead = hasCounts && !attempt.readsSizes && (!module || dl::hasFlow(*module));
      bool mayShrink = !module && isTooLarge && attempt.largestDim > kSmallestLimit;
      if (!mayRead && !mayShrink) {
        said.say();
        return std::move(module);
      }
      attempt.readsSizes |= mayRead;
      if (mayShrink)
        attempt.largestDim /= 8;
    }
  };
  // Signals are longer than other dims. Where a model multiplies such lengths beyond what tensors
  // may have, they are as other dims.
  SolvedSymbols signals =
      options.shapes.empty() ? lengthsOfSignals(file->model(), &context) : SolvedSymbols();
  if (!signals.empty()) {
    HeldReports said(context, options.fault);
    OwningOpRef<ModuleOp> module = importWith(std::move(signals));
    said.stop();
    if (module) {
      said.say();
      noteNames(*file, context);
      return module;
    }
  }
  OwningOpRef<ModuleOp> module = importWith({});
  if (module)
    noteNames(*file, context);
  return module;
}

OwningOpRef<ModuleOp> importFile(StringRef path, const ImportOptions &options,
                                 MLIRContext &context) {
  auto file = ModelFile::open(path);
  if (file)
    return importModel(std::move(*file), options, context);
  emitError(UnknownLoc::get(&context)) << llvm::toString(file.takeError());
  return {};
}

} // namespace dlc::onnx
