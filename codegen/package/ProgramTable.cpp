//===- ProgramTable.cpp - One target's program as the package stores it -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/package/ProgramTable.h"

#include "codegen/cuda/print/CudaText.h"
#include "ir/analysis/CostModel.h"
#include "ir/analysis/SourcePlaces.h"
#include "ir/dl/DLOps.h"
#include "ir/dl/structure/Reasons.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dlc::codegen {

uint32_t WeightTable::add(dlx::WeightOp op) {
  auto [entry, isNew] = indices.try_emplace(op.getName(), weights.size());
  if (isNew)
    weights.push_back(op);
  return entry->second;
}

/// By the name, which is the same in both lists but for the one that is a word of C++.
schema::DType dtypeOf(Type type) {
  llvm::StringRef name = dl::dtypeName(type);
  if (name == "bool")
    return schema::DType::boolean;
  for (schema::DType dtype : schema::EnumValuesDType())
    if (name == schema::EnumNameDType(dtype))
      return dtype;
  llvm_unreachable("each dtype of ir/dl/base/DTypes.def is one of the package");
}

namespace {
class ProgramBuilder {
public:
  ProgramBuilder(schema::ProgramT &program, const GeneratedCode &code,
                 const std::map<std::string, uint32_t> &headerIndex, ExpressionTable &expressions,
                 WeightTable &weights)
      : program(program), code(code), headerIndex(headerIndex), expressions(expressions),
        weights(weights) {}

  LogicalResult addKernel(dlx::KernelOp op);
  LogicalResult addCommands(dlx::ProgramOp op);

private:
  uint32_t addBuffer(Value value, schema::Storage storage, uint32_t index);
  uint32_t addAllocated(dlx::AllocOp alloc, schema::Storage storage, uint32_t index);
  LogicalResult addLaunch(dlx::LaunchOp op, SymbolTable &symbols);
  std::vector<schema::Limits> limitsOf(AffineMapAttr of, DenseI64ArrayAttr limits);
  std::unique_ptr<schema::ProductT> productTable(dlx::KernelOp kernel, dlx::LaunchOp op);
  /// Memory that the blocks of a launch of `kernel` exchange: a buffer of its own.
  uint32_t addExchange(dlx::KernelOp kernel);
  /// The launch `op` of `kernel`: the op's own or a variant of that.
  schema::LaunchT launchTable(dlx::KernelOp kernel, dlx::LaunchOp op);
  schema::VariantT variantTable(dlx::VariantAttr variant, dlx::KernelOp kernel, dlx::LaunchOp op);
  std::unique_ptr<schema::ChainT> chainTable(dlx::ChainAttr chain, dlx::LaunchOp op,
                                             SymbolTable &symbols);
  void goOnWithChains(dlx::KernelOp kernel, dlx::LaunchOp op);
  /// Adds the arguments of launch `op` of `kernel` to `launch`.
  void addArguments(schema::LaunchT &launch, dlx::KernelOp kernel, dlx::LaunchOp op);
  /// The use of a buffer (of what a view names) by the last command of `main`.
  void use(Value value, bool init);

  /// A chain, of whose launches so many are still to come.
  struct OpenChain {
    schema::LaunchT *launch;
    uint32_t left;
  };

  schema::ProgramT &program;
  const GeneratedCode &code;
  const std::map<std::string, uint32_t> &headerIndex;
  ExpressionTable &expressions;
  WeightTable &weights;
  llvm::DenseMap<Value, uint32_t> buffers;
  llvm::StringMap<uint32_t> kernels;
  std::map<std::string, uint32_t> sources;
  llvm::DenseMap<Value, uint32_t> writers; // kernels that write buffers
  std::vector<OpenChain> chains;
};
} // namespace

static std::unique_ptr<schema::PlanT> planTable(dlx::PlanAttr plan, bool isChosen) {
  auto table = std::make_unique<schema::PlanT>();
  table->schedule = plan.getSchedule().str();
  table->ns = static_cast<uint64_t>(std::max<int64_t>(plan.getNs(), 0));
  if (isChosen && plan.getNumbers())
    for (NamedAttribute number : plan.getNumbers())
      table->numbers += (table->numbers.empty() ? "" : " ") + number.getName().str() + "=" +
                        std::to_string(cast<IntegerAttr>(number.getValue()).getInt());
  return table;
}

