//===- KernelBuilder.cpp - The gpu.func under construction --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/KernelBuilder.h"

#include "codegen/cuda/KernelTemplate.h"
#include "ir/OpTable.h"
#include "ir/analysis/SourcePlaces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace dlc::codegen {

/// Room above the largest offset for the threads and tiles of a launch that lie beyond the end.
static constexpr int64_t kLaunchSlack = int64_t(1) << 20;

static Type bufferOf(Type tensor) {
  return MemRefType::get({ShapedType::kDynamic},
                         storageType(cast<RankedTensorType>(tensor).getElementType()));
}

KernelBuilder::KernelBuilder(dlx::KernelOp kernel, ArrayRef<dl::Range> symbols,
                             const std::optional<ShapePart> &part)
    : KernelView(
          kernel, symbols, part,
          [this](OpBuilder &builder, Location, unsigned position, AffineExpr offset) -> Value {
            if (customLoad)
              return customLoad(builder, loc, position, offset);
            return memref::LoadOp::create(builder, loc, input(position), address(builder, offset));
          }),
      b(kernel.getContext()), loc(UnknownLoc::get(kernel.getContext())) {
  for (Type tensor : kernel.getBodyBlock().getArgumentTypes())
    standIns.addArgument(bufferOf(tensor), loc);
  for (unsigned symbol : body.usedSymbols())
    math.bindSymbol(symbol, standIns.addArgument(b.getIndexType(), loc));
  b.setInsertionPointToEnd(&standIns);
}

//===- The function ---------------------------------------------------------------------------===//

/// What the op that reads `argument` calls it, through ops that merely move it: dlc's own words,
/// never the user's.
static std::string roleOf(BlockArgument argument) {
  Value value = argument;
  // What no op reads is memory for the kernel itself.
  if (value.use_empty())
    return "workspace";
  while (value.hasOneUse() || llvm::all_equal(value.getUsers())) {
    if (value.use_empty())
      break;
    OpOperand &use = *value.getUses().begin();
    Operation *op = use.getOwner();
    for (const OpInfo &info : opTable()) {
      if (info.op != op->getName().getStringRef() || info.signatures.empty())
        continue;
      unsigned position = use.getOperandNumber();
      for (const Param &param : info.signatures.front().params) {
        if (param.type == Param::tensors)
          return param.name.str() + std::to_string(position);
        if (param.type == Param::tensor && position-- == 0 &&
            (param.name != "x" || op->getNumOperands() > 1))
          return param.name.str();
      }
    }
    if (op->getNumResults() != 1)
      break;
    value = op->getResult(0);
  }
  return argument.getOwner()->getNumArguments() == 1
             ? "x"
             : "in" + std::to_string(argument.getArgNumber());
}

/// The lines of the model that became this kernel, and what it computes.
static SmallVector<Attribute> headComment(dlx::KernelOp kernel, OpBuilder &builder) {
  std::string ops, operands;
  for (Operation &op : kernel.getBodyBlock().without_terminator())
    ops += (ops.empty() ? "" : ", ") + op.getName().stripDialect().str();
  for (Value operand : kernel.getBodyBlock().getArguments())
    operands += (operands.empty() ? "" : ", ") + dl::text(operand);
  SmallVector<Attribute> comment = {
      builder.getStringAttr(stringifyEnum(kernel.getKind()) + ": " + ops + " (" + operands +
                            ") -> " + dl::text(kernel.getResultTensors().front()))};
  if (std::vector<std::string> lines = sourcePlacesOf(kernel.getBodyBlock()).lines; !lines.empty())
    comment.push_back(builder.getStringAttr("from " + llvm::join(lines, ", ")));
  return comment;
}

