//===- OutlineKernels.cpp - From a function of fusions to a program of launches -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/FusionLegality.h"
#include "ir/analysis/view/ViewLayout.h"
#include "ir/dl/DLOps.h"
#include "ir/dl/base/PrecisionMarks.h"
#include "ir/dl/shape/ConcatParts.h"
#include "ir/dlx/DLXOps.h"
#include "passes/Passes.h"
#include "passes/outline/KernelTable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

#define DEBUG_TYPE "outline-kernels"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "passes/Passes.h.inc"

namespace {

class OutlineKernels : public impl::OutlineKernelsBase<OutlineKernels> {
  void runOnOperation() override;

  LogicalResult outline(func::FuncOp function);
  dlx::KernelOp kernelFor(dl::FusionOp fusion, dlx::PartAttr part);

  std::optional<SymbolTable> symbols;
  KernelTable inPlaceKernels;
  /// By the part of a buffer that they write; null: a whole one.
  llvm::DenseMap<dlx::PartAttr, KernelTable> kernels;
  WeightDependence weights;
};

} // namespace

static dlx::BufferType bufferOf(Value tensor) {
  return dlx::BufferType::get(tensor.getContext(), cast<RankedTensorType>(tensor.getType()));
}

/// map, reduce, window, contraction, attention, recurrent, lines or block_sparse: which family of
/// schedules a kernel needs.
static dlx::KernelKind kindOf(dl::FusionOp fusion) {
  if (!fusion.getBodyBlock().getOps<RecurrentOpInterface>().empty())
    return dlx::KernelKind::recurrent;
  if (!fusion.getBodyBlock().getOps<LineOpInterface>().empty())
    return dlx::KernelKind::lines;
  if (!fusion.getBodyBlock().getOps<dl::AttentionOp>().empty())
    return dlx::KernelKind::attention;
  if (fusion.getRows())
    return dlx::KernelKind::rows;
  LoopNestOpInterface root = fusion.getRoot();
  if (!root)
    return dlx::KernelKind::map;
  if (isa<dl::BlockSparseLinearOp>(root.getOperation()))
    return dlx::KernelKind::block_sparse;
  LoopNest nest = root.getLoopNest();
  if (nest.isProduct)
    return dlx::KernelKind::contraction;
  return nest.isWindow() ? dlx::KernelKind::window : dlx::KernelKind::reduce;
}

/// The ops that compute the second operand of a product from codes (ir/analysis/UnpackedWeights.h),
/// where they are more than casts.
static llvm::SmallPtrSet<Operation *, 16> unpackingOf(dl::FusionOp fusion) {
  LoopNestOpInterface root = fusion.getRoot();
  llvm::SmallPtrSet<Operation *, 16> ops;
  if (!root || !root.getLoopNest().isProduct || root->getNumOperands() < 2)
    return ops;
  SmallVector<Value> open = {root->getOperand(1)};
  bool isPlain = true;
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || !ops.insert(op).second)
      continue;
    isPlain &= isa<dl::CastOp, dl::ConvertLayoutOp>(op);
    llvm::append_range(open, op->getOperands());
  }
  if (isPlain)
    ops.clear();
  return ops;
}

/// `conv2d_add_relu`: what a kernel does, in dlc's words. Numbers, repetitions, layouts and, beside
/// other ops, casts say little about it.
static std::string nameOf(dl::FusionOp fusion) {
  static constexpr size_t kMaxParts = 5;
  // Whatever it reads through, and whatever is applied to its result.
  if (kindOf(fusion) == dlx::KernelKind::attention)
    return "attention";
  SmallVector<StringRef> parts;
  llvm::SmallPtrSet<Operation *, 16> unpacking = unpackingOf(fusion);
  if (!unpacking.empty())
    parts.push_back("unpack");
  for (Operation &op : fusion.getBodyBlock().without_terminator())
    if (!isRepetition(&op) && !isa<dl::ConvertLayoutOp>(op) && !unpacking.contains(&op))
      parts.push_back(op.getName().stripDialect());
  StringRef cast = dl::CastOp::getOperationName().split('.').second;
  if (llvm::is_contained(parts, cast)) {
    llvm::erase(parts, cast);
    if (parts.empty())
      parts.push_back(cast);
  }
  if (parts.empty())
    return fusion.getInputs().empty() ? "fill" : "rearrange";
  size_t left = parts.size() > kMaxParts ? parts.size() - kMaxParts : 0;
  std::string name = llvm::join(ArrayRef(parts).drop_back(left), "_");
  if (left)
    name += "_and_" + std::to_string(left) + "_more";
  return fusion.getInPlace() ? name + "_in_place" : name;
}