/// How the elements of `type` lie in memory; empty for row-major order.
static std::string describeLayout(RankedTensorType type) {
  dl::Layout layout = dl::getLayout(type);
  if (layout.isRowMajor())
    return "";
  if (layout.isTiled())
    return "in panels of " + std::to_string(layout.tile);
  if (layout == dl::Layout::channelsLast(type.getRank()))
    return "channels last";
  std::string text = "with its dims in the order ";
  llvm::raw_string_ostream out(text);
  llvm::interleaveComma(layout.order, out);
  return text;
}

/// The tensors that `op` reads and writes and that are not row-major, each once, with their
/// layouts.
static std::vector<std::string> layoutsOf(dlx::KernelOp op) {
  std::vector<std::string> layouts;
  auto add = [&](StringRef does, TypeRange tensors) {
    for (Type tensor : tensors) {
      std::string layout = describeLayout(cast<RankedTensorType>(tensor));
      std::string text = (does + dl::text(tensor, op) + " " + layout).str();
      if (!layout.empty() && !llvm::is_contained(layouts, text))
        layouts.push_back(std::move(text));
    }
  };
  add("reads ", op.getBodyBlock().getArgumentTypes());
  add("writes ", op.getResultTensors().getTypes());
  return layouts;
}

/// The converts of `op` that say a reason: the packing of weights says none.
static std::vector<std::unique_ptr<schema::ConvertT>> convertsOf(dlx::KernelOp op) {
  std::vector<std::unique_ptr<schema::ConvertT>> converts;
  auto nameOf = [](RankedTensorType type) {
    std::string layout = describeLayout(type);
    return layout.empty() ? "row-major" : layout;
  };
  op.getBodyBlock().walk([&](dl::ConvertLayoutOp convert) {
    if (!convert.getWhy())
      return;
    auto from = cast<RankedTensorType>(convert.getX().getType());
    dl::Reason reason = dl::reasonOf(*convert.getWhy());
    auto table = std::make_unique<schema::ConvertT>();
    table->tensor = dl::text(from, op);
    table->from = nameOf(from);
    table->to = nameOf(cast<RankedTensorType>(convert.getY().getType()));
    table->why = reason.why.str();
    table->change = reason.change.str();
    converts.push_back(std::move(table));
  });
  return converts;
}

LogicalResult ProgramBuilder::addKernel(dlx::KernelOp op) {
  if (!op.getEntry())
    return op.emitOpError("has no code: no schedule for its target has run");
  std::string entry = op.getEntry()->str();
  schema::KernelT kernel;
  kernel.name = op.getSymName().str();
  kernel.kind = stringifyEnum(op.getKind()).str();
  SourcePlaces places = sourcePlacesOf(op.getBodyBlock());
  kernel.lines = std::move(places.lines);
  kernel.layers = std::move(places.layers);
  kernel.ops = std::move(places.ops);
  kernel.layouts = layoutsOf(op);
  kernel.converts = convertsOf(op);
  Cost cost = costOf(op.getBodyBlock());
  kernel.flops = expressions.add(cost.flops);
  kernel.bytes = expressions.add(cost.bytes);
  if (op.getPlan())
    kernel.plan = planTable(*op.getPlan(), /*isChosen=*/true);
  for (Attribute other :
       op.getOtherPlansAttr() ? op.getOtherPlansAttr().getValue() : ArrayRef<Attribute>())
    kernel.other_plans.push_back(planTable(cast<dlx::PlanAttr>(other), /*isChosen=*/false));
  if (program.target == schema::Target::cpu) {
    for (auto [index, image] : llvm::enumerate(code.cpu)) {
      auto found = image.entries.find(entry);
      if (found == image.entries.end())
        return op.emitOpError("has no code for ")
               << image.isa << ": '" << entry << "' is not in the image";
      kernel.cpu.emplace_back(index, found->second);
    }
  } else {
    auto found = code.cuda.find(entry);
    if (found == code.cuda.end())
      return op.emitOpError("has no CUDA text: '") << entry << "' was not printed";
    auto [source, isNew] = sources.try_emplace(found->second.text, program.cuda_sources.size());
    if (isNew) {
      auto text = std::make_unique<schema::CudaSourceT>();
      text->text = found->second.text;
      for (const std::string &header : found->second.headers)
        text->headers.push_back(headerIndex.at(header));
      program.cuda_sources.push_back(std::move(text));
    }
    kernel.name = entry;
    kernel.cuda_source = source->second;
    for (int64_t threads : op.getBlock().value_or(ArrayRef<int64_t>{}))
      kernel.block.push_back(threads);
    kernel.cooperative = op.getCooperative();
    kernel.waits = true; // each printed kernel begins with dlc::begin_grid()
  }
  kernels[op.getSymName()] = program.kernels.size();
  program.kernels.push_back(std::make_unique<schema::KernelT>(std::move(kernel)));
  return success();
}

