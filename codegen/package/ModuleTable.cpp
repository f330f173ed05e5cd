//===- ModuleTable.cpp - One module as the package stores it ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/package/ModuleTable.h"

#include "ir/analysis/CostModel.h"
#include "ir/dl/DLOps.h"
#include "ir/dl/base/PrecisionMarks.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc::codegen {

static std::string hexOf(const schema::Segment &segment) {
  return llvm::utohexstr(segment.hash_high(), /*LowerCase=*/true, 16) +
         llvm::utohexstr(segment.hash_low(), /*LowerCase=*/true, 16);
}

void ModuleTable::addCpuImages(schema::ProgramT &program) {
  for (const CpuCode &cpu : code.cpu) {
    auto image = std::make_unique<schema::CpuImageT>();
    image->isa = cpu.isa;
    image->features = cpu.features;
    for (const auto &[name, slot] : cpu.imports) {
      image->imports.push_back(std::make_unique<schema::ImportT>());
      image->imports.back()->name = name;
      image->imports.back()->slot = slot;
    }
    store.add(cpu.image, image->code);
    program.cpu_images.push_back(std::move(image));
  }
}

void ModuleTable::addCudaBinaries(schema::ProgramT &program) {
  std::vector<bool> done(program.cuda_sources.size());
  for (const auto &kernel : program.kernels) {
    if (done[kernel->cuda_source])
      continue;
    done[kernel->cuda_source] = true;
    for (const CudaBinary &binary : code.cuda.at(kernel->name).binaries) {
      auto cubin = std::make_unique<schema::CubinT>();
      cubin->arch = binary.arch;
      cubin->variant = binary.variant;
      cubin->producer = binary.producer;
      store.add(ArrayRef(reinterpret_cast<const uint8_t *>(binary.code.data()), binary.code.size()),
                cubin->data);
      program.cuda_sources[kernel->cuda_source]->cubins.push_back(std::move(cubin));
    }
  }
}

FailureOr<ArrayRef<uint8_t>> ModuleTable::bytesOf(dlx::WeightOp weight, uint64_t count) {
  StringRef path = *weight.getFile();
  uint64_t offset = weight.getOffset();
  if (offset == ~uint64_t(0)) {
    auto bytes = readPacked(weight, path, weight.getSource().value_or(weight.getName()));
    if (failed(bytes))
      return failure();
    if (bytes->size() != count)
      return weight.emitError("weight '")
             << weight.getName() << "' needs " << count << " bytes of '" << path << "', which has "
             << bytes->size() << " for it now";
    return store.keep(std::move(*bytes));
  }
  auto file = store.mapFile(weight, path);
  if (failed(file))
    return failure();
  if (offset > file->size() || count > file->size() - offset)
    return weight.emitError("weight '")
           << weight.getName() << "' needs bytes " << offset << " to " << offset + count << " of '"
           << path << "', which has " << file->size();
  return file->slice(offset, count);
}

LogicalResult ModuleTable::addWeights() {
  for (dlx::WeightOp op : weights.getWeights()) {
    RankedTensorType tensor = op.getType().getTensor();
    if (!tensor.hasStaticShape())
      return op.emitError("weight '")
             << op.getName() << "' needs static dims, got " << dl::text(tensor, op);
    if (!op.getFile())
      return op.emitError("weight '") << op.getName()
                                      << "' is bound to no file; add `weights "
                                         "\"file.safetensors\"` to the model or pass --weights";
    auto bytes = bytesOf(op, *dl::asConstant(storedBytes(tensor)));
    if (failed(bytes))
      return failure();
    auto weight = std::make_unique<schema::WeightT>();
    weight->name = op.getName().str();
    weight->dtype = dtypeOf(tensor.getElementType());
    weight->dims.assign(tensor.getShape().begin(), tensor.getShape().end());
    if (op.getSource())
      weight->source = op.getSource()->str();
    store.addShared(*bytes, weight->data);
    // The file was read when the model was imported; nobody may have written to it since.
    if (op.getHash().size() == 32 && op.getHash() != hexOf(*weight->data))
      return op.emitError("weight '")
             << op.getName() << "' in '" << *op.getFile()
             << "' has changed while the model was compiled; compile it again";
    table.weights.push_back(std::move(weight));
  }
  return success();
}

LogicalResult ModuleTable::addSignature(dlx::ProgramOp program) {
  auto add = [&](ArrayAttr names, ValueRange values,
                 std::vector<std::unique_ptr<schema::ValueT>> &list) {
    for (auto [name, value] : llvm::zip(names.getAsValueRange<StringAttr>(), values)) {
      RankedTensorType tensor = cast<dlx::BufferType>(value.getType()).getTensor();
      if (!dl::getLayout(tensor).isRowMajor()) {
        program.emitOpError("has '") << name << "' in a layout that is not row-major";
        return false;
      }
      list.push_back(std::make_unique<schema::ValueT>());
      list.back()->name = name.str();
      list.back()->dtype = dtypeOf(tensor.getElementType());
      list.back()->dims = expressions.addAll(dl::getDims(tensor));
    }
    return true;
  };
  Block &block = program.getBodyBlock();
  return success(
      add(program.getInputNames(),
          ValueRange(block.getArguments()).drop_back(program.getNumStates()), table.inputs) &&
      (!program.getStateNames() ||
       add(*program.getStateNames(), program.getStates(), table.states)) &&
      add(program.getOutputNames(), block.getTerminator()->getOperands(), table.outputs));
}