/// The concatenation that is to hold `tensor`, which a fusion computes; null if there is none.
static dl::CatOp concatOf(Value tensor) {
  if (tensor.getDefiningOp<dl::FusionOp>())
    for (Operation *user : tensor.getUsers())
      if (auto cat = dyn_cast<dl::CatOp>(user))
        return cat;
  return {};
}

/// The part of `cat` that `tensor` is.
static dlx::PartAttr partOf(dl::CatOp cat, Value tensor) {
  unsigned dim = dl::joinedDim(cat);
  AffineExpr first = dl::startsOf(cat)[llvm::find(cat.getTensors(), tensor).getIndex()],
             extent = dl::getDims(cast<RankedTensorType>(cat.getType()))[dim];
  return dlx::PartAttr::get(cat.getContext(), dim,
                            AffineMapAttr::get(dl::dimsMap({first, extent}, cat.getContext())));
}

/// Lets `body`, that of `fusion`, read inputs that lie in concatenations from there.
static void readParts(dl::FusionOp fusion, Region &body) {
  OpBuilder builder(fusion.getContext()); // the body has no parent yet
  builder.setInsertionPointToStart(&body.front());
  for (auto [input, argument] : llvm::zip_equal(fusion.getInputs(), body.getArguments())) {
    dl::CatOp cat = concatOf(input);
    if (!cat)
      continue;
    dlx::PartAttr part = partOf(cat, input);
    AffineExpr length = dl::getDims(cast<RankedTensorType>(input.getType()))[part.getDim()];
    auto map = [&](AffineExpr expr) { return dl::dimsMap({expr}, cat.getContext()); };
    argument.setType(cat.getType());
    auto read = dl::PartOp::create(builder, argument.getLoc(), input.getType(), argument,
                                   part.getDim(), map(part.getFirst()), map(length));
    argument.replaceAllUsesExcept(read.getY(), read);
  }
}

/// The kernel of `fusion`, which writes `part` of a buffer if that is not null: an earlier one that
/// computes the same, whose ops then carry both places of the model.
dlx::KernelOp OutlineKernels::kernelFor(dl::FusionOp fusion, dlx::PartAttr part) {
  KernelTable &table = fusion.getInPlace() ? inPlaceKernels : kernels[part];
  Region body;
  IRMapping mapping;
  fusion.getBody().cloneInto(&body, mapping);
  readParts(fusion, body);
  if (dlx::KernelOp kernel = table.find(body, fusion.getLoc())) {
    ++numShared;
    return kernel;
  }
  OpBuilder builder(&getContext());
  std::string name = nameOf(fusion);
  auto kernel = dlx::KernelOp::create(builder, fusion.getLoc(), part ? name + "_into_cat" : name,
                                      kindOf(fusion));
  kernel.setInPlace(fusion.getInPlace());
  if (part)
    kernel.setPartAttr(part);
  kernel.getBody().takeBody(body);
  symbols->insert(kernel);
  table.add(kernel);
  ++numKernels;
  return kernel;
}

/// Arguments of the function that hold states; they stand behind the inputs, and as many results
/// behind the outputs.
static unsigned numStates(func::FuncOp function) {
  unsigned count = 0;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    count += function.getArgAttr(i, "dl.state") != nullptr;
  return count;
}

/// The names of the model's inputs or outputs: `dl.name` of arguments and results from `begin` to
/// before `end`.
template <typename GetAttr>
static ArrayAttr namesOf(MLIRContext *context, unsigned begin, unsigned end, StringRef prefix,
                         GetAttr get) {
  SmallVector<Attribute> names;
  unsigned count = end - begin;
  for (unsigned i = begin; i < end; ++i) {
    auto name = dyn_cast_or_null<StringAttr>(get(i));
    names.push_back(name ? name
                         : StringAttr::get(context, prefix + (count > 1 ? std::to_string(i) : "")));
  }
  return ArrayAttr::get(context, names);
}

