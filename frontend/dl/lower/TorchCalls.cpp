//===- TorchCalls.cpp - What a call says in PyTorch beyond its op -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/lower/TorchCalls.h"

#include "ir/dl/DLOps.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace dlc::frontend {

SmallVector<const Signature *> waysOfCalling(ArrayRef<const Signature *> signatures,
                                             bool isMethod) {
  SmallVector<const Signature *> functions, methods;
  for (const Signature *way : signatures) {
    bool isOfMethods = !way->params.empty() && way->params.front().name == "self";
    (isOfMethods ? methods : functions).push_back(way);
  }
  if (isMethod && !methods.empty())
    return methods;
  llvm::append_range(functions, methods);
  return functions;
}

/// The argument of the parameter `name`; null if it is left out.
static std::optional<Item> *find(const Signature &signature, BoundArguments &arguments,
                                 StringRef name) {
  for (auto [param, item] : llvm::zip(signature.params, arguments))
    if (param.name == name && item)
      return &item;
  return nullptr;
}

/// `result`, or each tensor of a tuple, after `change`.
static Item map(const Item &result, function_ref<Value(Value)> change) {
  if (result.is<Item::List>()) {
    Item::List list;
    for (const Item &item : result.as<Item::List>())
      list.push_back(map(item, change));
    return {std::move(list), result.loc};
  }
  return result.isTensor() ? Item{change(result.as<Value>()), result.loc} : result;
}

//===- No dims --------------------------------------------------------------------------------===//

/// The result of an op over an empty list of dims, if PyTorch takes it for no dims; sums and the
/// like take it for all.
static std::optional<Item> emitOverNothing(OpEmitter &emitter, Location loc,
                                           const Signature &signature, BoundArguments &arguments) {
  std::optional<Item> *dims = find(signature, arguments, "dim");
  if (!dims || !(*dims)->is<Item::List>() || !(*dims)->as<Item::List>().empty() ||
      !arguments.front()->isTensor())
    return std::nullopt;
  if (signature.op == dl::SqueezeOp::getOperationName())
    return arguments.front();
  if (signature.op != dl::AnyOp::getOperationName() &&
      signature.op != dl::AllOp::getOperationName())
    return std::nullopt;
  Value x = arguments.front()->as<Value>();
  return Item{emitter.cast(loc, x, IntegerType::get(loc.getContext(), 1)), {}};
}

//===- Tensors without dims -------------------------------------------------------------------===//

/// Whether the parameter names dims of the first tensor, and names some.
static bool namesDims(const Param &param, const std::optional<Item> &bound) {
  bool isOfDims = llvm::StringSwitch<bool>(param.name)
                      .Cases({"dim", "dims", "dim0", "dim1", "dimension"}, true)
                      .Cases({"source", "destination"}, true)
                      .Default(false);
  if (!isOfDims || (param.type != Param::integer && param.type != Param::integers))
    return false;
  Item item = bound ? *bound : defaultItem(param);
  return item.is<int64_t>() || (item.is<Item::List>() && !item.as<Item::List>().empty());
}

/// Functions for which PyTorch refuses tensors without dims, too, or whose dims are those of the
/// result.
static bool needsDims(StringRef function) {
  return llvm::StringSwitch<bool>(function)
      .Cases({"select", "narrow", "split", "chunk", "unbind"}, true)
      .Cases({"permute", "unflatten", "unsqueeze", "diagonal"}, true)
      .Cases({"glu", "repeat_interleave", "roll", "take_along_dim", "unique"}, true)
      .Default(false);
}

namespace {
/// A call that names a dim of a tensor which has none. PyTorch counts it as one dim of size 1.
class WithoutDims {
public:
  WithoutDims(OpEmitter &emitter, Location loc, const Signature &signature,
              BoundArguments &arguments);
  /// The result of the op as PyTorch gives it.
  Item resultOf(const Item &result);

private:
  static bool isOfNoDims(const std::optional<Item> &item) {
    return item && item->isTensor() && item->tensorType().getRank() == 0;
  }
  void addDim(std::optional<Item> &item) {
    if (isOfNoDims(item))
      item->value = emitter.reshape(loc, item->as<Value>(), dl::constantDim(1, loc.getContext()));
  }

  OpEmitter &emitter;
  Location loc;
  bool drops = false; // the first dim of results, where it is 1
};
} // namespace

WithoutDims::WithoutDims(OpEmitter &emitter, Location loc, const Signature &signature,
                         BoundArguments &arguments)
    : emitter(emitter), loc(loc) {
  auto named = [](auto pair) { return namesDims(std::get<0>(pair), std::get<1>(pair)); };
  if (arguments.empty() || !arguments.front() || !arguments.front()->isTensor() ||
      needsDims(signature.name) || llvm::none_of(llvm::zip(signature.params, arguments), named))
    return;
  int64_t rank = arguments.front()->tensorType().getRank();
  std::optional<Item> *index = find(signature, arguments, "index");
  bool isOneIndex = index && isOfNoDims(*index), isGather = signature.name == "gather";
  if (rank == 0) {
    // Results of gather have the dims of the index.
    drops = !isGather || isOneIndex;
    for (std::optional<Item> &item : arguments)
      addDim(item);
  } else if (isOneIndex && (rank == 1 || signature.name.starts_with("index_"))) {
    drops = isGather;
    for (StringRef name : {"index", "src"})
      if (std::optional<Item> *item = find(signature, arguments, name))
        addDim(*item);
  }
}

