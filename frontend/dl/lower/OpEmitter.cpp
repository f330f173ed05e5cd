//===- OpEmitter.cpp - Builds dl ops from calls -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/lower/OpEmitter.h"

#include "frontend/dl/lower/TorchCalls.h"

#include "ir/dl/DLOps.h"
#include "ir/scalar/Scalar.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;

namespace dlc::frontend {

//===- Types ----------------------------------------------------------------------------------===//

/// bool < integer < float: what PyTorch calls the category of a dtype.
static int categoryOf(Type dtype) { return isa<FloatType>(dtype) ? 2 : dtype.isInteger(1) ? 0 : 1; }

/// PyTorch's common dtype of two tensors.
static Type promoteTypes(Type a, Type b) {
  if (a == b)
    return a;
  if (categoryOf(a) != categoryOf(b))
    return categoryOf(a) > categoryOf(b) ? a : b;
  unsigned widthA = a.getIntOrFloatBitWidth(), widthB = b.getIntOrFloatBitWidth();
  if (widthA != widthB) {
    Type wide = widthA > widthB ? a : b;
    return wide;
  }
  // f16 with bf16, i8 with u8: the next type that holds both; i64 stands for what it and u64 hold.
  return isa<FloatType>(a)
             ? Type(Float32Type::get(a.getContext()))
             : Type(IntegerType::get(a.getContext(), std::min(std::max(2 * widthA, 16u), 64u)));
}

Type OpEmitter::promote(ArrayRef<const Item *> items) {
  // Tensors with dims decide; those without, and after them numbers, only where their category is
  // higher.
  Type groups[3];
  for (const Item *item : items) {
    int group = item->isTensor() ? (item->tensorType().getRank() > 0 ? 0 : 1) : 2;
    Type type = item->isTensor()     ? item->tensorType().getElementType()
                : item->is<double>() ? Type(builder.getF32Type())
                : item->isDim()      ? Type(builder.getI64Type())
                                     : Type(builder.getI1Type());
    groups[group] = groups[group] ? promoteTypes(groups[group], type) : type;
  }
  Type result;
  for (Type type : groups)
    if (type)
      result = !result ? type : categoryOf(type) > categoryOf(result) ? type : result;
  return result;
}

Value OpEmitter::cast(Location loc, Value x, Type dtype) {
  auto type = llvm::cast<RankedTensorType>(x.getType());
  if (type.getElementType() == dtype)
    return x;
  return dl::CastOp::create(builder, loc, dl::withElementType(type, dtype), x, dtype);
}

Value OpEmitter::fullOfDim(Location loc, AffineExpr dim, RankedTensorType type) {
  Type dtype = type.getElementType();
  // What the data count is no number of compile time; the count itself is there.
  if (isCounted(dim)) {
    Value number = cast(loc, countOf(loc, dim), dtype);
    return type.getRank() == 0 ? number
                               : dl::BroadcastOp::create(builder, loc, type, number).getResult();
  }
  SmallVector<dl::Range> ranges;
  for (const Symbol &symbol : symbols)
    ranges.push_back({symbol.min, symbol.max});
  if (auto integer = llvm::dyn_cast<IntegerType>(dtype)) {
    auto range = dl::rangeOf(dim, ranges);
    unsigned bits = integer.getWidth() - !integer.isUnsigned();
    if (!range || range->max >= (int64_t(1) << std::min(bits, 62U)) ||
        range->min < (integer.isUnsigned() ? 0 : -(int64_t(1) << std::min(bits, 62U)))) {
      auto error = emitError(loc) << "the dim " << dl::text(dim, module);
      if (range)
        error << ", " << range->min << " to " << range->max << ",";
      error << " does not fit in the dtype of " << dl::text(type, module)
            << "; cast the tensor to a wider one";
      return {};
    }
  }
  Value scalar =
      dl::ScalarTensorOp::create(builder, loc, dl::makeTensor({}, dtype),
                                 dl::dimsMap(dim, builder.getContext()), TypeAttr::get(dtype));
  if (type.getRank() == 0)
    return scalar;
  return dl::BroadcastOp::create(builder, loc, type, scalar);
}

Value OpEmitter::full(Location loc, const Item &number, RankedTensorType type) {
  if (number.is<AffineExpr>())
    return fullOfDim(loc, number.as<AffineExpr>(), type);
  Type dtype = type.getElementType(), compute = computeType(dtype);
  double real = number.is<double>()    ? number.as<double>()
                : number.is<int64_t>() ? static_cast<double>(number.as<int64_t>())
                                       : number.as<bool>();
  if (auto floating = dyn_cast<FloatType>(compute))
    return dl::FullOp::create(builder, loc, type, builder.getFloatAttr(floating, real));
  int64_t integer = number.is<bool>() ? number.as<bool>() : number.as<int64_t>();
  unsigned width = dtype.getIntOrFloatBitWidth();
  bool fits = dtype.isUnsignedInteger() || dtype.isInteger(1)
                  ? integer >= 0 && llvm::isUIntN(width, integer)
                  : llvm::isIntN(width, integer);
  if (!fits) {
    emitError(loc) << "the number " << integer << " does not fit in the dtype of "
                   << dl::text(type, module) << "; cast the tensor to a wider one";
    return {};
  }
  return dl::FullOp::create(builder, loc, type, builder.getIntegerAttr(compute, integer));
}

/// The dims of both, aligned at the end, where each pair is equal or one of it is 1. Otherwise the
/// dim that differs.
static std::optional<std::pair<AffineExpr, AffineExpr>> broadcastDims(dl::Dims &dims,
                                                                      ArrayRef<AffineExpr> other) {
  while (dims.size() < other.size())
    dims.insert(dims.begin(), dl::constantDim(1, other.front().getContext()));
  for (size_t i = 0; i < other.size(); ++i) {
    AffineExpr &dim = dims[dims.size() - 1 - i], with = other[other.size() - 1 - i];
    if (dl::isConstant(dim, 1))
      dim = with;
    else if (dim != with && !dl::isConstant(with, 1))
      return std::pair(dim, with);
  }
  return std::nullopt;
}

bool OpEmitter::unify(Location loc, StringRef callee, ArrayRef<const Item *> items, bool broadcast,
                      const llvm::SmallBitVector &conditions, SmallVectorImpl<Value> &operands) {
  SmallVector<const Item *> promoted;
  for (auto [position, item] : llvm::enumerate(items))
    if (!conditions.test(position))
      promoted.push_back(item);
  Type common = promote(promoted);
  dl::Dims dims;
  const Item *widest = nullptr;
  for (const Item *item : items) {
    if (!broadcast || !item->isTensor())
      continue;
    if (auto clash = broadcastDims(dims, dl::getDims(item->tensorType()))) {
      emitError(loc) << "cannot broadcast " << dl::text(widest->as<Value>()) << " with "
                     << dl::text(item->as<Value>()) << " in " << quote(callee) << ": dims "
                     << dl::text(clash->first, module) << " and " << dl::text(clash->second, module)
                     << " differ; expected equal dims, or 1";
      return false;
    }
    if (!widest || item->tensorType().getRank() > widest->tensorType().getRank())
      widest = item;
  }
  for (auto [position, item] : llvm::enumerate(items)) {
    Type dtype = common;
    if (conditions.test(position)) {
      dtype = builder.getI1Type();
      bool isBool =
          item->isTensor() ? item->tensorType().getElementType() == dtype : item->is<bool>();
      if (!isBool) {
        emitError(loc) << quote(callee) << " needs a bool tensor as its condition, got "
                       << describe(*item, module) << "; compare it, as in x != 0";
        return false;
      }
    }
    Value operand;
    if (item->isTensor()) {
      operand = cast(loc, item->as<Value>(), dtype);
      if (broadcast && dl::getDims(item->tensorType()) != dims)
        operand = dl::BroadcastOp::create(builder, loc, dl::makeTensor(dims, dtype), operand);
    } else if (!(operand = full(loc, *item, dl::makeTensor(dims, dtype)))) {
      return false;
    }
    operands.push_back(operand);
  }
  return true;
}

//===- Ops ------------------------------------------------------------------------------------===//

/// Makes the op with one result of a type without meaning, which inference then replaces: only an
/// op in being has its properties. Where it turns out to have another number of results, it is made
/// again.
Operation *OpEmitter::createOnce(OperationState &state) {
  Operation *op = builder.create(state);
  auto infers = llvm::cast<InferTypeOpInterface>(op);
  SmallVector<Type> types;
  if (failed(infers.inferReturnTypes(op->getContext(), state.location, op->getOperands(),
                                     op->getAttrDictionary(), op->getPropertiesStorage(),
                                     op->getRegions(), types))) {
    op->erase();
    return nullptr;
  }
  if (types.size() == 1) {
    op->getResult(0).setType(types.front());
  } else {
    op->erase();
    state.types.assign(types.begin(), types.end());
    op = builder.create(state);
  }
  auto isTooLarge = [&](Type type) {
    bool fits = checkSize(llvm::cast<RankedTensorType>(type), symbols, state.location, module);
    sawTooLarge |= !fits;
    if (!fits)
      tooLarge = llvm::cast<RankedTensorType>(type);
    return !fits;
  };
  if (failed(verify(op)) || llvm::any_of(types, isTooLarge)) {
    op->erase();
    return nullptr;
  }
  return op;
}

bool OpEmitter::limitComputed(RankedTensorType type) {
  for (int64_t limit :
       {int64_t(1) << 20, kDefaultDimMax, kDefaultDimMax / 8, kDefaultDimMax / 64}) {
    bool changed = false;
    for (AffineExpr dim : dl::getDims(type))
      dim.walk([&](AffineExpr part) {
        auto symbol = dyn_cast<AffineSymbolExpr>(part);
        if (!symbol)
          return;
        Symbol &held = symbols[symbol.getPosition()];
        if ((held.derived || held.isRead) && held.max > limit && held.min <= limit) {
          held.max = limit;
          changed = true;
        }
      });
    if (!changed)
      continue;
    declareSymbols(module, symbols);
    return true;
  }
  return false;
}

bool OpEmitter::fits(RankedTensorType type, Location loc) {
  OpDiagnostics diagnostics(builder.getContext(), {}, {});
  while (!checkSize(type, symbols, loc, module)) {
    if (!limitComputed(type)) {
      sawTooLarge = true;
      return false;
    }
    diagnostics.drop();
  }
  return true;
}

Operation *OpEmitter::create(Location loc, StringRef name, ArrayRef<Value> operands,
                             ArrayRef<NamedAttribute> attributes,
                             ArrayRef<StringRef> operandNames) {
  OpDiagnostics diagnostics(builder.getContext(), operands, operandNames);
  for (;;) {
    OperationState state(loc, name);
    state.addOperands(operands);
    state.addAttributes(attributes);
    state.addTypes(operands.empty() ? dl::makeTensor({}, builder.getF32Type())
                                    : operands.front().getType());
    tooLarge = {};
    if (Operation *op = createOnce(state))
      return op;
    if (tooLarge && limitComputed(tooLarge)) {
      diagnostics.drop();
      continue;
    }
    auto need = narrow ? diagnostics.need() : std::nullopt;
    if (!need || !narrow(loc, *need))
      return nullptr;
    diagnostics.drop();
  }
}

/// padding="same" and "valid" of a window: as many rows out as in, the odd one behind, as PyTorch
/// has it.
static std::optional<Item> resolvePadding(Location loc, const Signature &signature,
                                          const BoundArguments &arguments, unsigned spatial,
                                          const Item &padding) {
  if (padding.as<std::string>() == "valid")
    return Item{Item::List(spatial, {int64_t(0), padding.loc}), padding.loc};
  auto find = [&](StringRef name) -> const Item * {
    for (auto [param, item] : llvm::zip(signature.params, arguments))
      if (param.name == name && item)
        return &*item;
    return nullptr;
  };
  const Item *weight = find("weight"), *stride = find("stride"), *dilation = find("dilation");
  if (!weight || !weight->isTensor() || weight->tensorType().getRank() != spatial + 2) {
    emitError(loc) << "padding=\"same\" is for convolutions; write the padding in numbers";
    return std::nullopt;
  }
  Item::List low, high;
  for (unsigned i = 0; i < spatial; ++i) {
    auto number = [&](const Item *list) {
      return list ? list->as<Item::List>()[i].as<int64_t>() : 1;
    };
    if (number(stride) != 1) {
      emitError(loc) << "padding=\"same\" needs stride 1, got " << number(stride)
                     << "; write the padding in numbers";
      return std::nullopt;
    }
    auto window = dl::asConstant(dl::getDims(weight->tensorType())[2 + i]);
    std::optional<int64_t> total;
    if (!window || !(total = llvm::checkedMul<int64_t>(number(dilation), *window - 1)) ||
        *total < 0) {
      emitError(loc) << "padding=\"same\" needs a static window and a positive dilation; write the "
                        "padding in numbers";
      return std::nullopt;
    }
    low.push_back({*total / 2, padding.loc});
    high.push_back({*total - *total / 2, padding.loc});
  }
  auto differ = [](const auto &pair) {
    return std::get<0>(pair).template as<int64_t>() != std::get<1>(pair).template as<int64_t>();
  };
  if (llvm::any_of(llvm::zip_equal(low, high), differ))
    low.insert(low.end(), high.begin(), high.end());
  return Item{std::move(low), padding.loc};
}

/// A result of an op whose sizes the data say, cut to a counted symbol: the op's own, made for its
/// first result.
Value OpEmitter::trim(Location loc, const Signature &signature, Operation *op,
                      Signature::Counted counted) {
  Value whole = op->getResult(counted.result), count = op->getResults().back();
  if (counted.dim == -1)
    return whole;
  dl::Dims dims = dl::getDims(llvm::cast<RankedTensorType>(whole.getType()));
  int64_t dim = 0;
  if (auto named = op->getAttrOfType<IntegerAttr>("dim");
      named && counted.dim == Signature::Counted::kAttribute)
    dim = named.getInt() < 0 ? named.getInt() + static_cast<int64_t>(dims.size()) : named.getInt();
  auto held = llvm::find_if(counts, [&](const Count &one) { return one.value == count; });
  AffineExpr size = held != counts.end()
                        ? getAffineSymbolExpr(held->symbol, builder.getContext())
                        : countedSymbol(loc, signature.name.str() + "_count", dims[dim], count);
  return size ? cut(loc, whole, dim, size) : Value();
}

StringRef OpEmitter::nameOf(const std::string &wanted) {
  std::string name = wanted;
  auto isTaken = [&](const std::string &tried) {
    return llvm::any_of(symbols, [&](const Symbol &symbol) { return symbol.name == tried; });
  };
  for (unsigned number = 2; isTaken(name); ++number)
    name = wanted + std::to_string(number);
  return builder.getStringAttr(name).getValue();
}

AffineExpr OpEmitter::readSymbol(Location loc, const std::string &wanted, dl::Range range) {
  if (symbols.size() >= dl::kMaxDeclared) {
    emitError(loc) << "the model has more than " << dl::kMaxDeclared
                   << " dims that vary, those counted whose size the data say; use fewer";
    return {};
  }
  symbols.push_back({nameOf(wanted), {}, range.min, range.max});
  symbols.back().isRead = true;
  declareSymbols(module, symbols);
  return getAffineSymbolExpr(symbols.size() - 1, builder.getContext());
}

AffineExpr OpEmitter::read(Location loc, Value x, const std::string &wanted, dl::Range range) {
  if (AffineExpr known = reads.lookup(x))
    return known;
  AffineExpr symbol = readSymbol(loc, wanted, range);
  if (symbol)
    dl::ReadOp::create(builder, loc, x, dl::dimsMap(symbol, builder.getContext()));
  return reads[x] = symbol;
}

AffineExpr OpEmitter::derive(dl::DerivedAttr size, dl::Range limits) {
  SmallVector<dl::Range> ranges = dl::symbolRanges(module);
  llvm::SmallBitVector counted = dl::countedSymbols(module);
  bool isOfData = false;
  dl::forEachDim(size, [&](AffineExpr dim) { isOfData |= dl::mentions(dim, counted); });
  if (isOfData)
    return {};
  if (AffineExpr dim = dl::simplified(size, ranges))
    return dim;
  for (auto [position, symbol] : llvm::enumerate(symbols))
    if (symbol.derived == size)
      return getAffineSymbolExpr(position, builder.getContext());
  auto range = dl::rangeOf(size, ranges);
  if (!range || symbols.size() >= dl::kMaxDeclared || range->min > limits.max ||
      range->max < limits.min)
    return {};
  std::string function = dl::stringifySizeFunction(size.getFunction()).str();
  unsigned number = 1;
  auto isTaken = [&](const std::string &name) {
    return llvm::any_of(symbols, [&](const Symbol &symbol) { return symbol.name == name; });
  };
  while (isTaken(function + "_" + std::to_string(number)))
    ++number;
  symbols.push_back({builder.getStringAttr(function + "_" + std::to_string(number)).getValue(),
                     {},
                     std::max(range->min, limits.min),
                     std::min(range->max, limits.max)});
  symbols.back().derived = size;
  declareSymbols(module, symbols);
  return getAffineSymbolExpr(symbols.size() - 1, builder.getContext());
}

AffineExpr OpEmitter::countedSymbol(Location loc, const std::string &wanted, AffineExpr most,
                                    Value count) {
  // Those of a largest number may settle to it (ir/analysis/SettledCounts.h).
  constexpr size_t kMaxCounted = dl::kMaxDeclared;
  if (readsCounts) {
    SmallVector<dl::Range> ranges = dl::symbolRanges(module);
    auto range = dl::rangeOf(most, ranges);
    return read(loc, count, wanted, {0, range ? range->max : kDefaultDimMax});
  }
  ++counted;
  auto varies = [](const Symbol &symbol) { return !symbol.most || !dl::asConstant(symbol.most); };
  bool isSettled = dl::asConstant(most).has_value();
  if (symbols.size() >= kMaxCounted ||
      (!isSettled && llvm::count_if(symbols, varies) >= dl::kMaxSymbols)) {
    emitError(loc) << "the model has more than " << (isSettled ? kMaxCounted : dl::kMaxSymbols)
                   << " dims that vary, those counted whose size the data say; use fewer";
    return {};
  }
  counts.push_back({static_cast<unsigned>(symbols.size()), count});
  symbols.push_back({nameOf(wanted), {}, 0, 0, most});
  declareSymbols(module, symbols);
  // For checks of sizes.
  symbols.back().max = dl::symbolRanges(module).back().max;
  return getAffineSymbolExpr(counts.back().symbol, builder.getContext());
}

void OpEmitter::finish(func::FuncOp function, Location loc, SmallVector<Value> results) {
  refuseUsesOfChanged(function);
  SmallVector<DictionaryAttr> attributes;
  SmallVector<Attribute> names;
  size_t end = results.size(); // of the outputs, behind which states stand
  for (unsigned i = 0; i < results.size(); ++i) {
    attributes.push_back(DictionaryAttr::get(builder.getContext(), function.getResultAttrs(i)));
    names.push_back(attributes.back().get("dl.name"));
    if (attributes.back().contains("dl.state"))
      end = std::min<size_t>(end, i);
  }
  for (const Count &count : counts) {
    std::string name = symbols[count.symbol].name.str();
    while (llvm::is_contained(names, Attribute(builder.getStringAttr(name))))
      name += '_';
    names.push_back(builder.getStringAttr(name));
    results.insert(results.begin() + end, count.value);
    attributes.insert(
        attributes.begin() + end,
        builder.getDictionaryAttr({builder.getNamedAttr("dl.name", names.back()),
                                   builder.getNamedAttr("dl.count", builder.getUnitAttr())}));
    ++end;
  }
  function.removeResAttrsAttr();
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), TypeRange(ValueRange(results))));
  function.setAllResultAttrs(attributes);
  func::ReturnOp::create(builder, loc, results);
}

