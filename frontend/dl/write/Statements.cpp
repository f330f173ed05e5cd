//===- Statements.cpp - Ops as lines of the language --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Knows no op by name, but weights and what the language leaves implicit (numbers and broadcasts):
// how an op is written is said by its signature.
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/write/Reader.h"

#include "frontend/dl/lower/Arguments.h"
#include "frontend/dl/write/LayerRecovery.h"
#include "frontend/dl/write/Scope.h"
#include "frontend/dl/write/WriteDl.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <charconv>
#include <cmath>

using namespace mlir;

namespace dlc::onnx {

using frontend::Item;

void append(Pieces &pieces, const Pieces &more) {
  pieces.insert(pieces.end(), more.begin(), more.end());
}
void append(Pieces &pieces, const Twine &text) {
  pieces.push_back({Piece::Text, text.str(), 0, {}});
}

std::string dtypeText(Type type) {
  std::string text = dl::text(RankedTensorType::get({}, getElementTypeOrSelf(type)), {});
  return text.substr(0, text.find('['));
}

/// Whether the op computes with its numbers in f64. A range counts its elements in f64.
static bool computesInDouble(Operation &op) {
  return isa<dl::FractionsOp>(op) || llvm::any_of(op.getResultTypes(), [](Type type) {
           return getElementTypeOrSelf(type).isF64();
         });
}

/// Unless it has to be exact, a number that an f32 can hold is written with the digits of an f32:
/// ONNX's attributes are f32, and 1e-05 is what their author wrote.
static std::string shortest(double number, bool isExact) {
  if (!std::isfinite(number))
    return std::isnan(number) ? "float(\"nan\")"
           : number < 0       ? "float(\"-inf\")"
                              : "float(\"inf\")";
  auto narrow = static_cast<float>(number);
  char digits[32];
  auto [end, error] = !isExact && static_cast<double>(narrow) == number
                          ? std::to_chars(digits, std::end(digits), narrow)
                          : std::to_chars(digits, std::end(digits), number);
  StringRef text(digits, end - digits);
  return text.str() + (text.contains('.') || text.contains('e') ? "" : ".0");
}

std::string Reader::number(Value value) {
  if (auto broadcast = value.getDefiningOp<dl::BroadcastOp>())
    value = broadcast.getX();
  auto full = value.getDefiningOp<dl::FullOp>();
  if (!full)
    return {};
  Attribute fill = full.getFill();
  if (auto real = dyn_cast<FloatAttr>(fill))
    return shortest(real.getValue().convertToDouble(), real.getType().isF64());
  if (getElementTypeOrSelf(full.getType()).isInteger(1))
    return cast<IntegerAttr>(fill).getValue().isZero() ? "false" : "true";
  bool isUnsigned = getElementTypeOrSelf(full.getType()).isUnsignedInteger();
  return llvm::toString(cast<IntegerAttr>(fill).getValue(), /*Radix=*/10, /*Signed=*/!isUnsigned);
}

/// Numbers and broadcasts have no lines of their own: they stand where they are used.
Pieces Reader::tensor(Value value) {
  Pieces pieces;
  value = sameCut(value);
  Value shaped = value;
  if (auto broadcast = value.getDefiningOp<dl::BroadcastOp>();
      broadcast && broadcast.getX().getDefiningOp<dl::FullOp>())
    value = broadcast.getX();
  if (auto broadcast = value.getDefiningOp<dl::BroadcastOp>()) {
    append(pieces, "expand(");
    append(pieces, tensor(broadcast.getX()));
    append(pieces, ", ");
    append(pieces, dims(dl::getDims(broadcast.getType()), "size"));
    append(pieces, ")");
  } else if (auto full = value.getDefiningOp<dl::FullOp>()) {
    append(pieces, "full(");
    append(pieces, dims(dl::getDims(cast<RankedTensorType>(shaped.getType())), "size"));
    append(pieces, ", " + number(value) + ", dtype=" + dtypeText(full.getType()) + ")");
  } else if (auto symbol = countedBy(value)) {
    append(pieces, "scalar_tensor(");
    append(pieces, sizeOf(*symbol));
    append(pieces, ", dtype=i64)");
  } else {
    pieces.push_back({Piece::Value, {}, 0, value});
  }
  return pieces;
}

/// Elementwise ops broadcast what they are given, and take numbers, where another operand has the
/// dims of the result.
Pieces Reader::operand(Operation &user, Value value) {
  bool standsBeside =
      user.hasTrait<OpTrait::Elementwise>() && llvm::any_of(user.getOperands(), [&](Value other) {
        return other != value && !other.getDefiningOp<dl::BroadcastOp>() &&
               !other.getDefiningOp<dl::FullOp>() &&
               getElementTypeOrSelf(other) == getElementTypeOrSelf(value);
      });
  if (standsBeside) {
    if (std::string text = number(value); !text.empty())
      return {{Piece::Text, text, 0, {}}};
    if (auto broadcast = value.getDefiningOp<dl::BroadcastOp>())
      return operand(user, broadcast.getX());
  }
  return tensor(value);
}

Pieces Reader::attributeText(const Param &param, Attribute value, Operation &op) {
  if (auto dims = dyn_cast<AffineMapAttr>(value);
      dims && dl::mentions(dims.getValue().getResults(), counted))
    return param.count == 1 ? dim(dims.getValue().getResult(0))
                            : this->dims(dims.getValue().getResults(), param.name);
  return onnx::attributeText(param, value, module, computesInDouble(op));
}

Pieces attributeText(const Param &param, Attribute value, dl::SymbolNames names, bool isExact) {
  Pieces pieces;
  auto integer = [&](int64_t number) { return Piece{Piece::Number, param.name.str(), number, {}}; };
  auto list = [&](auto range, auto element) {
    append(pieces, "[");
    for (auto held : range) {
      if (pieces.size() > 1)
        append(pieces, ", ");
      pieces.push_back(element(held));
    }
    append(pieces, "]");
  };
  // Factors of sizes, which are lists, multiply in f64.
  auto real = [&](double number) {
    bool isOfList = isa<DenseF64ArrayAttr>(value);
    return Piece{Piece::Text, shortest(number, isExact || isOfList), 0, {}};
  };
  if (auto numbers = dyn_cast<DenseI64ArrayAttr>(value)) {
    // int[2]: one stands for two that are equal.
    if (!numbers.empty() && param.count == numbers.size() && llvm::all_equal(numbers.asArrayRef()))
      return {integer(numbers[0])};
    list(numbers.asArrayRef(), integer);
  } else if (auto numbers = dyn_cast<DenseF64ArrayAttr>(value)) {
    list(numbers.asArrayRef(), real);
  } else if (auto truth = dyn_cast<BoolAttr>(value)) {
    append(pieces, truth.getValue() ? "true" : "false");
  } else if (auto number = dyn_cast<IntegerAttr>(value)) {
    pieces.push_back(integer(number.getInt()));
  } else if (auto number = dyn_cast<FloatAttr>(value)) {
    pieces.push_back(real(number.getValueAsDouble()));
  } else if (auto text = dyn_cast<StringAttr>(value)) {
    append(pieces, "\"" + text.getValue() + "\"");
  } else if (auto dims = dyn_cast<AffineMapAttr>(value)) {
    auto dim = [&](AffineExpr held) {
      if (auto constant = dyn_cast<AffineConstantExpr>(held))
        return integer(constant.getValue());
      return Piece{Piece::Text, dl::text(held, names), 0, {}};
    };
    if (param.count == 1)
      return {dim(dims.getValue().getResult(0))};
    list(dims.getValue().getResults(), dim);
  } else {
    append(pieces, dtypeText(cast<TypeAttr>(value).getValue()));
  }
  return pieces;
}

Pieces defaultText(const Param &param, Attribute value, dl::SymbolNames names) {
  Pieces pieces = attributeText(param, value, names);
  if (pieces.size() != 1 || pieces.front().kind != Piece::Number)
    return {};
  pieces.front().unlessDefault = ", " + param.name.str() + "=";
  return pieces;
}

/// Whether a way of calling the op gives this attribute by default.
static bool isDefault(NamedAttribute held, Operation &op) {
  for (const OpInfo &info : opTable())
    for (const Signature &signature : info.signatures)
      for (const Param &param : signature.params)
        if (signature.op == op.getName().getStringRef() && param.name == held.getName() &&
            param.hasDefault) {
          Item item = frontend::defaultItem(param);
          if (!item.is<Item::None>() &&
              frontend::attributeOf(param, item, op.getContext()) == held.getValue())
            return true;
        }
  return false;
}

/// Whether the op can be written by this way of calling it.
static bool fits(const Signature &signature, Operation &op) {
  size_t tensors = 0;
  for (const Param &param : signature.params)
    tensors += param.type == Param::tensor;
  bool hasList = llvm::any_of(signature.params,
                              [](const Param &param) { return param.type == Param::tensors; });
  bool hasSegments = op.hasTrait<OpTrait::AttrSizedOperandSegments>();
  if (!hasList && !hasSegments && op.getNumOperands() > tensors)
    return false;
  // Attributes of the op that this way of calling has no parameter for.
  for (NamedAttribute held : op.getAttrs())
    if (held.getName() != "operandSegmentSizes" &&
        llvm::none_of(signature.params,
                      [&](const Param &param) { return param.name == held.getName(); }) &&
        !isDefault(held, op))
      return false;
  // Lists of another length than this way takes; paddings may name both sides.
  for (const Param &param : signature.params)
    if (auto numbers = op.getAttrOfType<DenseI64ArrayAttr>(param.name))
      if (param.count > 1 && numbers.size() != param.count &&
          !(param.name == "padding" && numbers.size() == 2 * param.count))
        return false;
  // Results that this way of calling does not return.
  if (signature.counted.empty())
    return true;
  for (OpResult result : op.getResults().drop_back()) // the last is the count
    if (!result.use_empty() &&
        llvm::none_of(signature.counted, [&](const Signature::Counted &held) {
          return held.result == result.getResultNumber();
        }))
      return false;
  return true;
}

/// Returns the first way of calling that writes the op; null where none does.
static const Signature *wayOfCalling(Operation &op) {
  for (const OpInfo &info : opTable())
    for (const Signature &signature : info.signatures)
      if (signature.op == op.getName().getStringRef() && fits(signature, op))
        return &signature;
  return nullptr;
}

static StringRef infixOf(StringRef function) {
  static const llvm::StringMap<StringRef> kInfix = {
      {"add", "+"}, {"sub", "-"}, {"mul", "*"}, {"div", "/"}, {"matmul", "@"}};
  return kInfix.lookup(function);
}

void Reader::call(const Signature &signature, Operation &op, Line &line) {
  Pieces &text = line.pieces;
  line.infix = infixOf(signature.name);
  std::vector<Pieces> tensors; // each argument that is one
  append(text, signature.name + "(");
  size_t next = 0, segment = 0, arguments = 0;
  ArrayRef<int32_t> segments;
  if (auto sizes = op.getAttrOfType<DenseI32ArrayAttr>("operandSegmentSizes"))
    segments = sizes.asArrayRef();
  bool isNamed = false;
  bool isNext = true; // no parameter has been left out so far
  auto add = [&](const Param &param, const Pieces &value) {
    // Shapes and orders of dims stand without a name right behind the tensor.
    bool isList = param.type == Param::dims || param.type == Param::integers;
    bool isPlain = !isNamed || (isList && param.count != 1 && isNext && arguments == 1);
    isNext &= !isNamed;
    append(text, (arguments++ ? ", " : "") + (isPlain ? Twine() : param.name + Twine("=")));
    append(text, value);
  };
  for (const Param &param : signature.params) {
    if (param.type == Param::tensor || param.type == Param::tensors) {
      bool isList = param.type == Param::tensors;
      size_t count = !segments.empty() ? segments[segment++]
                     : isList          ? op.getNumOperands() - next
                                       : next < op.getNumOperands();
      Pieces value;
      if (isList)
        append(value, "[");
      for (size_t i = 0; i < count; ++i) {
        if (i)
          append(value, ", ");
        Value operandValue = op.getOperand(next + i);
        append(value, isList ? tensor(operandValue) : operand(op, operandValue));
      }
      if (isList)
        append(value, "]");
      next += count;
      if (count || (isList && !param.hasDefault)) {
        add(param, value);
        tensors.push_back(value);
      } else {
        isNamed = true;
        isNext = false;
      }
      continue;
    }
    isNamed = true;
    if (param.type == Param::fixed) {
      if (!param.hasDefault)
        add(param, {{Piece::Text,
                     param.constant == "True"    ? "true"
                     : param.constant == "False" ? "false"
                                                 : param.constant.str(),
                     0,
                     {}}});
      continue;
    }
    Attribute held = op.getAttr(param.name);
    if (!held) {
      isNext = false;
      continue;
    }
    Item otherwise = param.hasDefault ? frontend::defaultItem(param) : Item{Item::None(), {}};
    bool isDefault = !otherwise.is<Item::None>() &&
                     frontend::attributeOf(param, otherwise, op.getContext()) == held;
    if (!isDefault)
      add(param, attributeText(param, held, op));
    else if (arguments > 0)
      append(text, defaultText(param, held, module));
    isNext = false;
  }
  append(text, ")");
  if (arguments != 2 || tensors.size() != 2 ||
      llvm::any_of(tensors, [](const Pieces &tensor) { return tensor.size() != 1; }))
    line.infix.clear();
  else if (!line.infix.empty())
    text = {tensors[0][0], tensors[1][0]};
}

/// A weight by itself. It keeps its name, but for one that a machine made.
void Reader::declareWeight(Value weight, const Line &user, StringRef parameter) {
  auto op = weight.getDefiningOp<dl::WeightOp>();
  auto type = cast<RankedTensorType>(weight.getType());
  std::string path = pathOf(op.getName());
  if (isMadeByMachine(op.getName()) && !user.scope.empty()) {
    StringRef leaf =
        parameter == "bias" || (parameter != "weight" && type.getRank() < 2) ? "bias" : "weight";
    // A part that was given a name of its own, such as the scale of a weight in few bits.
    if (StringRef part = op.getName().rsplit('.').second; !part.empty())
      leaf = part;
    path = pathOf(llvm::join(user.scope, ".") + "." + leaf.str());
  }
  path = uniquePath(paths, path);
  Pieces declaration;
  append(declaration, isa<FloatType>(type.getElementType()) ? "Parameter(" : "Buffer(");
  for (auto [position, size] : llvm::enumerate(type.getShape())) {
    if (position)
      append(declaration, ", ");
    declaration.push_back({Piece::Number, "size", size, {}});
  }
  std::string dtype = dtypeText(type);
  append(declaration, dtype == "f32" ? ")" : ", dtype=" + dtype + ")");
  program.weightMembers[weight] = program.members.size();
  program.members.push_back({path, declaration});
  program.weights.push_back({path, op});
}

void Reader::readTrim(dl::TrimOp trim) {
  Value x = trim.getX();
  AffineExpr size = trim.getSize().getResult(0);
  bool isCut = dl::mentions(size, counted);
  auto result = dyn_cast<OpResult>(x);
  const OpInfo *info = result ? opInfo(result.getOwner()->getName().getStringRef()) : nullptr;
  if (isCut && info && !info->signatures.empty() && !info->signatures.front().counted.empty())
    return; // part of the call that makes it
  Line line;
  line.function = isCut ? "head" : "padded";
  line.results.push_back(trim.getY());
  line.scope = scopeOf(*trim.getOperation());
  append(line.pieces, line.function + "(");
  append(line.pieces, tensor(x));
  append(line.pieces, ", ");
  if (auto symbol = dyn_cast<AffineSymbolExpr>(size); isCut && symbol) {
    append(line.pieces, tensor(counts.lookup(symbol.getPosition())));
    append(line.pieces, ", ");
  } else if (isCut) {
    append(line.pieces, "scalar_tensor(");
    append(line.pieces, dim(size));
    append(line.pieces, ", dtype=i64), ");
  }
  append(line.pieces, Twine(trim.getDim()) + ")");
  program.lines.push_back(std::move(line));
}

Operation *opWithoutText(ModuleOp module) {
  Operation *without = nullptr;
  module.walk([&](Operation *op) {
    bool isCalled = op->getDialect() && isa<dl::DLDialect>(op->getDialect());
    bool isRead = isa<dl::TrimOp, dl::WeightOp, dl::FullOp, dl::BroadcastOp, dl::ReadOp, dl::PartOp,
                      dl::IfOp, dl::WhileOp, dl::YieldOp>(op);
    if (!without && isCalled && !isRead && !wayOfCalling(*op))
      without = op;
  });
  return without;
}

void Reader::read(Operation &op) {
  if (auto trim = dyn_cast<dl::TrimOp>(op))
    return readTrim(trim);
  if (isa<dl::WeightOp, dl::FullOp, dl::BroadcastOp>(op))
    return; // where they are used
  if (auto read = dyn_cast<dl::ReadOp>(op))
    return noteRead(read);
  if (auto part = dyn_cast<dl::PartOp>(op))
    return readPart(part);
  if (auto branch = dyn_cast<dl::IfOp>(op))
    return readIf(branch);
  if (auto loop = dyn_cast<dl::WhileOp>(op))
    return readWhile(loop);
  const Signature *chosen = wayOfCalling(op);
  assert(chosen && "the importer makes ops by their signatures");
  if (isHeldBack(op))
    return; // part of a layer that a later op completes
  Line line;
  line.function = chosen->name.str();
  if (chosen->counted.empty())
    llvm::append_range(line.results, op.getResults());
  for (Signature::Counted held : chosen->counted) {
    Value result = op.getResult(held.result);
    if (Value cut = held.dim == -1 ? Value() : cutOf(op.getResult(held.result)))
      result = cut;
    for (Operation *user : op.getResult(held.result).getUsers())
      if (auto trim = dyn_cast<dl::TrimOp>(user);
          trim && held.dim != -1 && dl::mentions(trim.getSize().getResult(0), counted))
        result = trim.getY();
    line.results.push_back(result);
  }
  line.scope = scopeOf(op);
  call(*chosen, op, line);
  auto layer = recoverLinear(op, line.scope, paths, program);
  if (!layer)
    layer = recoverLayer(*chosen, op, line.scope, paths, program);
  if (layer) {
    line.layer = program.members.size();
    line.infix.clear();
    line.pieces = {{Piece::Layer, {}, 0, {}}, {Piece::Text, "(", 0, {}}};
    append(line.pieces, tensor(layer->input));
    append(line.pieces, ")");
    program.members.push_back(std::move(layer->member));
  }
  if (chosen->returnsTuple() && line.results.size() == 1)
    append(line.pieces, "[0]");
  for (const Piece &piece : line.pieces)
    if (piece.kind == Piece::Value && piece.value.getDefiningOp<dl::WeightOp>() &&
        !program.weightMembers.contains(piece.value)) {
      StringRef parameter;
      for (auto [position, value] : llvm::enumerate(op.getOperands()))
        if (value == piece.value && position < chosen->params.size())
          parameter = chosen->params[position].name;
      declareWeight(piece.value, line, parameter);
    }
  program.lines.push_back(std::move(line));
}

void Reader::readBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    reading = &op;
    read(op);
    for (Value result : op.getResults())
      noteSizes(result);
    defineDerived();
  }
}

