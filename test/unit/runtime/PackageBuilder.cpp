//===- PackageBuilder.cpp - Small packages made by hand, without the compiler ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "test/unit/runtime/PackageBuilder.h"
#include "runtime/core/DType.h"
#include "runtime/core/package/Hash.h"

#include <cstddef>
#include <cstring>

using namespace dlc;
using namespace dlc::test;
using namespace dlc::schema;

PackageBuilder::PackageBuilder() {
  module.producer = "dlc test";
  module.model = "model";
  constant(0); // row 0: the default of scratch, flops and bytes
}

Expr PackageBuilder::symbol(const std::string &name, int64_t min, int64_t max) {
  auto symbol = std::make_unique<SymbolT>();
  symbol->name = name;
  symbol->min = min;
  symbol->max = max;
  module.symbols.push_back(std::move(symbol));
  module.expressions.push_back({ExprOp::symbol, 0, 0, int64_t(module.symbols.size()) - 1});
  return {uint32_t(module.expressions.size()) - 1};
}

Expr PackageBuilder::constant(int64_t value) {
  module.expressions.push_back({ExprOp::constant, 0, 0, value});
  return {uint32_t(module.expressions.size()) - 1};
}

Expr PackageBuilder::apply(ExprOp op, Expr lhs, Expr rhs) {
  module.expressions.push_back({op, lhs.row, rhs.row, 0});
  return {uint32_t(module.expressions.size()) - 1};
}

Expr PackageBuilder::product(const std::vector<Expr> &factors) {
  Expr out = factors[0];
  for (size_t i = 1; i < factors.size(); ++i)
    out = apply(ExprOp::mul, out, factors[i]);
  return out;
}

static std::vector<uint32_t> rows(const std::vector<Expr> &exprs) {
  std::vector<uint32_t> out;
  for (Expr expr : exprs)
    out.push_back(expr.row);
  return out;
}

static std::unique_ptr<ValueT> makeValue(const std::string &name, DType dtype,
                                         const std::vector<Expr> &dims) {
  auto value = std::make_unique<ValueT>();
  value->name = name;
  value->dtype = dtype;
  value->dims = rows(dims);
  return value;
}

uint32_t PackageBuilder::input(const std::string &name, DType dtype,
                               const std::vector<Expr> &dims) {
  module.inputs.push_back(makeValue(name, dtype, dims));
  return module.inputs.size() - 1;
}

uint32_t PackageBuilder::output(const std::string &name, DType dtype,
                                const std::vector<Expr> &dims) {
  module.outputs.push_back(makeValue(name, dtype, dims));
  return module.outputs.size() - 1;
}

uint32_t PackageBuilder::weight(const std::string &name, const std::vector<float> &values,
                                const std::vector<uint64_t> &dims) {
  auto weight = std::make_unique<WeightT>();
  weight->name = name;
  weight->dtype = DType::f32;
  weight->dims = dims;
  weight->data = std::make_unique<Segment>();
  module.weights.push_back(std::move(weight));
  auto *bytes = reinterpret_cast<const uint8_t *>(values.data());
  weightBytes.emplace_back(bytes, bytes + 4 * values.size());
  return module.weights.size() - 1;
}

ProgramT &PackageBuilder::program(Target target) {
  module.programs.push_back(std::make_unique<ProgramT>());
  ProgramT &program = *module.programs.back();
  program.target = target;
  if (target == Target::cpu) {
    auto image = std::make_unique<CpuImageT>();
    image->isa = "sse2";
    image->code = std::make_unique<Segment>();
    program.cpu_images.push_back(std::move(image));
    imageBytes.emplace_back();
  }
  return program;
}

uint32_t PackageBuilder::buffer(Storage storage, DType dtype, const std::vector<Expr> &dims,
                                uint32_t index, uint32_t firstUse, uint32_t lastUse) {
  auto buffer = std::make_unique<BufferT>();
  buffer->storage = storage;
  buffer->dtype = dtype;
  buffer->dims = rows(dims);
  buffer->index = index;
  buffer->first_use = firstUse;
  buffer->last_use = lastUse;
  std::vector<Expr> factors = dims;
  factors.push_back(constant(rt::bytesOf(dtype)));
  buffer->bytes = product(factors).row;
  ProgramT &program = *module.programs.back();
  program.buffers.push_back(std::move(buffer));
  return program.buffers.size() - 1;
}

