//===- NodeImport.cpp - One node on its way into the function -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/dl/evaluate/Arithmetic.h"
#include "frontend/dl/evaluate/Sema.h"
#include "frontend/dl/lower/OpDiagnostics.h"
#include "frontend/dl/write/Scope.h"
#include "frontend/onnx/Importer.h"
#include "frontend/onnx/read/NodeOrder.h"
#include "ir/dl/DLOps.h"
#include "ir/dl/base/DimNeeds.h"

using namespace mlir;

namespace dlc::onnx {

using frontend::quote;

Item item(int64_t value) { return {value, {}}; }
Item item(double value) { return {value, {}}; }
Item item(bool value) { return {value, {}}; }
Item item(StringRef value) { return {value.str(), {}}; }
Item item(Type value) { return {value, {}}; }
Item dimItems(ArrayRef<AffineExpr> dims) {
  Item::List list;
  for (AffineExpr dim : dims)
    list.push_back(Item::dim(dim, {}));
  return {std::move(list), {}};
}
static Item poison() { return {Item::Poison(), {}}; }

/// For messages; within it the name alone, which shows modules.
static Location locationOf(const Node &node, Builder &builder) {
  StringAttr described = builder.getStringAttr(describe(node));
  return node.name.empty()
             ? NameLoc::get(described)
             : NameLoc::get(described, NameLoc::get(builder.getStringAttr(node.name)));
}

NodeImport::NodeImport(Importer &importer, const Node &node, Frame &frame, int64_t opset)
    : node(node), opset(opset), importer(importer), frame(frame), context(importer.context),
      builder(importer.builder), loc(locationOf(node, importer.builder)) {
  for (StringRef input : node.inputs) {
    Value *value = input.empty() ? nullptr : importer.find(input, frame);
    inputs.push_back(value && value->isLeftOut ? nullptr : value);
  }
  while (!inputs.empty() && !inputs.back())
    inputs.pop_back();
}

//===- Inputs ---------------------------------------------------------------------------------===//

Item NodeImport::tensor(size_t input) {
  if (!has(input)) {
    fail("it needs its input " + llvm::Twine(input));
    return poison();
  }
  if (failed) // said already
    return poison();
  mlir::Value value =
      importer.materialise(*inputs[input], loc, "input " + quote(node.inputs[input]));
  if (value)
    return {value, {}};
  failed = true;
  return poison();
}

RankedTensorType NodeImport::type(size_t input) {
  if (has(input)) {
    Value &value = *inputs[input];
    if (value.tensor)
      return llvm::cast<RankedTensorType>(value.tensor.getType());
    if (value.known)
      return RankedTensorType::get(value.known->shape, value.known->dtype);
    if (value.stored)
      if (auto type = elementType(value.stored->dataType))
        if (Type dtype = frontend::dtypeOf(nameOf(*type), context))
          if (byteSizeOf(*type, value.stored->dims))
            return RankedTensorType::get(value.stored->dims, dtype);
  }
  // Said when it is used as a tensor.
  if (!failed)
    tensor(input);
  return RankedTensorType::get({}, builder.getF32Type());
}

const Known *NodeImport::known(size_t input) {
  return has(input) ? importer.known(*inputs[input]) : nullptr;
}

std::optional<SmallVector<int64_t>> NodeImport::integers(size_t input, StringRef what) {
  if (!has(input)) {
    fail("it needs its input " + llvm::Twine(input));
    return std::nullopt;
  }
  const Known *numbers = known(input);
  auto found = numbers ? numbers->integers() : std::nullopt;
  if (!found)
    unsupported("the numbers of " + what + " " + quote(node.inputs[input]) +
                    (numbers ? " depend on symbolic dims" : " are computed by the model"),
                "; dlc needs their numbers at import");
  return found;
}

//===- Attributes -----------------------------------------------------------------------------===//

const Attribute *NodeImport::attribute(StringRef name) {
  read.insert(name);
  for (const Attribute &attribute : node.attributes) {
    if (attribute.name != name)
      continue;
    if (attribute.reference.empty())
      return &attribute;
    auto found = frame.arguments.find(attribute.reference);
    return found == frame.arguments.end() ? nullptr : found->second;
  }
  return nullptr;
}

bool NodeImport::hasAttribute(StringRef name) { return attribute(name) != nullptr; }

int64_t NodeImport::integer(StringRef name, int64_t otherwise) {
  const Attribute *found = attribute(name);
  if (found && !found->integer)
    fail("its attribute " + quote(name) + " is no integer");
  return found && found->integer ? *found->integer : otherwise;
}

double NodeImport::real(StringRef name, double otherwise) {
  const Attribute *found = attribute(name);
  if (found && !found->real)
    fail("its attribute " + quote(name) + " is no number");
  return found && found->real ? *found->real : otherwise;
}

std::string NodeImport::string(StringRef name, StringRef otherwise) {
  const Attribute *found = attribute(name);
  if (found && !found->string)
    fail("its attribute " + quote(name) + " is no string");
  return (found && found->string ? *found->string : otherwise).str();
}

SmallVector<int64_t> NodeImport::integerList(StringRef name) {
  const Attribute *found = attribute(name);
  if (!found)
    return {};
  bool isOther = found->real || found->integer || found->string || found->tensor || found->graph ||
                 !found->reals.empty() || !found->strings.empty();
  if (found->integers.empty() && isOther)
    fail("its attribute " + quote(name) + " is no list of integers");
  return SmallVector<int64_t>(found->integers.begin(), found->integers.end());
}

bool NodeImport::allAttributesRead() {
  for (const Attribute &attribute : node.attributes)
    if (!read.contains(attribute.name))
      return unsupported("its attribute " + quote(attribute.name) +
                             " has no meaning to dlc in opset " + llvm::Twine(opset),
                         "");
  return true;
}

void NodeImport::readOldAttributes() {
  if (integer("is_test", 1) == 0)
    unsupported("it is in training", "; export the model for inference");
  attribute("consumed_inputs");
  StringRef op = node.op;
  bool isSlope = op == "PRelu" && has(1) && rank(1) == 1 && rank(0) > 1; // one for each channel
  if ((!isSlope && integer("broadcast", 0) == 0) || op == "Gemm" || !has(1))
    return;
  int64_t axis = isSlope ? 1 : rank(0) - rank(1);
  if (!isSlope && hasAttribute("axis")) {
    auto given = this->axis(integer("axis", 0), rank(0));
    if (!given)
      return;
    axis = *given;
  }
  int64_t behind = rank(0) - axis - rank(1);
  if (behind < 0)
    fail("its second operand " + typeText(1) + " does not fit in " + typeText(0) + " from dim " +
         llvm::Twine(axis) + " on");
  if (behind <= 0)
    return;
  dl::Dims with = dims(1);
  with.append(behind, dim(1));
  replaceInput(1, reshape(tensor(1), with));
}

void NodeImport::replaceInput(size_t input, Item item) {
  if (!item.isTensor())
    return;
  replaced.push_back(std::make_unique<Value>());
  replaced.back()->tensor = item.as<mlir::Value>();
  inputs[input] = replaced.back().get();
}

//===- Results --------------------------------------------------------------------------------===//

void NodeImport::set(size_t output, Item item) {
  if (!item.isTensor()) {
    failed = true;
    return;
  }
  if (wants(output))
    frame.values[node.outputs[output]].tensor = item.as<mlir::Value>();
}

void NodeImport::set(size_t output, Known known) {
  if (wants(output))
    frame.values[node.outputs[output]].known = std::move(known);
}

void NodeImport::setValue(size_t output, Value value) {
  if (wants(output))
    frame.values[node.outputs[output]] = std::move(value);
}

bool NodeImport::limit(AffineExpr expr, int64_t most) {
  AffineExpr room = dl::normalize(dl::constantDim(most, context) - expr);
  auto values = dl::rangeOf(room, dl::symbolRanges(importer.module));
  return (values && values->min >= 0) ||
         importer.narrow(room, /*least=*/0,
                         describe(node) + " takes " + text(expr) + " of a dim of " +
                             std::to_string(most));
}

void NodeImport::expectSize(AffineExpr size) {
  auto values = rangeOf(size);
  if (values && values->min < 0 && !dl::mentions(size, dl::computedSymbols(importer.module)))
    importer.narrow(size, /*least=*/0, /*why=*/""); // the op that gives it says why
}

bool NodeImport::limitPart(AffineExpr end, int64_t most) {
  AffineExpr room = dl::normalize(dl::constantDim(most, context) - end);
  auto values = dl::rangeOf(room, dl::symbolRanges(importer.module)), ends = rangeOf(end);
  bool isRead = llvm::any_of(llvm::enumerate(importer.symbols), [&](auto symbol) {
    return symbol.value().isRead && end.isFunctionOfSymbol(symbol.index());
  });
  bool isComputed = dl::mentions(end, dl::computedSymbols(importer.module));
  // Such an end may count from the end of the dim, or lie beyond it and be cut there.
  if (isRead || (isComputed && (!ends || ends->min < 0 || ends->max > most)))
    return false;
  if (!dl::isCheckedWhenBound(dl::constantDim(most, context), end, importer.module))
    return limit(end, most);
  if (!values || values->max < 0)
    return false;
  // Each symbol, while the others are as small as they may be.
  SmallVector<dl::Range> ranges = dl::symbolRanges(importer.module);
  for (unsigned symbol = 0; symbol < ranges.size(); ++symbol) {
    if (!room.isFunctionOfSymbol(symbol))
      continue;
    SmallVector<AffineExpr> alone;
    for (auto [other, range] : llvm::enumerate(ranges))
      alone.push_back(other == symbol ? getAffineSymbolExpr(symbol, context)
                                      : dl::constantDim(range.min, context));
    importer.narrow(dl::normalize(room.replaceSymbols(alone)), /*least=*/0,
                    describe(node) + " takes " + text(end) + " of a dim of " +
                        std::to_string(most));
  }
  return true;
}

std::optional<dl::Range> NodeImport::rangeOf(AffineExpr expr) const {
  return dl::rangeOf(expr, dl::symbolRanges(importer.module));
}

bool NodeImport::mayMultiply(ArrayRef<AffineExpr> dims) {
  constexpr size_t kMostTerms = 65536;
  size_t terms = 1;
  for (AffineExpr dim : dims)
    if ((terms *= frontend::countOperations(dim)) > kMostTerms)
      return unsupported("the product of its dims is made of too many operations",
                         "; use fewer symbols, or give some of them numbers by --shapes");
  return true;
}

void NodeImport::alias(size_t output, size_t input) {
  if (!has(input))
    fail("it needs its input " + llvm::Twine(input));
  else if (wants(output)) {
    Value copy = *inputs[input];
    // Exporters store equal weights once, and say by Identity what they were called.
    StringRef name = node.outputs[output];
    if (copy.stored && !copy.tensor && !name.contains('/') && !isMadeByMachine(name))
      copy.name = name.str();
    frame.values[node.outputs[output]] = std::move(copy);
  }
}

//===- Building -------------------------------------------------------------------------------===//

Item NodeImport::call(StringRef callee, ArrayRef<Item> positional,
                      ArrayRef<std::pair<StringRef, Item>> named) {
  if (failed)
    return poison();
  SmallVector<frontend::PassedArgument> arguments;
  for (const Item &item : positional)
    arguments.push_back({{}, {}, item});
  for (const auto &[keyword, item] : named)
    arguments.push_back({keyword, {}, item});
  auto isPoison = [](const Item &item) {
    return item.isPoison() ||
           (item.is<Item::List>() && llvm::any_of(item.as<Item::List>(), [](const Item &element) {
              return element.isPoison();
            }));
  };
  if (llvm::any_of(arguments, [&](const auto &argument) { return isPoison(argument.value); })) {
    failed = true;
    return poison();
  }
  // Few nodes may ask for many ops each: loops of them, and windows that are written out.
  size_t most = importer.maxNodes * Importer::kCallsPerNode;
  if (++importer.callCount > most) {
    if (importer.callCount == most + 1)
      fail("with it the model becomes more than " + llvm::Twine(most) + " ops; the limit is " +
           llvm::Twine(most));
    failed = true;
    return poison();
  }
  return emit([&](std::string &message) {
    auto signatures = signaturesOf(callee);
    assert(!signatures.empty() && "a call of a function that does not exist");
    for (const Signature *signature : signatures) {
      auto bound =
          frontend::bindArguments(callee, {}, signature->params, arguments, importer.module);
      if (auto *good = std::get_if<frontend::BoundArguments>(&bound))
        return importer.emitter->emit(loc, *signature, *good);
      if (message.empty())
        message = std::get<frontend::BindError>(bound).message;
    }
    return poison();
  });
}

Item NodeImport::emit(llvm::function_ref<Item(std::string &)> make) {
  std::string message;
  Item result = poison();
  {
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error && message.empty())
        message = diagnostic.str();
      return success();
    });
    result = make(message);
  }
  if (result.isPoison())
    fail(message);
  return result;
}