void KernelBuilder::begin(gpu::GPUModuleOp module) {
  SmallVector<Type> types = llvm::map_to_vector(kernel.getBodyBlock().getArgumentTypes(), bufferOf);
  llvm::append_range(types, llvm::map_range(kernel.getResultTensors().getTypes(), bufferOf));
  types.append(body.usedSymbols().size(), b.getI64Type());

  // Every symbol of a module may be a word of C++ or of CUDA, and kernels link into one image: a
  // prefix keeps them apart.
  std::string name = "dlc_" + kernel.getSymName().str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  b.setInsertionPointToEnd(module.getBody());
  function = gpu::GPUFuncOp::create(b, loc, name, b.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function->setAttr("dlc.comment", b.getArrayAttr(headComment(kernel, b)));
  auto role = [&](unsigned position, const std::string &text) {
    function.setArgAttr(position, "dlc.role", b.getStringAttr(text));
  };
  for (BlockArgument argument : kernel.getBodyBlock().getArguments())
    role(argument.getArgNumber(), roleOf(argument));
  unsigned position = kernel.getBodyBlock().getNumArguments();
  role(position, "y");
  for (unsigned result = 1; result < kernel.getResultTensors().size(); ++result)
    role(++position, kernel.getKind() == dlx::KernelKind::recurrent
                         ? "last" + std::to_string(result - 1)
                         : "also");
  // No output overlaps an input (dlx.launch).
  for (unsigned i = 0; i <= position; ++i)
    function.setArgAttr(i, "llvm.noalias", b.getUnitAttr());
  for (unsigned symbol : body.usedSymbols())
    role(++position, "s" + std::to_string(symbol) + "_arg");
  arguments = &function.getBody().front();
  b.setInsertionPointToEnd(arguments);
  gpu::ReturnOp::create(b, loc);
  b.setInsertionPointToStart(arguments);
  position = kernel.getBodyBlock().getNumArguments() + kernel.getResultTensors().size();
  for (unsigned symbol : body.usedSymbols()) {
    Value value =
        arith::IndexCastOp::create(b, loc, b.getIndexType(), function.getArgument(position++));
    math.bindSymbol(symbol, named(value, "s" + std::to_string(symbol)));
  }
}

Value KernelBuilder::exchange(AffineExpr elements, Type element) {
  int64_t floats = element.getIntOrFloatBitWidth() / 32;
  kernel.setExchangeAttr(
      AffineMapAttr::get(dl::dimsMap({dl::normalize(elements * floats)}, kernel.getContext())));
  unsigned position = kernel.getBodyBlock().getNumArguments();
  auto attributes = b.getDictionaryAttr({b.getNamedAttr("dlc.role", b.getStringAttr("exchange")),
                                         b.getNamedAttr("llvm.noalias", b.getUnitAttr())});
  auto memory = MemRefType::get({ShapedType::kDynamic}, element);
  if (failed(function.insertArgument(position, memory, attributes, loc)))
    llvm_unreachable("an argument after the inputs");
  return function.getArgument(position);
}

void KernelBuilder::gridBarrier(Value exchange) {
  auto barrier = gpu::BarrierOp::create(b, loc);
  unsigned position = cast<BlockArgument>(exchange).getArgNumber();
  barrier->setAttr("dlc.grid_counter", b.getI32IntegerAttr(position));
}

Value KernelBuilder::tensorMap(StringRef role) {
  unsigned position = function.getNumArguments();
  auto attributes = b.getDictionaryAttr(b.getNamedAttr("dlc.role", b.getStringAttr(role)));
  if (failed(function.insertArgument(position, dlk::TensorMapType::get(b.getContext()), attributes,
                                     loc)))
    llvm_unreachable("an argument behind the last");
  return function.getArgument(position);
}

void KernelBuilder::beginGridInTemplate() { function->setAttr("dlc.begins", b.getUnitAttr()); }

void KernelBuilder::makePersistentForHopper(ArrayRef<Attribute> maps) {
  function->setAttr("dlc.sm_90a", b.getUnitAttr());
  beginGridInTemplate();
  kernel.setTensorMapsAttr(b.getArrayAttr(maps));
  makePersistent();
}

void KernelBuilder::makeClustersForHopper(ArrayRef<Attribute> maps, int64_t blocks) {
  function->setAttr("dlc.sm_90a", b.getUnitAttr());
  beginGridInTemplate();
  function->setAttr("dlc.cluster", b.getI32IntegerAttr(static_cast<int32_t>(blocks)));
  kernel.setTensorMapsAttr(b.getArrayAttr(maps));
}

void KernelBuilder::makePersistent() { kernel.setPersistent(true); }

void KernelBuilder::makePersistent(ArrayRef<abi::KeptColumns> kept) {
  makePersistent();
  SmallVector<int64_t> numbers;
  for (const abi::KeptColumns &list : kept)
    numbers.append({list.count, list.bytes});
  kernel.setKeptColumns(numbers);
}

unsigned KernelBuilder::indexBits() const {
  auto isShort = [&](AffineExpr extent) {
    auto most = largest(extent);
    return most && *most < (int64_t(1) << 31) - kLaunchSlack;
  };
  dlx::KernelOp kernel = body.getKernel();
  Block &block = kernel.getBodyBlock();
  for (Type type : block.getArgumentTypes())
    if (!isShort(dl::storedElements(cast<RankedTensorType>(type))))
      return 64;
  if (auto exchange = kernel.getExchange(); exchange && !isShort(exchange->getResult(0)))
    return 64;
  for (Operation &op : block.without_terminator())
    for (Type type : op.getResultTypes())
      if (!isShort(dl::storedElements(cast<RankedTensorType>(type))))
        return 64;
  return isShort(dl::product(body.getNest().reduction, b.getContext())) ? 32 : 64;
}

void KernelBuilder::finish(int64_t threads, ArrayRef<AffineExpr> grid, int64_t dynamicShared) {
  SmallVector<AffineExpr, 3> blocks(grid);
  blocks.resize(3, math.constant(1));
  SmallVector<AffineExpr> dims;
  for (unsigned symbol : body.usedSymbols())
    dims.push_back(getAffineSymbolExpr(symbol, kernel.getContext()));
  function->setAttr("known_block_size",
                    b.getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
  function->setAttr("dlc.index_bits", b.getI32IntegerAttr(indexBits()));
  kernel.setEntry(function.getName());
  kernel.setDimsAttr(AffineMapAttr::get(dl::dimsMap(dims, kernel.getContext())));
  kernel.setGridAttr(AffineMapAttr::get(dl::dimsMap(blocks, kernel.getContext())));
  kernel.setBlockAttr(b.getDenseI64ArrayAttr({threads, 1, 1}));
  kernel.setScratchAttr(
      AffineMapAttr::get(dl::dimsMap({math.constant(dynamicShared)}, kernel.getContext())));
}

//===- Values ---------------------------------------------------------------------------------===//

Value KernelBuilder::index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
Value KernelBuilder::add(Value lhs, Value rhs) {
  return b.createOrFold<arith::AddIOp>(loc, lhs, rhs);
}
Value KernelBuilder::mul(Value lhs, Value rhs) {
  return b.createOrFold<arith::MulIOp>(loc, lhs, rhs);
}
Value KernelBuilder::div(Value lhs, Value rhs) {
  return b.createOrFold<arith::DivUIOp>(loc, lhs, rhs);
}
Value KernelBuilder::mod(Value lhs, Value rhs) {
  return b.createOrFold<arith::RemUIOp>(loc, lhs, rhs);
}
Value KernelBuilder::less(Value lhs, Value rhs) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, lhs, rhs);
}
Value KernelBuilder::both(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return arith::AndIOp::create(b, loc, lhs, rhs);
}