uint32_t ProgramBuilder::addBuffer(Value value, schema::Storage storage, uint32_t index) {
  RankedTensorType tensor = cast<dlx::BufferType>(value.getType()).getTensor();
  dl::Layout layout = dl::getLayout(tensor);
  schema::BufferT buffer;
  buffer.storage = storage;
  buffer.index = index;
  buffer.dtype = dtypeOf(tensor.getElementType());
  buffer.dims = expressions.addAll(dl::getDims(tensor));
  buffer.order.assign(layout.order.begin(), layout.order.end());
  buffer.tile_dim = layout.tileDim;
  buffer.tile = layout.tile;
  buffer.bytes = expressions.add(storedBytes(tensor));
  uint32_t position = program.buffers.size();
  buffers[value] = position;
  program.buffers.push_back(std::make_unique<schema::BufferT>(std::move(buffer)));
  return position;
}

uint32_t ProgramBuilder::addAllocated(dlx::AllocOp alloc, schema::Storage storage, uint32_t index) {
  uint32_t position = addBuffer(alloc, storage, index);
  if (storage != schema::Storage::arena && storage != schema::Storage::output)
    return position;
  schema::BufferT &buffer = *program.buffers[position];
  SourcePlaces places = sourcePlacesOf(alloc.getLoc());
  buffer.layers = std::move(places.layers);
  if (!places.lines.empty())
    buffer.line = places.lines.back();
  return position;
}

void ProgramBuilder::use(Value value, bool init) {
  uint32_t index = buffers.lookup(value);
  schema::BufferT *buffer = program.buffers[index].get();
  while (buffer->storage == schema::Storage::view)
    buffer = program.buffers[buffer->index].get();
  if (buffer->storage != schema::Storage::arena || init)
    return;
  uint32_t command = program.main.size();
  // Launches write a buffer before anything reads it, so that the first use is the one seen first.
  if (buffer->first_use == UINT32_MAX)
    buffer->first_use = command;
  buffer->last_use = command;
}

std::vector<schema::Limits> ProgramBuilder::limitsOf(AffineMapAttr of, DenseI64ArrayAttr limits) {
  std::vector<schema::Limits> table;
  if (of)
    for (auto [position, expr] : llvm::enumerate(of.getValue().getResults()))
      table.emplace_back(expressions.add(expr), limits[2 * position], limits[2 * position + 1]);
  return table;
}

std::unique_ptr<schema::ProductT> ProgramBuilder::productTable(dlx::KernelOp kernel,
                                                               dlx::LaunchOp op) {
  auto product = std::make_unique<schema::ProductT>();
  product->a = (*kernel.getProductInputs())[0];
  product->b = (*kernel.getProductInputs())[1];
  product->target = op.getInputs().size() + (kernel.getExchange() ? 1 : 0);
  uint32_t *const fields[] = {&product->rows,    &product->columns,    &product->depth,
                              &product->batch,   &product->a_row,      &product->a_depth,
                              &product->a_batch, &product->b_depth,    &product->b_column,
                              &product->b_batch, &product->target_row, &product->target_batch};
  for (auto [field, expr] : llvm::zip_equal(fields, kernel.getProduct()->getResults()))
    *field = expressions.add(expr);
  product->tf32 = kernel.getProductTf32();
  if (std::optional<ArrayAttr> calls = kernel.getProductCalls())
    for (auto call : calls->getAsRange<dlx::CallAttr>()) {
      auto table = std::make_unique<schema::ProductCallT>();
      table->gpu = call.getGpu();
      table->limits = limitsOf(call.getOf(), call.getLimits());
      product->calls.push_back(std::move(table));
    }
  return product;
}

uint32_t ProgramBuilder::addExchange(dlx::KernelOp kernel) {
  AffineExpr floats = kernel.getExchange()->getResult(0);
  schema::BufferT buffer;
  buffer.storage = schema::Storage::exchange;
  buffer.dtype = schema::DType::f32;
  buffer.dims = {expressions.add(floats)};
  buffer.bytes = expressions.add(dl::normalize(floats * 4));
  program.buffers.push_back(std::make_unique<schema::BufferT>(std::move(buffer)));
  return program.buffers.size() - 1;
}