/// An op that counts what another has counted before is that one: their results have one size.
Operation *OpEmitter::sharedCount(Operation *op) {
  for (Operation *other : counters)
    if (OperationEquivalence::isEquivalentTo(op, other, OperationEquivalence::IgnoreLocations)) {
      op->erase();
      return other;
    }
  counters.push_back(op);
  return op;
}

Item OpEmitter::resultOf(Location loc, const Signature &signature, Operation *op,
                         bool isBatchOfOne) {
  if (!op)
    return {Item::Poison(), {}};
  Item::List list;
  if (!signature.counted.empty())
    op = sharedCount(op);
  for (Signature::Counted counted : signature.counted) {
    Value value = trim(loc, signature, op, counted);
    if (!value)
      return {Item::Poison(), {}};
    list.push_back({value, {}});
  }
  if (!list.empty())
    return signature.returnsTuple() ? Item{std::move(list), {}} : list.front();
  for (Value value : op->getResults()) {
    if (isBatchOfOne)
      value = reshape(
          loc, value,
          llvm::ArrayRef(dl::getDims(llvm::cast<RankedTensorType>(value.getType()))).drop_front());
    list.push_back({value, {}});
  }
  return signature.returnsTuple() ? Item{std::move(list), {}} : list.front();
}

Item OpEmitter::emit(Location loc, const Signature &signature, const BoundArguments &arguments) {
  SmallVector<const Item *> tensors;
  llvm::SmallBitVector conditions, mayBeNumbers; // among the tensors
  SmallVector<StringRef> names;                  // of their parameters
  SmallVector<NamedAttribute> attributes;
  SmallVector<int32_t> segments; // operands of each tensor parameter
  // Lists of tensors that are all of one kind (cat) get a common dtype; those beside another tensor
  // (lstm) do not.
  bool isList = !signature.params.empty() && signature.params.front().type == Param::tensors;
  // Operands are told apart by their number, unless the op has room for each.
  bool countsOperands = !OperationName(signature.op, builder.getContext())
                             .hasTrait<OpTrait::AttrSizedOperandSegments>();
  StringRef leftOut;
  for (auto [param, item] : llvm::zip(signature.params, arguments)) {
    if (param.type == Param::tensor || param.type == Param::tensors)
      segments.push_back(!item                          ? 0
                         : param.type == Param::tensors ? item->as<Item::List>().size()
                                                        : 1);
    if (!item) {
      if (param.type == Param::tensor && leftOut.empty())
        leftOut = param.name;
      continue;
    }
    if (param.type == Param::tensor && !leftOut.empty() && countsOperands) {
      emitError(loc) << quote(signature.name) << " takes its argument " << quote(param.name)
                     << " only together with " << quote(leftOut);
      return {Item::Poison(), {}};
    }
    if (param.type == Param::tensor) {
      tensors.push_back(&*item);
      names.push_back(param.name);
      conditions.push_back(param.keepsDtype);
      mayBeNumbers.push_back(param.takesNumber);
    } else if (param.type == Param::tensors) {
      for (const Item &element : item->as<Item::List>()) {
        tensors.push_back(&element);
        names.push_back(param.name);
        conditions.push_back(false);
        mayBeNumbers.push_back(false);
      }
    } else if (param.type == Param::integers && item->is<std::string>()) {
      auto padding = resolvePadding(loc, signature, arguments, param.count, *item);
      if (!padding)
        return {Item::Poison(), {}};
      attributes.push_back(
          builder.getNamedAttr(param.name, attributeOf(param, *padding, builder.getContext())));
    } else if (param.type != Param::fixed) {
      attributes.push_back(
          builder.getNamedAttr(param.name, attributeOf(param, *item, builder.getContext())));
    }
  }
  if (!tensors.empty() &&
      llvm::all_of(tensors, [](const Item *item) { return item->isNumber(); })) {
    emitError(loc) << quote(signature.name) << " needs a tensor, got numbers alone";
    return {Item::Poison(), {}};
  }
  OperationName name(signature.op, builder.getContext());
  bool isElementwise = name.hasTrait<OpTrait::Elementwise>();
  if (name.hasTrait<OpTrait::AttrSizedOperandSegments>())
    attributes.push_back(
        builder.getNamedAttr("operandSegmentSizes", builder.getDenseI32ArrayAttr(segments)));
  SmallVector<Value> operands;
  if (isElementwise || isList) {
    if (!unify(loc, signature.name, tensors, isElementwise, conditions, operands))
      return {Item::Poison(), {}};
  } else {
    for (auto [position, item] : llvm::enumerate(tensors)) {
      if (mayBeNumbers.test(position) && item->isDim()) {
        if (item->is<int64_t>() && item->as<int64_t>() < 0) {
          emitError(loc) << quote(signature.name) << " takes no " << item->as<int64_t>() << " as "
                         << quote(names[position])
                         << "; expected 0 or more: from the end of a dim, as in size(x, 0) - 1";
          return {Item::Poison(), {}};
        }
        operands.push_back(full(loc, *item, dl::makeTensor({}, builder.getI64Type())));
        continue;
      }
      if (!item->isTensor()) {
        emitError(loc) << quote(signature.name) << " needs tensors, got "
                       << describe(*item, module);
        return {Item::Poison(), {}};
      }
      operands.push_back(item->as<Value>());
    }
  }
  if (isElementwise && !operands.empty() &&
      !isa<FloatType>(getElementTypeOrSelf(operands.front())) &&
      !accepts(loc, signature.op, operands, attributes)) {
    // Functions of reals take integers and bools as f32; those of integers refuse bools. Which one
    // an op is, its verifier knows.
    SmallVector<Value> integers(operands), reals(operands);
    for (auto [position, operand] : llvm::enumerate(operands))
      if (!conditions.test(position)) {
        integers[position] = cast(loc, operand, builder.getI64Type());
        reals[position] = cast(loc, operand, builder.getF32Type());
      }
    bool isOfReals = !accepts(loc, signature.op, integers, attributes);
    for (Value other : llvm::concat<Value>(integers, isOfReals ? SmallVector<Value>() : reals))
      if (!llvm::is_contained(operands, other) && other.use_empty())
        other.getDefiningOp()->erase();
    if (isOfReals)
      operands = reals;
  }
  bool isBatchOfOne =
      signature.batchedRank != 0 && !operands.empty() &&
      dl::getDims(llvm::cast<RankedTensorType>(operands.front().getType())).size() + 1 ==
          signature.batchedRank;
  if (isBatchOfOne) {
    dl::Dims dims = dl::getDims(llvm::cast<RankedTensorType>(operands.front().getType()));
    dims.insert(dims.begin(), dl::constantDim(1, builder.getContext()));
    operands.front() = reshape(loc, operands.front(), dims);
  }
  if (auto counted = emitCounted(loc, signature, operands, attributes, names))
    return *counted;
  return resultOf(loc, signature, create(loc, signature.op, operands, attributes, names),
                  isBatchOfOne);
}