LogicalResult OutlineKernels::outline(func::FuncOp function) {
  MLIRContext *context = &getContext();
  Location loc = function.getLoc();
  OpBuilder builder(function);
  unsigned states = numStates(function), inputs = function.getNumArguments() - states;
  auto argName = [&](unsigned i) { return function.getArgAttr(i, "dl.name"); };
  auto resultName = [&](unsigned i) { return function.getResultAttr(i, "dl.name"); };
  auto program = dlx::ProgramOp::create(
      builder, loc, function.getName(), namesOf(context, 0, inputs, "input", argName),
      namesOf(context, 0, function.getNumResults() - states, "output", resultName),
      states ? namesOf(context, inputs, inputs + states, "state", argName) : ArrayAttr());
  if (Attribute precision = function->getAttr(dl::kStoredPrecision))
    program->setAttr(dl::kStoredPrecision, precision);
  Block &block = program.getBody().emplaceBlock();
  builder.setInsertionPointToEnd(&block);
  IRMapping mapping;
  for (BlockArgument argument : function.getArguments())
    mapping.map(argument, block.addArgument(bufferOf(argument), argument.getLoc()));

  auto mapped = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return mapping.lookup(value); });
  };
  for (Operation &op : function.front()) {
    if (auto weight = dyn_cast<dl::WeightOp>(op)) {
      mapping.map(weight.getY(),
                  dlx::WeightOp::create(builder, op.getLoc(), bufferOf(weight.getY()),
                                        weight.getNameAttr(), weight.getFileAttr(),
                                        weight.getOffsetAttr(), weight.getHashAttr(),
                                        weight.getSourceAttr()));
    } else if (keepsBytes(&op)) {
      mapping.map(op.getResult(0),
                  dlx::ViewOp::create(builder, op.getLoc(), bufferOf(op.getResult(0)),
                                      mapping.lookup(op.getOperand(0))));
    } else if (auto fusion = dyn_cast<dl::FusionOp>(op)) {
      bool init = llvm::all_of(fusion.getOutputs(),
                               [&](Value value) { return weights.dependsOnWeightsAlone(value); });
      auto allocate = [&](Value tensor) {
        return dlx::AllocOp::create(builder, op.getLoc(), bufferOf(tensor), init);
      };
      dl::CatOp cat = concatOf(fusion.getOutputs().front());
      dlx::PartAttr part;
      SmallVector<Value> outputs;
      if (fusion.getInPlace()) {
        outputs.push_back(mapping.lookup(fusion.getUpdatedInput()));
      } else if (cat) {
        part = partOf(cat, fusion.getOutputs().front());
        if (!mapping.contains(cat.getY()))
          mapping.map(cat.getY(), allocate(cat.getY()));
        outputs.push_back(mapping.lookup(cat.getY()));
      } else {
        llvm::append_range(outputs, llvm::map_range(fusion.getOutputs(), allocate));
      }
      auto launch =
          dlx::LaunchOp::create(builder, op.getLoc(), kernelFor(fusion, part).getSymName(),
                                mapped(fusion.getInputs()), outputs, init);
      launch.setEdgesAttr(fusion.getEdgesAttr());
      launch.setCopiedAttr(fusion.getCopiedAttr());
      mapping.map(fusion.getOutputs(), outputs);
    } else if (isa<dl::CatOp>(op)) {
      assert(mapping.contains(op.getResult(0)) && "written by the kernels of its tensors");
    } else if (isa<func::ReturnOp>(op)) {
      dlx::ReturnOp::create(builder, op.getLoc(), mapped(op.getOperands()));
    } else {
      return op.emitOpError(
          "is outside a fusion; expected the form that the fuse phase leaves (form-fusions)");
    }
  }
  symbols->erase(function);
  return success();
}

void OutlineKernels::runOnOperation() {
  ModuleOp module = getOperation();
  symbols.emplace(module);
  kernels.clear();
  inPlaceKernels = {};
  weights = {};
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (failed(outline(function)))
      return signalPassFailure();
}

} // namespace dlc