void ProgramBuilder::addArguments(schema::LaunchT &launch, dlx::KernelOp kernel, dlx::LaunchOp op) {
  for (Value input : op.getInputs())
    launch.args.emplace_back(schema::ArgKind::buffer, buffers.lookup(input));
  if (kernel.getExchange())
    launch.args.emplace_back(schema::ArgKind::buffer, addExchange(kernel));
  for (Value output : op.getOutputs())
    launch.args.emplace_back(schema::ArgKind::buffer, buffers.lookup(output));
  for (AffineExpr dim : kernel.getDims()->getResults())
    launch.args.emplace_back(schema::ArgKind::dim, expressions.add(dim));
}

schema::LaunchT ProgramBuilder::launchTable(dlx::KernelOp kernel, dlx::LaunchOp op) {
  schema::LaunchT launch;
  launch.kernel = kernels.lookup(kernel.getSymName());
  if (!kernel.getStages())
    addArguments(launch, kernel, op);
  launch.grid = expressions.addAll(kernel.getGrid()->getResults());
  AffineExpr scratch =
      kernel.getScratch() ? kernel.getScratch()->getResult(0) : dl::constantDim(0, op.getContext());
  launch.scratch_bytes = expressions.add(scratch);
  launch.persistent = kernel.getPersistent();
  ArrayRef<int64_t> kept = kernel.getKeptColumns().value_or(ArrayRef<int64_t>{});
  for (size_t i = 0; i < kept.size(); i += 2)
    launch.kept.emplace_back(kept[i], kept[i + 1]);
  if (std::optional<ArrayAttr> maps = kernel.getTensorMaps())
    for (auto described : maps->getAsRange<dlx::TensorMapAttr>()) {
      ArrayRef<AffineExpr> shape = described.getShape().getValue().getResults();
      ArrayRef<int64_t> box = described.getBox().asArrayRef();
      auto map = std::make_unique<schema::TensorMapT>();
      map->arg = described.getInput();
      map->columns = expressions.add(shape[0]);
      map->rows = expressions.add(shape[1]);
      map->step = expressions.add(shape[2]);
      map->box_columns = box[0];
      map->box_rows = box[1];
      launch.maps.push_back(std::move(map));
    }
  if (kernel.getProduct() && !op.getInit())
    launch.product = productTable(kernel, op);
  return launch;
}

schema::VariantT ProgramBuilder::variantTable(dlx::VariantAttr variant, dlx::KernelOp kernel,
                                              dlx::LaunchOp op) {
  schema::VariantT table;
  table.launch = std::make_unique<schema::LaunchT>(launchTable(kernel, op));
  table.gpu = variant.getGpu();
  table.limits = limitsOf(variant.getOf(), variant.getLimits());
  return table;
}

std::unique_ptr<schema::ChainT> ProgramBuilder::chainTable(dlx::ChainAttr chain, dlx::LaunchOp op,
                                                           SymbolTable &symbols) {
  auto table = std::make_unique<schema::ChainT>();
  auto kernel = symbols.lookup<dlx::KernelOp>(chain.getKernel().getValue());
  table->launch = std::make_unique<schema::LaunchT>(launchTable(kernel, op));
  table->launches = chain.getLaunches();
  table->gpu = chain.getGpu();
  // Buffers that later stages write have no index yet.
  chains.push_back({table->launch.get(), table->launches});
  return table;
}

/// The launches of chains that have begun and not ended get their arguments one after the other.
void ProgramBuilder::goOnWithChains(dlx::KernelOp kernel, dlx::LaunchOp op) {
  for (OpenChain &chain : chains) {
    addArguments(*chain.launch, kernel, op);
    --chain.left;
  }
  llvm::erase_if(chains, [](const OpenChain &chain) { return chain.left == 0; });
}