uint32_t PackageBuilder::kernel(const std::string &name, abi::CpuKernel function) {
  ProgramT &program = *module.programs.back();
  std::vector<uint8_t> &code = imageBytes.back();
  auto kernel = std::make_unique<KernelT>();
  kernel->name = name;
  kernel->kind = "map";
  kernel->lines = {"model.dl:3:7"};
  kernel->cpu.push_back(CpuEntry(0, uint32_t(code.size())));
  // movabs rax, function; jmp rax
  auto address = reinterpret_cast<uint64_t>(function);
  code.insert(code.end(), {0x48, 0xb8});
  for (int byte = 0; byte < 8; ++byte)
    code.push_back(uint8_t(address >> (8 * byte)));
  code.insert(code.end(), {0xff, 0xe0});
  program.kernels.push_back(std::move(kernel));
  return program.kernels.size() - 1;
}

uint32_t PackageBuilder::cudaKernel(const std::string &name, const std::string &source,
                                    uint32_t threads) {
  ProgramT &program = *module.programs.back();
  auto text = std::make_unique<CudaSourceT>();
  text->text = source;
  program.cuda_sources.push_back(std::move(text));
  auto kernel = std::make_unique<KernelT>();
  kernel->name = name;
  kernel->kind = "map";
  kernel->lines = {"model.dl:3:7"};
  kernel->cuda_source = program.cuda_sources.size() - 1;
  kernel->block = {threads};
  program.kernels.push_back(std::move(kernel));
  return program.kernels.size() - 1;
}

void PackageBuilder::cubin(uint32_t source, uint32_t arch, CubinVariant variant,
                           const std::string &code) {
  auto cubin = std::make_unique<CubinT>();
  cubin->arch = arch;
  cubin->variant = variant;
  cubin->producer = "NVRTC 13.0";
  cubin->data = std::make_unique<Segment>();
  // In the order in which file() meets them.
  size_t before = 0;
  auto &sources = module.programs.back()->cuda_sources;
  for (uint32_t i = 0; i <= source; ++i)
    before += sources[i]->cubins.size();
  cubinBytes.insert(cubinBytes.begin() + before, {code.begin(), code.end()});
  sources[source]->cubins.push_back(std::move(cubin));
}

void PackageBuilder::launch(uint32_t kernel, const std::vector<Arg> &args,
                            const std::vector<Expr> &grid, Expr scratch, bool init) {
  auto entry = std::make_unique<CommandEntryT>();
  LaunchT launch;
  launch.kernel = kernel;
  launch.args = args;
  launch.grid = rows(grid);
  launch.scratch_bytes = scratch.row;
  entry->command.Set(std::move(launch));
  ProgramT &program = *module.programs.back();
  (init ? program.init : program.main).push_back(std::move(entry));
}

void PackageBuilder::copy(uint32_t source, uint32_t target) {
  auto entry = std::make_unique<CommandEntryT>();
  CopyT copy;
  copy.source = source;
  copy.target = target;
  entry->command.Set(copy);
  module.programs.back()->main.push_back(std::move(entry));
}

static std::vector<uint8_t> pack(const ModuleT &module) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(Module::Pack(builder, &module), ModuleIdentifier());
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

void dlc::test::rehash(std::vector<uint8_t> &file) {
  ModuleHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  rt::Hash128 table = rt::hashBytes(file.data() + kTableOffset, header.tableBytes);
  header.tableHash[0] = table.low;
  header.tableHash[1] = table.high;
  rt::Hash128 head = rt::hashBytes(&header, offsetof(ModuleHeader, headerHash));
  header.headerHash[0] = head.low;
  header.headerHash[1] = head.high;
  std::memcpy(file.data(), &header, sizeof(header));
}

namespace {

/// Gives each segment of bytes its place in the file. Places that a test has set (offset not 0)
/// stay.
struct Placement {
  uint64_t end;
  std::vector<std::pair<uint64_t, const std::vector<uint8_t> *>> blobs;

  void place(Segment *segment, const std::vector<uint8_t> &bytes) {
    if (!segment || segment->offset() != 0)
      return;
    end = (end + kSegmentAlignment - 1) / kSegmentAlignment * kSegmentAlignment;
    rt::Hash128 hash = rt::hashBytes(bytes.data(), bytes.size());
    *segment = Segment(end, bytes.size(), hash.low, hash.high);
    blobs.emplace_back(end, &bytes);
    end += bytes.size();
  }