LogicalResult ModuleTable::addPrograms() {
  std::map<std::string, uint32_t> headerIndex;
  for (const auto &[name, text] : code.cudaHeaders) {
    headerIndex[name] = table.cuda_headers.size();
    table.cuda_headers.push_back(std::make_unique<schema::CudaHeaderT>());
    table.cuda_headers.back()->name = name;
    table.cuda_headers.back()->text = text;
  }
  for (auto [name, target] :
       {std::pair{"cpu", schema::Target::cpu}, std::pair{"cuda", schema::Target::cuda}}) {
    auto nested = module.lookupSymbol<ModuleOp>(name);
    if (!nested)
      continue;
    auto programs = nested.getOps<dlx::ProgramOp>();
    if (!llvm::hasSingleElement(programs))
      return nested.emitOpError("needs one dlx.program");
    auto program = buildProgram(nested, target, code, headerIndex, expressions, weights);
    if (failed(program))
      return failure();
    if (target == schema::Target::cpu)
      addCpuImages(*program);
    else
      addCudaBinaries(*program);
    if (table.programs.empty()) {
      table.model = module.getSymName().value_or((*programs.begin()).getSymName()).str();
      auto precision = (*programs.begin())->getAttrOfType<TypeAttr>(dl::kStoredPrecision);
      table.precision = precision ? dtypeOf(precision.getValue()) : schema::DType::f32;
      if (failed(addSignature(*programs.begin())))
        return failure();
    }
    table.programs.push_back(std::make_unique<schema::ProgramT>(std::move(*program)));
  }
  if (table.programs.empty())
    return module.emitOpError("holds neither module @cpu nor module @cuda: nothing to package");
  return success();
}

void addSymbols(ModuleOp module, schema::ModuleT &table, ExpressionTable &expressions) {
  if (auto symbols = module->getAttrOfType<ArrayAttr>("dl.symbols"))
    for (auto symbol : symbols.getAsRange<dl::SymbolAttr>()) {
      table.symbols.push_back(std::make_unique<schema::SymbolT>());
      table.symbols.back()->name = symbol.getName().str();
      table.symbols.back()->min = symbol.getMin();
      table.symbols.back()->max = symbol.getMax();
      table.symbols.back()->counted = symbol.isCounted();
      table.symbols.back()->step = symbol.getStep();
      table.symbols.back()->offset = symbol.getOffset();
      table.symbols.back()->why = symbol.getWhy().str();
      table.symbols.back()->is_derived = symbol.isDerived();
      table.symbols.back()->read = symbol.isRead();
      if (symbol.isCounted())
        table.symbols.back()->most = expressions.add(symbol.getMost().getResult(0));
      if (symbol.isDerived()) // before any expression that names the symbol
        table.symbols.back()->derived = expressions.add(symbol.getDerived());
    }
}

void addCache(ModuleOp module, schema::ModuleT &table, ExpressionTable &expressions) {
  auto cache = module->getAttrOfType<DictionaryAttr>("dl.cache");
  if (!cache)
    return;
  table.cache = std::make_unique<schema::CacheT>();
  table.cache->capacity = static_cast<uint32_t>(cache.getAs<IntegerAttr>("capacity").getInt());
  table.cache->step = expressions.add(cache.getAs<AffineMapAttr>("step").getValue().getResult(0));
}

void ModuleTable::addNeeds() {
  if (auto needs = module->getAttrOfType<ArrayAttr>("dl.needs"))
    for (auto need : needs.getAsRange<DictionaryAttr>()) {
      table.needs.push_back(std::make_unique<schema::NeedT>());
      table.needs.back()->dim =
          expressions.add(need.getAs<AffineMapAttr>("dim").getValue().getResult(0));
      table.needs.back()->least = need.getAs<IntegerAttr>("least").getInt();
      table.needs.back()->why = need.getAs<StringAttr>("why").str();
      table.needs.back()->exact = need.contains("exact");
    }
}

LogicalResult ModuleTable::build(schema::ModuleT &result) {
  addSymbols(module, table, expressions);
  if (failed(addPrograms()) || failed(addWeights()))
    return failure();
  addNeeds();
  addCache(module, table, expressions);
  if (auto command = module->getAttrOfType<StringAttr>("dl.fitted_by"))
    table.fitted_by = command.str();
  table.expressions = expressions.getNodes();
  result = std::move(table);
  return success();
}

} // namespace dlc::codegen