LogicalResult ProgramBuilder::addLaunch(dlx::LaunchOp op, SymbolTable &symbols) {
  auto kernel = symbols.lookup<dlx::KernelOp>(op.getKernel());
  for (Value operand : op->getOperands())
    use(operand, op.getInit());
  schema::LaunchT launch = launchTable(kernel, op);
  for (Attribute entry : op.getEdgesAttr() ? op.getEdgesAttr().getValue() : ArrayRef<Attribute>()) {
    auto edge = cast<dl::FusionEdgeAttr>(entry);
    auto writer = writers.find(dlx::storage(op.getInputs()[edge.getInput()]));
    assert(writer != writers.end() && "an edge is between two launches");
    auto table = std::make_unique<schema::EdgeT>();
    table->input = edge.getInput();
    table->writer = writer->second;
    table->reader = edge.getReader().str();
    table->producer = edge.getProducer().str();
    dl::Reason reason = dl::reasonOf(edge.getWhy());
    table->why = reason.why.str();
    table->change = reason.change.str();
    launch.edges.push_back(std::move(table));
  }
  if (op.getCopied())
    launch.copied = op.getCopied()->str();
  for (Value output : op.getOutputs())
    writers[dlx::storage(output)] = launch.kernel;
  if (kernel.getVariants() && !op.getInit())
    for (auto variant : kernel.getVariants()->getAsRange<dlx::VariantAttr>())
      launch.variants.push_back(std::make_unique<schema::VariantT>(variantTable(
          variant, symbols.lookup<dlx::KernelOp>(variant.getKernel().getValue()), op)));
  if (op.getChain())
    launch.chains.push_back(chainTable(*op.getChain(), op, symbols));
  if (!op.getInit())
    goOnWithChains(kernel, op);
  auto entry = std::make_unique<schema::CommandEntryT>();
  entry->command.Set(std::move(launch));
  (op.getInit() ? program.init : program.main).push_back(std::move(entry));
  return success();
}

LogicalResult ProgramBuilder::addCommands(dlx::ProgramOp op) {
  SymbolTable symbols(op->getParentOfType<ModuleOp>());
  Block &block = op.getBodyBlock();
  unsigned inputs = op.getInputNames().size();
  for (auto [index, argument] : llvm::enumerate(block.getArguments()))
    if (index < inputs)
      addBuffer(argument, schema::Storage::input, index);
    else
      addBuffer(argument, schema::Storage::state, index - inputs);
  llvm::DenseMap<Value, unsigned> outputs;
  for (auto [index, output] : llvm::enumerate(block.getTerminator()->getOperands())) {
    if (!output.getDefiningOp<dlx::AllocOp>() || !outputs.try_emplace(output, index).second)
      return op.emitOpError("returns a buffer that is not an allocation of its own; the buffers "
                            "phase copies such outputs");
  }
  for (Operation &command : block.without_terminator()) {
    LogicalResult added =
        TypeSwitch<Operation *, LogicalResult>(&command)
            .Case([&](dlx::WeightOp weight) {
              addBuffer(weight, schema::Storage::weight, weights.add(weight));
              return success();
            })
            .Case([&](dlx::AllocOp alloc) {
              auto output = outputs.find(alloc.getBuffer());
              if (output != outputs.end()) {
                addAllocated(alloc, schema::Storage::output, output->second);
              } else {
                uint32_t index = addAllocated(alloc,
                                              alloc.getPersistent() ? schema::Storage::persistent
                                                                    : schema::Storage::arena,
                                              0);
                program.buffers[index]->first_use = UINT32_MAX;
              }
              return success();
            })
            .Case([&](dlx::ViewOp view) {
              addBuffer(view, schema::Storage::view, buffers.lookup(view.getSource()));
              return success();
            })
            .Case([&](dlx::LaunchOp launch) { return addLaunch(launch, symbols); })
            .Case([&](dlx::CopyOp copy) {
              use(copy.getSource(), false);
              use(copy.getTarget(), false);
              auto entry = std::make_unique<schema::CommandEntryT>();
              entry->command.Set(schema::CopyT());
              entry->command.AsCopy()->source = buffers.lookup(copy.getSource());
              entry->command.AsCopy()->target = buffers.lookup(copy.getTarget());
              program.main.push_back(std::move(entry));
              return success();
            })
            .Default(
                [](Operation *other) { return other->emitOpError("is no command of a package"); });
    if (failed(added))
      return failure();
  }
  // An allocation that nothing uses takes no part in the plan.
  for (auto &buffer : program.buffers)
    if (buffer->first_use == UINT32_MAX)
      buffer->first_use = buffer->last_use = 0;
  return success();
}

FailureOr<schema::ProgramT> buildProgram(ModuleOp module, schema::Target target,
                                         const GeneratedCode &code,
                                         const std::map<std::string, uint32_t> &headerIndex,
                                         ExpressionTable &expressions, WeightTable &weights) {
  schema::ProgramT program;
  program.target = target;
  ProgramBuilder builder(program, code, headerIndex, expressions, weights);
  for (auto kernel : module.getOps<dlx::KernelOp>())
    if (failed(builder.addKernel(kernel)))
      return failure();
  for (auto op : module.getOps<dlx::ProgramOp>())
    if (failed(builder.addCommands(op)))
      return failure();
  return program;
}

} // namespace dlc::codegen