Value KernelBuilder::named(Value value, StringRef role) {
  Operation *op = value.getDefiningOp();
  if (op && !op->hasAttr("dlc.role") && !isa<arith::ConstantOp>(op))
    op->setAttr("dlc.role", b.getStringAttr(role));
  return value;
}

/// True where `expr` divides nothing.
static bool isPlain(AffineExpr expr) {
  bool plain = true;
  expr.walk([&](AffineExpr part) {
    plain &= part.getKind() != AffineExprKind::Mod && part.getKind() != AffineExprKind::FloorDiv &&
             part.getKind() != AffineExprKind::CeilDiv;
  });
  return plain;
}

void KernelBuilder::bindFlat(Value flat, ArrayRef<DimGroup> groups) {
  SmallVector<Value> indices(groups.size());
  Value rest = flat;
  for (unsigned i = groups.size(); i-- > 0;) {
    indices[i] = rest;
    if (i > 0) {
      Value extent = index(groups[i].extent);
      indices[i] = mod(rest, extent);
      rest = div(rest, extent);
    }
    if (groups.size() > 1)
      named(indices[i], groups[i].role);
  }
  bindFlat(flat, indices, groups);
}

void KernelBuilder::bindFlat(Value flat, ValueRange indices, ArrayRef<DimGroup> groups) {
  AffineExpr position = math.addLoop(totalExtent(math, groups), flat);
  for (unsigned i = groups.size(); i-- > 0;) {
    math.bindLoop(groups[i].variable, indices[i]);
    cut[groups[i].variable] = i > 0 ? position % groups[i].extent : position;
    position = position.floorDiv(groups[i].extent);
  }
}

std::pair<AffineExpr, AffineExpr> KernelBuilder::overFlat(AffineExpr expr,
                                                          ArrayRef<DimGroup> groups) {
  AffineExpr flat = math.addLoop(totalExtent(math, groups)), position = flat;
  llvm::DenseMap<AffineExpr, AffineExpr> parts;
  for (unsigned i = groups.size(); i-- > 0;) {
    parts[groups[i].variable] = i > 0 ? position % groups[i].extent : position;
    position = position.floorDiv(groups[i].extent);
  }
  expr = math.simplify(expr.replace(parts));
  return {isPlain(expr) ? expr : AffineExpr(), flat};
}

void KernelBuilder::sameAs(AffineExpr variable, AffineExpr other) {
  if (auto it = cut.find(other); it != cut.end())
    cut[variable] = it->second;
  cut.erase(other);
}