Item NodeImport::cast(Item x, Type dtype) {
  if (!x.isTensor())
    return poison();
  return {importer.emitter->cast(loc, x.as<mlir::Value>(), dtype), {}};
}

Item NodeImport::reshape(Item x, ArrayRef<AffineExpr> dims) {
  if (x.isTensor() && dl::getDims(x.tensorType()) == dl::Dims(dims))
    return x;
  return call("reshape", {x, dimItems(dims)});
}

Item NodeImport::permute(Item x, ArrayRef<int64_t> order) {
  if (llvm::equal(order, llvm::seq<int64_t>(0, order.size())))
    return x;
  return call("permute", {x, itemList(order)});
}

Item NodeImport::broadcast(Item x, ArrayRef<AffineExpr> dims) {
  if (x.isTensor() && dl::getDims(x.tensorType()) == dl::Dims(dims))
    return x;
  return call("expand", {x, dimItems(dims)});
}

Item NodeImport::full(Item number, RankedTensorType type) {
  return emit([&](std::string &) {
    bool isGood = frontend::checkSize(type, importer.symbols, loc, importer.module);
    importer.emitter->sawTooLarge |= !isGood;
    mlir::Value value = isGood ? importer.emitter->full(loc, number, type) : mlir::Value();
    return value ? Item{value, {}} : poison();
  });
}

