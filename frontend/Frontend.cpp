//===- Frontend.cpp - From a user's file to a verified dl module --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Frontend.h"

#include "frontend/HeldReports.h"
#include "frontend/SiblingFile.h"
#include "frontend/dl/declare/Elaborate.h"
#include "frontend/dl/lower/Lower.h"
#include "frontend/dl/syntax/Include.h"
#include "frontend/dl/syntax/Parser.h"
#include "frontend/onnx/Import.h"
#include "frontend/weights/WeightBinding.h"
#include "ir/dl/DLDialect.h"
#include "ir/dl/control/Flow.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace dlc {

using namespace frontend;

/// Opens what the model's weights come from and binds them.
static BoundWeights openWeights(StringRef path, const Model &model, const ImportOptions &options,
                                Diagnostics &diagnostics, MLIRContext &context) {
  const Layer *owner = nullptr;
  for (const auto &[name, layer] : model.layers)
    if (!layer.weights.empty() && !owner)
      owner = &layer;
  if (options.weights.empty() && model.weights.empty()) {
    if (owner && !options.mayLackWeights)
      diagnostics.error(owner->decl->path.loc)
          << "layer " << quote(owner->path)
          << " has weights, but the file names none; add 'weights \"model.safetensors\"' or use "
             "--weights";
    return {};
  }
  auto clauses = openClauses(path, model, options.weights, diagnostics);
  if (!clauses)
    return {};
  return bindWeights(model, *clauses, diagnostics, &context, !options.withoutHashes);
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readSource(StringRef path,
                                                               const ImportOptions &options) {
  if (options.unsaved)
    if (auto text = options.unsaved->find(path); text != options.unsaved->end())
      return llvm::MemoryBuffer::getMemBuffer(text->second, path);
  auto buffer = mapFile(path);
  if (buffer && (*buffer)->getBufferSize() > kMaxSourceBytes)
    return llvm::createStringError(
        quote(path) + " has " + std::to_string((*buffer)->getBufferSize()) +
        " bytes; the limit of a model's text is " + std::to_string(kMaxSourceBytes) +
        ". Weights belong in a safetensors file");
  return buffer;
}

bool isOnnx(StringRef path) { return path.ends_with(".onnx"); }

/// One attempt to import a .dl file.
static OwningOpRef<ModuleOp> importText(StringRef path, const ImportOptions &options,
                                        MLIRContext &context, CountedSizes &counted) {
  auto buffer = readSource(path, options);
  if (!buffer) {
    emitError(UnknownLoc::get(&context)) << llvm::toString(buffer.takeError());
    return {};
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), {});
  Diagnostics diagnostics(sources, context);
  diagnostics.index = options.index;
  SourceFile file =
      parseSource(sources.getMemoryBuffer(sources.getMainFileID())->getBuffer(), diagnostics);
  if (diagnostics.isFull())
    return {};
  auto included = loadIncludes(
      file, path, sources, [&](StringRef name) { return readSource(name, options); }, diagnostics);
  if (diagnostics.isFull())
    return {};
  bool hasGaps = file.hasGaps;
  SmallVector<const SourceFile *> others;
  for (const auto &other : included) {
    others.push_back(other.get());
    hasGaps |= other->hasGaps;
  }
  if (options.mayLackModel && !hasGaps && file.models.empty() && file.sequentials.empty() &&
      !file.blocks.empty()) {
    llvm::StringMap<const BlockDecl *> blocks;
    collectBlocks(file, others, blocks, diagnostics);
    return diagnostics.hasErrors() ? OwningOpRef<ModuleOp>()
                                   : ModuleOp::create(UnknownLoc::get(&context));
  }
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  // What could be read is checked even where the rest could not: all errors of a file in one run.
  std::optional<Model> model;
  if (!hasGaps) {
    auto sizes = sizesOf(file, others, options.model, options.shapes, sources, &context);
    if (!sizes && options.fault)
      *options.fault = ImportFault::ofCall;
    if (sizes)
      model = analyze(file, others, options.model, *sizes, diagnostics, *module);
  }
  if (!model || diagnostics.isFull())
    return {};
  BoundWeights weights;
  if (!options.withoutWeights)
    weights = openWeights(path, *model, options, diagnostics, context);
  (*module)->setLoc(diagnostics.translate(model->name.loc));
  module->setSymName(model->name.name);
  lowerForward(*model, weights, diagnostics, *module, counted);
  if (diagnostics.hasErrors() || failed(verify(*module)))
    return {};
  return module;
}

/// Counted sizes serve where each op takes them and no data decide what runs; else they are read.
/// Where neither serves, the attempt of fewer errors says them.
static OwningOpRef<ModuleOp> importText(StringRef path, const ImportOptions &options,
                                        MLIRContext &context) {
  SourceIndex before = options.index ? *options.index : SourceIndex();
  HeldReports first(context, options.fault);
  CountedSizes counted;
  OwningOpRef<ModuleOp> module = importText(path, options, context, counted);
  first.stop();
  if (counted.exist && (!module || dl::hasFlow(*module))) {
    SourceIndex found = options.index ? std::exchange(*options.index, before) : SourceIndex();
    HeldReports second(context, options.fault);
    CountedSizes read{/*areRead=*/true};
    OwningOpRef<ModuleOp> again = importText(path, options, context, read);
    second.stop();
    if (again || module || second.errorCount() < first.errorCount()) {
      second.say();
      return again;
    }
    if (options.index)
      *options.index = std::move(found);
  }
  first.say();
  return module;
}

OwningOpRef<ModuleOp> importFile(StringRef path, const ImportOptions &options,
                                 MLIRContext &context) {
  if (isOnnx(path))
    return onnx::importFile(path, options, context);
  context.loadDialect<dl::DLDialect, func::FuncDialect>();
  return importText(path, options, context);
}

} // namespace dlc