Value KernelBuilder::address(OpBuilder &builder, AffineExpr offset) {
  AffineExpr flat = math.simplify(offset.replace(cut));
  return math.materialize(builder, loc, isPlain(flat) ? flat : offset);
}

//===- Control --------------------------------------------------------------------------------===//

ValueRange KernelBuilder::loop(StringRef role, Value from, Value to, int64_t step, ValueRange inits,
                               ArrayRef<StringRef> names, Unroll unroll, Body body) {
  return loop(role, from, to, index(step), inits, names, unroll, body);
}

ValueRange KernelBuilder::loop(StringRef role, Value from, Value to, Value step, ValueRange inits,
                               ArrayRef<StringRef> names, Unroll unroll, Body body) {
  auto op = scf::ForOp::create(b, loc, from, to, step, inits);
  SmallVector<Attribute> roles = {b.getStringAttr(role)};
  for (StringRef name : names)
    roles.push_back(b.getStringAttr(name));
  op->setAttr("dlc.roles", b.getArrayAttr(roles));
  if (unroll == Unroll::full)
    op->setAttr("dlc.unroll", b.getUnitAttr());
  else if (unroll != Unroll::automatic)
    op->setAttr("dlc.unroll", b.getI32IntegerAttr(unroll == Unroll::never ? 1 : 8));
  OpBuilder::InsertionGuard guard(b);
  Block *block = op.getBody();
  if (inits.empty())
    b.setInsertionPoint(block->getTerminator());
  else
    b.setInsertionPointToEnd(block);
  SmallVector<Value> yields = body(op.getInductionVar(), op.getRegionIterArgs());
  if (!inits.empty())
    scf::YieldOp::create(b, loc, yields);
  return op.getResults();
}

void KernelBuilder::loop(StringRef role, Value from, Value to, int64_t step, Unroll unroll,
                         llvm::function_ref<void(Value)> body) {
  loop(role, from, to, step, {}, {}, unroll, [&](Value variable, ValueRange) -> SmallVector<Value> {
    body(variable);
    return {};
  });
}

void KernelBuilder::when(Value condition, llvm::function_ref<void()> then,
                         llvm::function_ref<void()> otherwise) {
  if (!condition)
    return then();
  auto op = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op.thenBlock()->getTerminator());
  then();
  if (otherwise) {
    b.setInsertionPoint(op.elseBlock()->getTerminator());
    otherwise();
  }
}

Value KernelBuilder::choose(Value condition, llvm::function_ref<Value()> value, Value fallback,
                            llvm::function_ref<void()> otherwise) {
  return chooseAll(
             condition, [&] { return SmallVector<Value>{value()}; }, fallback, otherwise)
      .front();
}

SmallVector<Value> KernelBuilder::chooseAll(Value condition,
                                            llvm::function_ref<SmallVector<Value>()> values,
                                            ValueRange fallback,
                                            llvm::function_ref<void()> otherwise) {
  if (!condition)
    return values();
  if (fallback.empty()) {
    when(condition, [&] { values(); });
    return {};
  }
  auto op = scf::IfOp::create(b, loc, fallback.getTypes(), condition, /*addThenBlock=*/true,
                              /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(op.thenBlock());
  scf::YieldOp::create(b, loc, values());
  b.setInsertionPointToEnd(op.elseBlock());
  if (otherwise)
    otherwise();
  scf::YieldOp::create(b, loc, fallback);
  return SmallVector<Value>(op.getResults());
}

//===- Memory ---------------------------------------------------------------------------------===//

Value KernelBuilder::shared(ArrayRef<int64_t> shape, Type element, StringRef role) {
  auto space = gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get(shape, element, MemRefLayoutAttrInterface{}, space);
  BlockArgument value = function.addWorkgroupAttribution(type, loc);
  function.setWorkgroupAttributionAttr(function.getNumWorkgroupAttributions() - 1, "dlc.role",
                                       b.getStringAttr(role));
  return value;
}

Value KernelBuilder::local(ArrayRef<int64_t> shape, Type element, StringRef role) {
  auto space = gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Private);
  auto type = MemRefType::get(shape, element, MemRefLayoutAttrInterface{}, space);
  return named(memref::AllocaOp::create(b, loc, type), role);
}

Value KernelBuilder::read(Value memref, ArrayRef<Value> at) {
  return memref::LoadOp::create(b, loc, memref, at);
}
void KernelBuilder::write(Value memref, ArrayRef<Value> at, Value value) {
  memref::StoreOp::create(b, loc, value, memref, at);
}

void KernelBuilder::store(AffineExpr offset, Value value) {
  Value stored = toStorage(b, loc, value, body.getResultType().getElementType());
  memref::StoreOp::create(b, loc, stored, output(body.selectedResult()), address(b, offset));
}

} // namespace dlc::codegen