Item NodeImport::head(Item x, Item count, int64_t dim) {
  if (failed || !x.isTensor() || !count.isTensor()) {
    failed = true;
    return poison();
  }
  return emit([&](std::string &) {
    mlir::Value part =
        importer.emitter->head(loc, x.as<mlir::Value>(), count.as<mlir::Value>(), dim);
    return part ? Item{part, {}} : poison();
  });
}

Item NodeImport::scalar(double x, Type dtype) {
  auto type = dl::makeTensor({}, dtype);
  if (!isa<FloatType>(dtype) && !(x >= -0x1p63 && x < 0x1p63)) {
    fail("it computes " + dl::text(type, importer.module) + " with " + dl::text(llvm::APFloat(x)) +
         "; expected a number of 64 bits");
    return poison();
  }
  Item number = isa<FloatType>(dtype) ? item(x) : item(static_cast<int64_t>(x));
  if (dtype.isInteger(1))
    number = item(x != 0);
  return full(number, type);
}

std::optional<int64_t> NodeImport::axis(int64_t axis, int64_t rank) {
  if (axis >= -rank && axis < rank)
    return axis < 0 ? axis + rank : axis;
  fail("its axis is " + llvm::Twine(axis) + "; expected " + llvm::Twine(-rank) + " to " +
       llvm::Twine(rank - 1) + " for a tensor of " + llvm::Twine(rank) + " dims");
  return std::nullopt;
}

std::optional<SmallVector<int64_t>> NodeImport::axes(int64_t rank) {
  SmallVector<int64_t> axes = integerList("axes");
  if (has(1)) {
    auto given = integers(1, "the axes");
    if (!given)
      return std::nullopt;
    axes = *given;
  }
  for (int64_t &given : axes) {
    auto found = axis(given, rank);
    if (!found)
      return std::nullopt;
    given = *found;
  }
  return axes;
}

//===- Errors ---------------------------------------------------------------------------------===//

void NodeImport::remark(const llvm::Twine &message) {
  emitRemark(UnknownLoc::get(context))
      << importer.file.path() << ": " << describe(node) << ": " << message.str();
}

bool NodeImport::fail(const llvm::Twine &message) {
  if (!failed && !importer.hasSolved())
    importer.error(describe(node) + ": " + message);
  failed = true;
  return false;
}

bool NodeImport::unsupported(const llvm::Twine &what, const llvm::Twine &advice) {
  if (!failed && !importer.hasSolved()) {
    importer.unsupported.push_back((describe(node) + ": " + what + advice).str());
    ++importer.unsupportedCount;
  }
  failed = true;
  return false;
}

} // namespace dlc::onnx
