//===- Package.cpp - Writes a model.bin ------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table names absolute offsets of segments, and the segments lie behind the table: so it is packed twice, first to
// learn its size. Every field is written, defaults too, which makes that size independent of the offsets.
//===----------------------------------------------------------------------------------------------===//
#include "codegen/package/Package.h"

#include "codegen/package/ProgramTable.h"
#include "ir/analysis/CostModel.h"
#include "ir/dl/DLOps.h"
#include "ir/dl/base/PrecisionMarks.h"
#include "runtime/schema/ModuleHeader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"

#include <cstring>
#include <deque>

using namespace mlir;

namespace dlc::codegen {

namespace {
/// Bytes that will come after the table, and the places in the table that name them.
struct PlacedBytes {
  ArrayRef<uint8_t> bytes;
  SmallVector<std::unique_ptr<schema::Segment> *, 1> slots;
};

class PackageWriter {
public:
  PackageWriter(ModuleOp module, const GeneratedCode &code, ReadPacked readPacked)
      : module(module), code(code), readPacked(readPacked) {}
  LogicalResult build();
  LogicalResult write(llvm::raw_ostream &os);

private:
  LogicalResult addPrograms();
  void addCpuImages(schema::ProgramT &program);
  void addCudaBinaries(schema::ProgramT &program);
  LogicalResult addWeights();
  LogicalResult addSignature(dlx::ProgramOp program);
  void addSegment(ArrayRef<uint8_t> bytes, std::unique_ptr<schema::Segment> &slot);
  /// The same, but that weights of equal bytes lie there once.
  void addSharedSegment(ArrayRef<uint8_t> bytes, std::unique_ptr<schema::Segment> &slot);
  FailureOr<ArrayRef<uint8_t>> mapFile(dlx::WeightOp weight, StringRef path);
  FailureOr<ArrayRef<uint8_t>> bytesOf(dlx::WeightOp weight, uint64_t count);

  ModuleOp module;
  const GeneratedCode &code;
  ReadPacked readPacked;
  schema::ModuleT table;
  ExpressionTable expressions;
  WeightTable weights;
  std::vector<PlacedBytes> segments;
  /// Those of weights, by a hash of their bytes.
  llvm::DenseMap<std::pair<uint64_t, uint64_t>, SmallVector<size_t, 1>> weightSegments;
  llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> files;
  std::deque<std::vector<uint8_t>> unpacked;
};
} // namespace

static std::string hexOf(const schema::Segment &segment) {
  return llvm::utohexstr(segment.hash_high(), /*LowerCase=*/true, 16) +
         llvm::utohexstr(segment.hash_low(), /*LowerCase=*/true, 16);
}

void PackageWriter::addSegment(ArrayRef<uint8_t> bytes, std::unique_ptr<schema::Segment> &slot) {
  auto hash = llvm::xxh3_128bits(bytes);
  slot = std::make_unique<schema::Segment>(0, bytes.size(), hash.low64, hash.high64);
  segments.push_back({bytes, {&slot}});
}

void PackageWriter::addSharedSegment(ArrayRef<uint8_t> bytes,
                                     std::unique_ptr<schema::Segment> &slot) {
  addSegment(bytes, slot);
  // DenseMap keeps two keys for itself.
  auto &known = weightSegments[{slot->hash_low() >> 1, slot->hash_high()}];
  for (size_t number : known)
    if (segments[number].bytes == bytes) {
      segments.pop_back();
      segments[number].slots.push_back(&slot);
      return;
    }
  known.push_back(segments.size() - 1);
}

void PackageWriter::addCpuImages(schema::ProgramT &program) {
  for (const CpuCode &cpu : code.cpu) {
    auto image = std::make_unique<schema::CpuImageT>();
    image->isa = cpu.isa;
    image->features = cpu.features;
    for (const auto &[name, slot] : cpu.imports) {
      image->imports.push_back(std::make_unique<schema::ImportT>());
      image->imports.back()->name = name;
      image->imports.back()->slot = slot;
    }
    addSegment(cpu.image, image->code);
    program.cpu_images.push_back(std::move(image));
  }
}

void PackageWriter::addCudaBinaries(schema::ProgramT &program) {
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
      addSegment(
          ArrayRef(reinterpret_cast<const uint8_t *>(binary.code.data()), binary.code.size()),
          cubin->data);
      program.cuda_sources[kernel->cuda_source]->cubins.push_back(std::move(cubin));
    }
  }
}

FailureOr<ArrayRef<uint8_t>> PackageWriter::mapFile(dlx::WeightOp weight, StringRef path) {
  std::unique_ptr<llvm::MemoryBuffer> &file = files[path];
  if (!file) {
    auto opened =
        llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!opened)
      return weight.emitError("cannot read weights file '")
             << path << "': " << opened.getError().message();
    file = std::move(*opened);
  }
  return ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(file->getBufferStart()),
                           file->getBufferSize());
}