  void placeAll(ModuleT &module, const PackageBuilder &builder) {
    size_t image = 0;
    for (auto &program : module.programs)
      for (auto &code : program->cpu_images) {
        size_t index = std::min(image++, builder.imageBytes.size() - 1);
        place(code->code.get(), builder.imageBytes[index]);
      }
    size_t cubin = 0;
    for (auto &program : module.programs)
      for (auto &source : program->cuda_sources)
        for (auto &code : source->cubins)
          place(code->data.get(), builder.cubinBytes[cubin++]);
    for (size_t i = 0; i < module.weights.size(); ++i)
      place(module.weights[i]->data.get(), builder.weightBytes[i]);
  }
};

} // namespace

std::vector<uint8_t> PackageBuilder::file() const {
  // The builder may be changed and asked again.
  ModuleT placed = module;
  for (const PackageBuilder &segment : segments)
    placed.segments.push_back(std::make_unique<ModuleT>(segment.module));
  // A segment's place changes no size in the table, so it is packed twice.
  Placement places{kTableOffset + pack(placed).size(), {}};
  places.placeAll(placed, *this);
  for (size_t i = 0; i < segments.size(); ++i)
    places.placeAll(*placed.segments[i], segments[i]);
  std::vector<uint8_t> table = pack(placed);
  std::vector<uint8_t> file(places.end);
  ModuleHeader header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.formatVersion = kFormatVersion;
  header.abiVersion = kAbiVersion;
  header.fileBytes = file.size();
  header.tableBytes = table.size();
  std::memcpy(file.data(), &header, sizeof(header));
  std::memcpy(file.data() + kTableOffset, table.data(), table.size());
  for (auto [offset, bytes] : places.blobs)
    if (!bytes->empty())
      std::memcpy(file.data() + offset, bytes->data(), bytes->size());
  rehash(file);
  return file;
}

static void twice(const abi::CpuArgs *args, int64_t begin, int64_t end, void *) {
  auto *x = static_cast<const float *>(args->buffers[0]);
  auto *y = static_cast<float *>(args->buffers[1]);
  for (int64_t i = begin * 4; i < end * 4; ++i)
    y[i] = 2 * x[i];
}

static void addRow(const abi::CpuArgs *args, int64_t begin, int64_t end, void *) {
  auto *x = static_cast<const float *>(args->buffers[0]);
  auto *w = static_cast<const float *>(args->buffers[1]);
  auto *y = static_cast<float *>(args->buffers[2]);
  int64_t width = args->dims[0];
  for (int64_t row = begin; row < end; ++row)
    for (int64_t i = 0; i < width; ++i)
      y[row * width + i] = x[row * width + i] + w[i];
}

PackageBuilder dlc::test::affinePackage() {
  PackageBuilder package;
  Expr n = package.symbol("N", 0, 64), four = package.constant(4);
  package.input("x", DType::f32, {n, four});
  package.output("y", DType::f32, {n, four});
  package.weight("bias", {1, 2, 3, 4}, {4});
  package.program(Target::cpu);
  uint32_t x = package.buffer(Storage::input, DType::f32, {n, four});
  uint32_t w = package.buffer(Storage::weight, DType::f32, {four});
  uint32_t h = package.buffer(Storage::arena, DType::f32, {n, four}, 0, 0, 1);
  uint32_t y = package.buffer(Storage::output, DType::f32, {n, four});
  using B = PackageBuilder;
  package.launch(package.kernel("twice", twice), {B::buffer(x), B::buffer(h)}, {n});
  package.launch(package.kernel("add_row", addRow),
                 {B::buffer(h), B::buffer(w), B::buffer(y), B::dim(four)}, {n});
  return package;
}

PackageBuilder dlc::test::delayPackage(schema::Target target) {
  PackageBuilder p;
  std::vector<Expr> dims = {p.symbol("N", 1, 64), p.constant(4)};
  uint32_t x = p.input("x", schema::DType::f32, dims), y = p.output("y", schema::DType::f32, dims);
  auto state = std::make_unique<schema::ValueT>(*p.module.inputs[x]);
  state->name = "before";
  p.module.states.push_back(std::move(state));
  p.program(target);
  uint32_t in = p.buffer(schema::Storage::input, schema::DType::f32, dims, x),
           out = p.buffer(schema::Storage::output, schema::DType::f32, dims, y),
           held = p.buffer(schema::Storage::state, schema::DType::f32, dims, 0);
  p.copy(held, out);
  p.copy(in, held);
  return p;
}