bool OpEmitter::accepts(Location loc, StringRef op, ArrayRef<Value> operands,
                        ArrayRef<NamedAttribute> attributes) {
  ScopedDiagnosticHandler quiet(builder.getContext(), [](Diagnostic &) { return success(); });
  Operation *made = create(loc, op, operands, attributes);
  if (made)
    made->erase();
  return made != nullptr;
}

Value OpEmitter::asDeclared(Location loc, Value x, RankedTensorType type) {
  auto own = cast<RankedTensorType>(x.getType());
  if (dl::sameShapeAndElement(own, type))
    return x;
  if (own.getRank() != type.getRank() || own.getElementType() != type.getElementType())
    return {};
  llvm::SmallBitVector computed = dl::computedSymbols(module);
  dl::Dims dims = dl::getDims(type);
  for (auto [declared, found] : llvm::zip_equal(dims, dl::getDims(own)))
    if (declared != found &&
        (isCounted(declared) || isCounted(found) || !dl::mentions({declared, found}, computed) ||
         !dl::canBeEqual(x, declared, found)))
      return {};
  NamedAttribute expected =
      builder.getNamedAttr("dims", AffineMapAttr::get(dl::dimsMap(dims, builder.getContext())));
  Operation *op = create(loc, dl::ExpectDimsOp::getOperationName(), x, expected);
  return op ? op->getResult(0) : Value();
}

Value OpEmitter::reshape(Location loc, Value x, ArrayRef<AffineExpr> dims) {
  NamedAttribute shape =
      builder.getNamedAttr("shape", AffineMapAttr::get(dl::dimsMap(dims, builder.getContext())));
  Operation *op = create(loc, dl::ReshapeOp::getOperationName(), x, shape);
  return op ? op->getResult(0) : Value();
}

} // namespace dlc::frontend