Item WithoutDims::resultOf(const Item &result) {
  if (!drops)
    return result;
  return map(result, [&](Value value) {
    dl::Dims dims = dl::getDims(cast<RankedTensorType>(value.getType()));
    bool isOne = !dims.empty() && dl::isConstant(dims.front(), 1);
    return isOne ? emitter.reshape(loc, value, ArrayRef(dims).drop_front()) : value;
  });
}

//===- Changes in place -----------------------------------------------------------------------===//

/// Attribute of an op that names the operand to which PyTorch would write the result.
static constexpr StringRef kChanged = "dl.changed";

static void noteChange(Value x, Value result) {
  Operation *op = result.getDefiningOp();
  for (OpOperand &operand : op ? op->getOpOperands() : MutableArrayRef<OpOperand>())
    if (operand.get() == x)
      op->setAttr(kChanged, Builder(op).getIndexAttr(operand.getOperandNumber()));
}

void refuseUsesOfChanged(func::FuncOp function) {
  function.walk([](Operation *op) {
    auto changed = dyn_cast_or_null<IntegerAttr>(op->removeDiscardableAttr(kChanged));
    if (!changed)
      return;
    for (Operation *user : op->getOperand(changed.getInt()).getUsers()) {
      Operation *around = op->getBlock()->findAncestorOpInBlock(*user);
      if (!around || around == op || around->isBeforeInBlock(op))
        continue;
      emitError(user->getLoc()) << "uses a tensor after inplace=true changed it, in PyTorch; use "
                                   "the result of that call, or leave inplace out";
      return;
    }
  });
}

//===- Dtypes that an op lacks ----------------------------------------------------------------===//

/// The dtype in which `function` takes elements that its op does not: bools are ordered as bytes,
/// and exponentials are floats. Null if it takes them as they are.
static Type dtypeInside(StringRef function, Type element) {
  MLIRContext *context = element.getContext();
  if (function == "logsumexp" && !isa<FloatType>(element))
    return Float32Type::get(context);
  bool orders = llvm::StringSwitch<bool>(function)
                    .Cases({"max", "min", "amax", "amin", "sort", "argsort"}, true)
                    .Default(false);
  return orders && element.isInteger(1) ? IntegerType::get(context, 8, IntegerType::Unsigned)
                                        : Type();
}

//===- Arguments without an attribute ---------------------------------------------------------===//

/// Takes out the arguments that the op has no attribute for. `inPlace` is set if one of them says
/// so. Returns the dtype among them, or null.
static Type takeOthers(const Signature &signature, BoundArguments &arguments, MLIRContext *context,
                       bool &inPlace) {
  ArrayRef<StringAttr> attributes = OperationName(signature.op, context).getAttributeNames();
  Type dtype;
  for (auto [param, item] : llvm::zip(signature.params, arguments)) {
    bool isOperand = param.type == Param::tensor || param.type == Param::tensors;
    if (!item || isOperand || param.type == Param::fixed ||
        llvm::any_of(attributes, [&](StringAttr held) { return held == param.name; }))
      continue;
    if (item->is<Type>())
      dtype = item->as<Type>();
    inPlace |= param.name == "inplace" && item->as<bool>();
    item = std::nullopt;
  }
  return dtype;
}

Item emitCall(OpEmitter &emitter, Location loc, const Signature &signature,
              BoundArguments arguments) {
  if (auto unchanged = emitOverNothing(emitter, loc, signature, arguments))
    return *unchanged;
  bool inPlace = false;
  Type dtype = takeOthers(signature, arguments, loc.getContext(), inPlace), inside, own;
  std::optional<Item> *first = arguments.empty() ? nullptr : &arguments.front();
  Value x = first && *first && (*first)->isTensor() ? (*first)->as<Value>() : Value();
  if (x && dtype)
    (*first)->value = emitter.cast(loc, x, dtype);
  bool isBinary = arguments.size() > 1 && arguments[1] && arguments[1]->isTensor();
  if (x && !isBinary) {
    own = (*first)->tensorType().getElementType();
    if ((inside = dtypeInside(signature.name, own)))
      (*first)->value = emitter.cast(loc, (*first)->as<Value>(), inside);
  }
  WithoutDims dims(emitter, loc, signature, arguments);
  Item result = dims.resultOf(emitter.emit(loc, signature, arguments));
  if (inside && !isa<FloatType>(inside))
    result = map(result, [&](Value value) {
      return getElementTypeOrSelf(value) == inside ? emitter.cast(loc, value, own) : value;
    });
  if (dtype)
    result = map(result, [&](Value value) { return emitter.cast(loc, value, dtype); });
  if (x && inPlace && result.isTensor())
    noteChange(x, result.as<Value>());
  return result;
}

} // namespace dlc::frontend