FailureOr<ArrayRef<uint8_t>> PackageWriter::bytesOf(dlx::WeightOp weight, uint64_t count) {
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
    return ArrayRef<uint8_t>(unpacked.emplace_back(std::move(*bytes)));
  }
  auto file = mapFile(weight, path);
  if (failed(file))
    return failure();
  if (offset > file->size() || count > file->size() - offset)
    return weight.emitError("weight '")
           << weight.getName() << "' needs bytes " << offset << " to " << offset + count << " of '"
           << path << "', which has " << file->size();
  return file->slice(offset, count);
}

LogicalResult PackageWriter::addWeights() {
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
    addSharedSegment(*bytes, weight->data);
    // The file was read when the model was imported; nobody may have written to it since.
    if (op.getHash().size() == 32 && op.getHash() != hexOf(*weight->data))
      return op.emitError("weight '")
             << op.getName() << "' in '" << *op.getFile()
             << "' has changed while the model was compiled; compile it again";
    table.weights.push_back(std::move(weight));
  }
  return success();
}

LogicalResult PackageWriter::addSignature(dlx::ProgramOp program) {
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

LogicalResult PackageWriter::addPrograms() {
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

LogicalResult PackageWriter::build() {
  table.producer = "dlc " DLC_VERSION;
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
      if (symbol.isCounted())
        table.symbols.back()->most = expressions.add(symbol.getMost().getResult(0));
      if (symbol.isDerived()) // before any expression that names the symbol
        table.symbols.back()->derived = expressions.add(symbol.getDerived());
    }
  if (failed(addPrograms()) || failed(addWeights()))
    return failure();
  if (auto needs = module->getAttrOfType<ArrayAttr>("dl.needs"))
    for (auto need : needs.getAsRange<DictionaryAttr>()) {
      table.needs.push_back(std::make_unique<schema::NeedT>());
      table.needs.back()->dim =
          expressions.add(need.getAs<AffineMapAttr>("dim").getValue().getResult(0));
      table.needs.back()->least = need.getAs<IntegerAttr>("least").getInt();
      table.needs.back()->why = need.getAs<StringAttr>("why").str();
      table.needs.back()->exact = need.contains("exact");
    }
  if (auto cache = module->getAttrOfType<DictionaryAttr>("dl.cache")) {
    table.cache = std::make_unique<schema::CacheT>();
    table.cache->capacity = static_cast<uint32_t>(cache.getAs<IntegerAttr>("capacity").getInt());
    table.cache->step = expressions.add(cache.getAs<AffineMapAttr>("step").getValue().getResult(0));
  }
  if (auto command = module->getAttrOfType<StringAttr>("dl.fitted_by"))
    table.fitted_by = command.str();
  table.expressions = expressions.getNodes();
  return success();
}

LogicalResult PackageWriter::write(llvm::raw_ostream &os) {
  auto pack = [&](flatbuffers::FlatBufferBuilder &builder) {
    builder.ForceDefaults(true);
    schema::FinishModuleBuffer(builder, schema::Module::Pack(builder, &table));
  };
  flatbuffers::FlatBufferBuilder measured;
  pack(measured);
  uint64_t end = schema::kTableOffset + measured.GetSize();
  for (PlacedBytes &segment : segments) {
    uint64_t offset = llvm::alignTo(end, schema::kSegmentAlignment);
    for (std::unique_ptr<schema::Segment> *slot : segment.slots) {
      schema::Segment &place = **slot;
      place = schema::Segment(offset, place.bytes(), place.hash_low(), place.hash_high());
    }
    end = offset + segment.bytes.size();
  }
  flatbuffers::FlatBufferBuilder builder;
  pack(builder);
  if (builder.GetSize() != measured.GetSize())
    llvm::report_fatal_error("the package's table changed its size between two builds");

  schema::ModuleHeader header = {};
  std::memcpy(header.magic, schema::kMagic, sizeof(header.magic));
  header.formatVersion = schema::kFormatVersion;
  header.abiVersion = schema::kAbiVersion;
  header.fileBytes = end;
  header.tableBytes = builder.GetSize();
  auto tableHash = llvm::xxh3_128bits({builder.GetBufferPointer(), builder.GetSize()});
  header.tableHash[0] = tableHash.low64;
  header.tableHash[1] = tableHash.high64;
  auto headerHash = llvm::xxh3_128bits(
      {reinterpret_cast<const uint8_t *>(&header), offsetof(schema::ModuleHeader, headerHash)});
  header.headerHash[0] = headerHash.low64;
  header.headerHash[1] = headerHash.high64;

  os.reserveExtraSpace(end); // a buffer that doubled as it grew would hold the weights three times
  os.write(reinterpret_cast<const char *>(&header), sizeof(header));
  os.write(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
  uint64_t position = schema::kTableOffset + builder.GetSize();
  for (const PlacedBytes &segment : segments) {
    uint64_t offset = (*segment.slots.front())->offset();
    os.write_zeros(offset - position);
    os.write(reinterpret_cast<const char *>(segment.bytes.data()), segment.bytes.size());
    position = offset + segment.bytes.size();
  }
  return success();
}

LogicalResult writePackage(ModuleOp module, const GeneratedCode &code, ReadPacked readPacked,
                           llvm::raw_ostream &os) {
  PackageWriter writer(module, code, readPacked);
  return failure(failed(writer.build()) || failed(writer.write(os)));
}

} // namespace dlc::codegen
