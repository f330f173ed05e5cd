//===- DLXOps.cpp - The dlx dialect: a program of kernel launches over buffers ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dlx/DLXOps.h"

#include "ir/dl/DLOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

/// `(` types `)` `->` `(` types `)`, either list perhaps empty: the generated parser of a list
/// wants one type at least.
static ParseResult parseLaunchTypes(OpAsmParser &parser, SmallVectorImpl<Type> &inputs,
                                    SmallVectorImpl<Type> &outputs) {
  auto list = [&](SmallVectorImpl<Type> &types) {
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren,
                                          [&] { return parser.parseType(types.emplace_back()); });
  };
  return failure(list(inputs) || parser.parseArrow() || list(outputs));
}

static void printLaunchTypes(OpAsmPrinter &printer, Operation *, TypeRange inputs,
                             TypeRange outputs) {
  printer << '(' << inputs << ") -> (" << outputs << ')';
}

#include "ir/dlx/DLXDialect.cpp.inc"
#include "ir/dlx/DLXEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/dlx/DLXAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/dlx/DLXTypes.cpp.inc"
#define GET_OP_CLASSES
#include "ir/dlx/DLXOps.cpp.inc"

namespace dlc::dlx {

void DLXDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/dlx/DLXAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/dlx/DLXTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/dlx/DLXOps.cpp.inc"
      >();
}

static LogicalResult verifyLimits(llvm::function_ref<InFlightDiagnostic()> emitError,
                                  StringRef what, AffineMapAttr of, DenseI64ArrayAttr limits) {
  size_t shapes = of ? of.getValue().getNumResults() : 0, numbers = limits ? limits.size() : 0;
  if (numbers != 2 * shapes)
    return emitError() << what << " has two limits for each of " << shapes << " shapes, got "
                       << numbers;
  return success();
}

LogicalResult VariantAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                  FlatSymbolRefAttr, AffineMapAttr of, DenseI64ArrayAttr limits,
                                  int64_t) {
  return verifyLimits(emitError, "a variant", of, limits);
}

//===- call -----------------------------------------------------------------------------------===//

LogicalResult CallAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t,
                               AffineMapAttr of, DenseI64ArrayAttr limits) {
  return verifyLimits(emitError, "a call", of, limits);
}

//===- part -----------------------------------------------------------------------------------===//

LogicalResult PartAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t dim,
                               AffineMapAttr within) {
  if (dim < 0 || within.getValue().getNumDims() != 0 || within.getValue().getNumResults() != 2)
    return emitError() << "a part has a dim, and its first index and the buffer's extent along it, "
                          "both over symbols alone";
  return success();
}

RankedTensorType PartAttr::wholeOf(RankedTensorType tensor) const {
  dl::Dims dims = dl::getDims(tensor);
  dims[getDim()] = getExtent();
  return dl::makeTensor(dims, tensor.getElementType(), dl::getLayout(tensor));
}

//===- plan -----------------------------------------------------------------------------------===//

int64_t PlanAttr::number(StringRef name) const {
  auto value = getNumbers() ? getNumbers().getAs<IntegerAttr>(name) : IntegerAttr();
  return value ? value.getInt() : 0;
}

PlanAttr PlanAttr::get(MLIRContext *context, StringRef schedule, double ns,
                       ArrayRef<std::pair<StringRef, int64_t>> numbers) {
  Builder builder(context);
  SmallVector<NamedAttribute> named;
  for (auto [name, value] : numbers)
    named.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
  return get(context, schedule, named.empty() ? DictionaryAttr() : builder.getDictionaryAttr(named),
             std::llround(std::min(ns, 1e15)));
}

//===- kernel ---------------------------------------------------------------------------------===//

ValueRange KernelOp::getResultTensors() {
  return cast<dl::YieldOp>(getBodyBlock().getTerminator()).getValues();
}

RankedTensorType KernelOp::bufferTypeOf(Value result) {
  auto type = cast<RankedTensorType>(result.getType());
  return getPart() ? getPart()->wholeOf(type) : type;
}

LogicalResult KernelOp::verify() {
  if (getBodyBlock().empty() || !isa<dl::YieldOp>(getBodyBlock().back()))
    return emitOpError("needs a body that ends in dl.yield");
  for (Type type : getBodyBlock().getArgumentTypes())
    if (!isa<RankedTensorType>(type))
      return emitOpError("takes tensors, got ") << type;
  if (getEntry() && (!getGrid() || !getDims()))
    return emitOpError("is scheduled but lacks grid or dims");
  if (getInPlace()) {
    auto update = getResultTensors().front().getDefiningOp<dl::UpdateSliceOp>();
    auto x = update ? dyn_cast<BlockArgument>(update.getX()) : BlockArgument();
    if (getResultTensors().size() != 1 || !x || !x.hasOneUse())
      return emitOpError("is in place, which a kernel that gives one dl.update_slice of an input "
                         "may be, where nothing else reads the input");
  }
  if (getPart()) {
    auto result = cast<RankedTensorType>(getResultTensors().front().getType());
    if (getInPlace() || getResultTensors().size() != 1 || getPart()->getDim() >= result.getRank() ||
        dl::getLayout(result).isTiled())
      return emitOpError(
          "writes a part, which a kernel with one result, none in place or in tiles, "
          "may do along one of its dims");
  }
  if (getProduct() && (getProduct()->getNumResults() != 12 || !getProductInputs() ||
                       getProductInputs()->size() != 2 || getResultTensors().size() != 1))
    return emitOpError("is a product of two inputs with 12 extents and steps, or none");
  if ((getKind() == KernelKind::chain) != (getStages() && getStages()->size() > 1))
    return emitOpError("is of kind chain with two stages or more, or has none");
  if (getProductCalls() && !getProduct())
    return emitOpError("has calls of a library, and no product that it could compute");
  return success();
}