/// Renames members whose path begins with the name of an input or output, which keep their names.
static void renameMembers(func::FuncOp function, Program &program) {
  llvm::StringSet<> ports, firsts;
  auto addPorts = [&](ArrayAttr list) {
    for (Attribute attributes : list ? list.getValue() : ArrayRef<Attribute>())
      if (auto name = cast<DictionaryAttr>(attributes).getAs<StringAttr>("dl.name"))
        ports.insert(pathOf(name.getValue()));
  };
  addPorts(function.getAllArgAttrs());
  addPorts(function.getAllResultAttrs());
  auto firstOf = [](StringRef path) { return path.split('.').first; };
  for (const Member &member : program.members)
    firsts.insert(firstOf(member.path));
  llvm::StringMap<std::string> renamed;
  for (const Member &member : program.members) {
    StringRef first = firstOf(member.path);
    if (!ports.contains(first) || renamed.contains(first))
      continue;
    std::string other;
    for (unsigned suffix = 2; other.empty() || ports.contains(other) || firsts.contains(other);
         ++suffix)
      other = (first + "_" + Twine(suffix)).str();
    firsts.insert(other);
    renamed[first] = other;
  }
  auto rename = [&](std::string &path) {
    StringRef first = firstOf(path);
    if (auto other = renamed.find(first); other != renamed.end())
      path = other->second + path.substr(first.size());
  };
  for (Member &member : program.members)
    rename(member.path);
  for (NamedWeight &weight : program.weights)
    rename(weight.path);
  for (Line &line : program.lines)
    if (!line.scope.empty())
      rename(line.scope.front());
}

Program readProgram(ModuleOp module) {
  Program program;
  Reader reader{module, program};
  auto function = *module.getOps<func::FuncOp>().begin();
  Block &body = function.getBody().front();
  reader.readBlock(body);
  reader.reading = nullptr;
  Line end; // outputs may be weights, and numbers
  end.function = "output";
  for (Value value : body.getTerminator()->getOperands()) {
    end.pieces = reader.tensor(value);
    for (const Piece &piece : end.pieces)
      if (piece.kind == Piece::Value && piece.value.getDefiningOp<dl::WeightOp>() &&
          !program.weightMembers.contains(piece.value))
        reader.declareWeight(piece.value, end, {});
    program.outputs.push_back(end.pieces);
  }
  renameMembers(function, program);
  return program;
}

} // namespace dlc::onnx
