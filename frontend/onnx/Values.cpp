//===- Values.cpp - Values of ONNX graphs as tensors and as numbers -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/Importer.h"
#include "frontend/weights/WeightBinding.h"
#include "ir/dl/DLOps.h"
#include "ir/dl/structure/ScaleRange.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::onnx {

using frontend::ElementType;
using frontend::quote;

std::optional<SmallVector<int64_t>> Known::integers() const {
  SmallVector<int64_t> values;
  for (const Number &number : numbers) {
    auto value = number.dim ? dl::asConstant(number.dim) : std::nullopt;
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::optional<dl::Dims> Known::dims() const {
  dl::Dims values;
  for (const Number &number : numbers) {
    if (!number.dim)
      return std::nullopt;
    values.push_back(number.dim);
  }
  return values;
}

bool Known::hasDerivedReals() const {
  return llvm::any_of(numbers, [](const Number &number) { return bool(number.derived); });
}

std::optional<SmallVector<double>> Known::reals() const {
  SmallVector<double> values;
  for (const Number &number : numbers) {
    auto integer = number.dim ? dl::asConstant(number.dim) : std::nullopt;
    if ((number.dim && !integer) || number.derived)
      return std::nullopt;
    values.push_back(number.dim ? static_cast<double>(*integer) : number.real);
  }
  return values;
}

/// One element as a number.
static double realAt(ElementType type, Type dtype, const uint8_t *at) {
  namespace endian = llvm::support::endian;
  switch (type) {
  case ElementType::f64:
    return llvm::bit_cast<double>(endian::read64le(at));
  case ElementType::f32:
    return llvm::bit_cast<float>(endian::read32le(at));
  case ElementType::bf16:
    return llvm::bit_cast<float>(uint32_t(endian::read16le(at)) << 16);
  default: {
    unsigned width = dtype.getIntOrFloatBitWidth();
    uint16_t bits = width == 16 ? endian::read16le(at) : *at;
    llvm::APFloat number(llvm::cast<FloatType>(dtype).getFloatSemantics(),
                         llvm::APInt(width, bits));
    return number.isNaN() ? std::numeric_limits<double>::quiet_NaN() : number.convertToDouble();
  }
  }
}

static int64_t integerAt(ElementType type, const uint8_t *at) {
  uint64_t bits = 0;
  unsigned size = sizeOf(type);
  for (unsigned byte = 0; byte < size; ++byte)
    bits |= uint64_t(at[byte]) << (8 * byte);
  bool isUnsigned = type == ElementType::boolean || nameOf(type).starts_with("u");
  return isUnsigned ? static_cast<int64_t>(bits) : llvm::SignExtend64(bits, 8 * size);
}

std::optional<Known> Importer::numbersOf(ElementType type, ArrayRef<int64_t> shape,
                                         ArrayRef<uint8_t> bytes) {
  Type dtype = frontend::dtypeOf(nameOf(type), context);
  if (!dtype || bytes.size() / sizeOf(type) > Known::kMaxElements)
    return std::nullopt;
  Known known{dtype, SmallVector<int64_t, 4>(shape.begin(), shape.end()), {}};
  for (size_t at = 0; at < bytes.size(); at += sizeOf(type)) {
    Number number;
    if (isa<FloatType>(dtype))
      number.real = realAt(type, dtype, bytes.data() + at);
    else
      number.dim = dl::constantDim(integerAt(type, bytes.data() + at), context);
    if (type == ElementType::u64 && llvm::cast<AffineConstantExpr>(number.dim).getValue() < 0)
      return std::nullopt; // beyond what dims hold
    known.numbers.push_back(number);
  }
  return known;
}

std::optional<Known> Importer::numbersOf(const Tensor &tensor) {
  auto type = elementType(tensor.dataType);
  auto size = type ? byteSizeOf(*type, tensor.dims) : std::nullopt;
  if (!size || *size / sizeOf(*type) > Known::kMaxElements)
    return std::nullopt;
  auto elements = file.elements(tensor);
  if (!elements) {
    llvm::consumeError(elements.takeError()); // said when it is used as a tensor
    return std::nullopt;
  }
  return numbersOf(*type, elements->shape, elements->bytes);
}

const Known *Importer::known(Value &value) {
  if (!value.known && value.stored)
    value.known = numbersOf(*value.stored);
  return value.known ? &*value.known : nullptr;
}

bool Importer::isZero(Value &value) {
  if (const Known *small = known(value)) {
    auto numbers = small->reals();
    return numbers && llvm::all_of(*numbers, [](double number) { return number == 0; });
  }
  if (!value.stored)
    return false;
  auto elements = file.elements(*value.stored);
  if (!elements) {
    llvm::consumeError(elements.takeError()); // said when it is used as a tensor
    return false;
  }
  return llvm::all_of(elements->bytes, [](uint8_t byte) { return byte == 0; });
}

std::optional<SmallVector<int64_t>> Importer::integersOf(Value &value) {
  if (const Known *small = known(value))
    return small->integers();
  auto type = value.stored ? elementType(value.stored->dataType) : std::nullopt;
  if (type != ElementType::i64 && type != ElementType::i32)
    return std::nullopt;
  auto elements = file.elements(*value.stored);
  if (!elements) {
    llvm::consumeError(elements.takeError()); // said when it is used as a tensor
    return std::nullopt;
  }
  SmallVector<int64_t> numbers;
  for (size_t at = 0; at < elements->bytes.size(); at += sizeOf(*type))
    numbers.push_back(integerAt(*type, elements->bytes.data() + at));
  return numbers;
}

/// A weight's name is kept, and made another where two functions use the same.
mlir::Value Importer::weight(Value &value, const std::string &what) {
  const Tensor &tensor = *value.stored;
  auto refuse = [&](const llvm::Twine &why) {
    error(what + ": tensor " + quote(value.name) + ": " + why.str());
    return mlir::Value();
  };
  if (!elementType(tensor.dataType) && dataTypeName(tensor.dataType) == "STRING") {
    unsupported.push_back(what + ": tensor " + quote(value.name) +
                          " holds strings; dlc computes with numbers: give their indices as the "
                          "result, and look strings up after the model");
    ++unsupportedCount;
    return {};
  }
  auto elements = file.elements(tensor);
  if (!elements)
    return refuse(llvm::toString(elements.takeError()));
  Type dtype = frontend::dtypeOf(nameOf(elements->type), context);
  std::string name = value.name.empty() ? "constant" : value.name;
  auto [known, isNew] = weightNames.try_emplace(name, 1);
  while (!isNew) {
    name = value.name + "_" + std::to_string(known->second++);
    isNew = weightNames.try_emplace(name, 1).second;
  }
  OpBuilder::InsertionGuard guard(builder);
  Block *entry = builder.getInsertionBlock();
  while (!llvm::isa<func::FuncOp>(entry->getParentOp()))
    entry = entry->getParentOp()->getBlock();
  if (lastWeight)
    builder.setInsertionPointAfter(lastWeight);
  else
    builder.setInsertionPointToStart(entry);
  bool isPlain = !elements->file.empty();
  auto text = [&](const std::string &value) { return builder.getStringAttr(value); };
  StringAttr path =
      options.withoutWeights ? StringAttr() : text(isPlain ? elements->file : file.path().str());
  // What is encoded in the file is found there again by the place of its message.
  StringAttr source = isPlain || options.withoutWeights ? StringAttr() : text(file.placeOf(tensor));
  std::string hash = options.withoutWeights || options.withoutHashes
                         ? std::string()
                         : frontend::hashOf(elements->bytes);
  mlir::Value made = dl::WeightOp::create(
      builder, NameLoc::get(text("weight " + quote(name))),
      RankedTensorType::get(elements->shape, dtype), text(name), path,
      builder.getI64IntegerAttr(isPlain ? static_cast<int64_t>(elements->offset) : -1), text(hash),
      source);
  lastWeight = made.getDefiningOp();
  if (auto magnitudes = frontend::unusualMagnitudes(dtype, elements->bytes))
    lastWeight->setAttr(kMagnitudes, magnitudes);
  return made;
}

/// Numbers that were computed at import: one that repeats, ones at equal distances, or joined from
/// single ones.
mlir::Value Importer::constant(const Known &known, Location loc, const std::string &what) {
  constexpr size_t kMaxJoined = 64;
  assert(!known.hasDerivedReals() && "the model computes real numbers that sizes give");
  bool isTruthOfSizes =
      known.dtype.isInteger(1) && llvm::any_of(known.numbers, [](const Number &number) {
        return number.dim && !dl::asConstant(number.dim);
      });
  if (isTruthOfSizes) { // 0 or 1
    mlir::Value integers = constant({builder.getI64Type(), known.shape, known.numbers}, loc, what);
    return integers ? emitter->cast(loc, integers, known.dtype) : mlir::Value();
  }
  auto type = RankedTensorType::get(known.shape, known.dtype);
  auto numberItem = [&](const Number &number) -> Item {
    if (number.isReal())
      return {number.real, {}};
    if (known.dtype.isInteger(1))
      return {!dl::isConstant(number.dim, 0), {}};
    return Item::dim(number.dim, {});
  };
  if (known.numbers.empty())
    return emitter->full(loc, Item{int64_t(0), {}}, type);
  if (llvm::all_equal(known.numbers))
    return emitter->full(loc, numberItem(known.numbers.front()), type);
  // Positions: numbers at equal distances.
  if (auto integers = known.integers(); integers && known.numbers.size() > 2) {
    int64_t start = (*integers)[0], step = 0, next = start;
    bool isEven = !llvm::SubOverflow((*integers)[1], start, step) && step > 0 && step <= INT32_MAX;
    for (int64_t number : *integers)
      isEven = isEven && number == next && !llvm::AddOverflow(next, step, next);
    if (isEven) {
      auto number = [](int64_t value) { return Item{value, {}}; };
      auto signature = signaturesOf("arange")[1];
      auto bound = frontend::bindArguments("arange", {}, signature->params,
                                           {{{}, {}, number(start)},
                                            {{}, {}, number(next)},
                                            {"step", {}, number(step)},
                                            {"dtype", {}, {known.dtype, {}}}},
                                           module);
      Item range = emitter->emit(loc, *signature, std::get<frontend::BoundArguments>(bound));
      if (!range.isTensor())
        return {};
      return known.shape.size() == 1
                 ? range.as<mlir::Value>()
                 : emitter->reshape(loc, range.as<mlir::Value>(), dl::getDims(type));
    }
  }
  SmallVector<mlir::Value> parts;
  auto one = dl::makeTensor({dl::constantDim(1, context)}, known.dtype);
  if (known.numbers.size() > kMaxJoined) {
    unsupported.push_back(what + " is a table of " + std::to_string(known.numbers.size()) +
                          " numbers that shapes give; dlc imports up to " +
                          std::to_string(kMaxJoined));
    ++unsupportedCount;
    return {};
  }
  for (const Number &number : known.numbers) {
    mlir::Value part = emitter->full(loc, numberItem(number), one);
    if (!part)
      return {};
    parts.push_back(part);
  }
  Item::List list;
  for (mlir::Value part : parts)
    list.push_back({part, {}});
  auto signature = signaturesOf("cat").front();
  auto bound =
      frontend::bindArguments("cat", {}, signature->params, {{{}, {}, {list, {}}}}, module);
  Item joined = emitter->emit(loc, *signature, std::get<frontend::BoundArguments>(bound));
  if (!joined.isTensor())
    return {};
  return known.shape.size() == 1
             ? joined.as<mlir::Value>()
             : emitter->reshape(loc, joined.as<mlir::Value>(), dl::getDims(type));
}

mlir::Value Importer::materialise(Value &value, Location loc, const std::string &what) {
  if (value.tensor)
    return value.tensor;
  // A single number is no parameter; it is written where it is used.
  bool isNumber = known(value) && value.known->numbers.size() == 1;
  if (value.stored && !isNumber)
    return value.tensor = weight(value, what);
  if (value.known) {
    std::string message;
    {
      ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error && message.empty())
          message = diagnostic.str();
        return success();
      });
      value.tensor = constant(*value.known, loc, what);
    }
    if (!message.empty())
      error(what + ": " + message);
    return value.tensor;
  }
  if (value.sequence) {
    unsupported.push_back(
        what + (value.sequence->isOptional
                    ? " is an optional; dlc has tensors there: use OptionalGetElement"
                    : " is a sequence; dlc has tensors there: join it by ConcatFromSequence"));
    ++unsupportedCount;
    return {};
  }
  error(what + " has no value");
  return {};
}

} // namespace dlc::onnx