//===- program --------------------------------------------------------------------------------===//

Value storage(Value value) {
  while (auto view = value.getDefiningOp<ViewOp>())
    value = view.getSource();
  return value;
}

static bool isPersistent(Value value) {
  Operation *op = storage(value).getDefiningOp();
  if (auto alloc = dyn_cast_or_null<AllocOp>(op))
    return alloc.getPersistent();
  return isa_and_nonnull<WeightOp>(op);
}

LogicalResult ProgramOp::verify() {
  Block &block = getBodyBlock();
  if (block.empty() || !isa<ReturnOp>(block.back()))
    return emitOpError("needs a body that ends in dlx.return");
  unsigned states = getNumStates(), inputs = getInputNames().size() + states;
  unsigned outputs = getOutputNames().size(), returned = block.back().getNumOperands();
  if (block.getNumArguments() != inputs || (returned != outputs && returned != outputs + states))
    return emitOpError("has ") << block.getNumArguments() << " inputs and " << returned
                               << " outputs, states among both, but " << inputs << " and "
                               << outputs + states << " names";
  if (returned != outputs)
    for (auto [state, value] : llvm::zip(getStates(), block.back().getOperands().take_back(states)))
      if (state.getType() != value.getType())
        return emitOpError("gives a state of ")
               << state.getType() << " a value of " << value.getType();
  for (auto launch : block.getOps<LaunchOp>()) {
    if (!launch.getInit())
      continue;
    for (Value operand : launch->getOperands())
      if (!isPersistent(operand))
        return launch.emitOpError(
            "runs at load, but uses a buffer that is neither weight nor persistent");
  }
  for (auto launch : block.getOps<LaunchOp>())
    for (Value output : launch.getOutputs())
      if (!launch.getInit() && isPersistent(output))
        return launch.emitOpError("writes a persistent buffer; only init launches may");
  return success();
}

//===- view, launch -------------------------------------------------------------------------===//

LogicalResult ViewOp::verify() {
  RankedTensorType from = getSource().getType().getTensor(), to = getView().getType().getTensor();
  if (dl::getLayout(from).isTiled() || dl::getLayout(to).isTiled())
    return emitOpError("needs buffers without tiles, got ") << from << " and " << to;
  // Numbers of elements that differ in form are compared when shapes are bound (dl.reshape).
  AffineExpr before = dl::storedElements(from), after = dl::storedElements(to);
  bool areKnown = dl::asConstant(before) && dl::asConstant(after);
  if (from.getElementType() != to.getElementType() || (areKnown && before != after))
    return emitOpError("needs equally many elements of one dtype, got ") << from << " and " << to;
  return success();
}

LogicalResult KernelOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (Attribute stage : getStagesAttr() ? getStagesAttr().getValue() : ArrayRef<Attribute>())
    if (auto other =
            symbols.lookupNearestSymbolFrom<KernelOp>(*this, cast<FlatSymbolRefAttr>(stage));
        !other || other.getStages())
      return emitOpError("has the stage ") << stage << ", which is no dlx.kernel without stages";
  if (!getVariants())
    return success();
  for (auto variant : getVariants()->getAsRange<VariantAttr>()) {
    auto other = symbols.lookupNearestSymbolFrom<KernelOp>(*this, variant.getKernel());
    if (!other || other.getVariants())
      return emitOpError("has the variant ")
             << variant.getKernel() << ", which is no dlx.kernel without variants";
    if (other.getBodyBlock().getArgumentTypes() != getBodyBlock().getArgumentTypes() ||
        other.getResultTensors().getTypes() != getResultTensors().getTypes() ||
        other.getPartAttr() != getPartAttr())
      return emitOpError("has the variant ")
             << variant.getKernel() << ", which takes and gives other tensors";
  }
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("launches '") << getKernel() << "', which is no dlx.kernel";
  auto matches = [&](OperandRange buffers, TypeRange tensors) {
    return buffers.size() == tensors.size() &&
           llvm::all_of(llvm::zip(buffers, tensors), [](auto pair) {
             return cast<BufferType>(std::get<0>(pair).getType()).getTensor() == std::get<1>(pair);
           });
  };
  SmallVector<Type> written;
  for (Value result : kernel.getResultTensors())
    written.push_back(kernel.bufferTypeOf(result));
  if (!matches(getInputs(), kernel.getBodyBlock().getArgumentTypes()) ||
      !matches(getOutputs(), written))
    return emitOpError("has other buffers than kernel '") << getKernel() << "' takes and gives";
  return getChain() ? verifyChain(symbols) : success();
}

/// The launches whose place the chain takes are those of its stages.
LogicalResult LaunchOp::verifyChain(SymbolTableCollection &symbols) {
  ChainAttr chain = *getChain();
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, chain.getKernel());
  if (getInit() || !kernel || !kernel.getStages() ||
      int64_t(kernel.getStages()->size()) != chain.getLaunches())
    return emitOpError("has the chain ") << chain.getKernel() << ", which has no "
                                         << chain.getLaunches() << " stages for launches of a run";
  Operation *at = *this;
  for (Attribute stage : kernel.getStagesAttr()) {
    while (at &&
           (!isa<LaunchOp, CopyOp>(at) || (isa<LaunchOp>(at) && cast<LaunchOp>(at).getInit())))
      at = at->getNextNode();
    auto launch = dyn_cast_or_null<LaunchOp>(at);
    if (!launch || launch.getKernelAttr() != stage)
      return emitOpError("has the chain ")
             << chain.getKernel() << ", whose stage " << stage << " is not launched in its turn";
    at = at->getNextNode();
  }
  return success();
}

} // namespace dlc::dlx
