//===- WriteDl.cpp - Imported models as text of the language -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Knows no op by name, but weights and what the language leaves implicit (numbers and broadcasts): how an op is written is said by
// its signature.
//===----------------------------------------------------------------------------------------------===//
#include "frontend/onnx/WriteDl.h"

#include "frontend/dl/Arguments.h"
#include "ir/OpTable.h"
#include "ir/dl/DLOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>

using namespace mlir;

namespace dlc::onnx {

namespace {

using frontend::Item;

class Writer {
public:
  Writer(ModuleOp module, std::vector<NamedWeight> &weights) : module(module), weights(weights) {}
  std::string write(StringRef weightsFile);

private:
  std::string unique(StringRef name, StringRef otherwise);
  void declareWeight(dl::WeightOp op);
  void writeOp(Operation &op);
  std::string operand(Operation &user, Value value);
  std::string nameOf(Value value);
  /// What a number of the text stands for; empty where the value is none.
  std::string number(Value value);
  std::string attribute(const Param &param, Attribute value);
  /// Whether the op can be written by this way of calling it.
  bool fits(const Signature &signature, Operation &op);
  std::string call(const Signature &signature, Operation &op);

  ModuleOp module;
  std::vector<NamedWeight> &weights;
  llvm::DenseMap<Value, std::string> names;
  llvm::StringSet<> used;
  llvm::StringMap<unsigned> counts;
  std::string declarations, body;

public:
  bool isInfinite = false; // a number that cannot be written
};

std::string Writer::unique(StringRef name, StringRef otherwise) {
  std::string text;
  for (char c : name)
    text += llvm::isAlnum(c) || c == '_' ? c : '_';
  static const llvm::StringSet<> kWords = {
      "dl",         "dim",     "const",   "include", "block", "model", "layout",
      "sequential", "forward", "weights", "for",     "in",    "if",    "else",
      "and",        "or",      "not",     "true",    "false", "None",  "_"};
  if (text.empty() || llvm::isDigit(text.front()) || kWords.contains(text) ||
      frontend::dtypeOf(text, module.getContext()))
    text = otherwise.str() + "_" + text;
  std::string made = text;
  for (unsigned suffix = 2; !used.insert(made).second; ++suffix)
    made = text + "_" + std::to_string(suffix);
  return made;
}

/// Names of weights stay where they are paths of the language.
void Writer::declareWeight(dl::WeightOp op) {
  std::string path;
  SmallVector<StringRef> parts;
  op.getName().split(parts, '.', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    path += path.empty() ? "" : ".";
    for (char c : part)
      path += llvm::isAlnum(c) || c == '_' ? c : '_';
  }
  if (path.empty() || llvm::isDigit(path.front()))
    path = "w_" + path;
  std::string made = path;
  for (unsigned suffix = 2; !used.insert(made).second; ++suffix)
    made = path + "_" + std::to_string(suffix);
  path = made;
  auto type = llvm::cast<RankedTensorType>(op.getType());
  std::string dtype = dl::text(RankedTensorType::get({}, type.getElementType()));
  dtype.resize(dtype.find('['));
  declarations +=
      "  " + path + ": " + (isa<FloatType>(type.getElementType()) ? "Parameter(" : "Buffer(");
  for (auto [position, size] : llvm::enumerate(type.getShape()))
    declarations += (position ? ", " : "") + std::to_string(size);
  declarations += dtype == "f32" ? ")\n" : ", dtype=" + dtype + ")\n";
  names[op.getResult()] = path;
  weights.push_back({path, op});
}

std::string Writer::number(Value value) {
  if (auto broadcast = value.getDefiningOp<dl::BroadcastOp>())
    value = broadcast.getX();
  auto full = value.getDefiningOp<dl::FullOp>();
  if (!full)
    return {};
  Attribute fill = full.getFill();
  Type dtype = llvm::cast<RankedTensorType>(full.getType()).getElementType();
  if (auto real = dyn_cast<FloatAttr>(fill)) {
    if (!real.getValue().isFinite())
      return {};
    std::string text = dl::text(real.getValue());
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
  if (dtype.isInteger(1))
    return llvm::cast<IntegerAttr>(fill).getValue().isZero() ? "false" : "true";
  return std::to_string(llvm::cast<IntegerAttr>(fill).getInt());
}

/// Elementwise ops broadcast what they are given, and take numbers, where another operand has the dims of the result.
std::string Writer::operand(Operation &user, Value value) {
  bool isElementwise = user.hasTrait<OpTrait::Elementwise>();
  bool standsBeside = isElementwise && llvm::any_of(user.getOperands(), [&](Value other) {
                        return other != value && !other.getDefiningOp<dl::BroadcastOp>() &&
                               !other.getDefiningOp<dl::FullOp>() &&
                               getElementTypeOrSelf(other) == getElementTypeOrSelf(value);
                      });
  if (standsBeside) {
    if (std::string text = number(value); !text.empty())
      return text;
    if (auto broadcast = value.getDefiningOp<dl::BroadcastOp>())
      return operand(user, broadcast.getX());
  }
  return nameOf(value);
}

std::string Writer::attribute(const Param &param, Attribute value) {
  auto list = [](auto range, auto text) {
    std::string joined = "[";
    for (auto element : range)
      joined += (joined.size() > 1 ? ", " : "") + text(element);
    return joined + "]";
  };
  auto integer = [](int64_t number) { return std::to_string(number); };
  auto real = [this](double number) {
    isInfinite |= !std::isfinite(number);
    return dl::text(llvm::APFloat(number));
  };
  if (auto numbers = dyn_cast<DenseI64ArrayAttr>(value))
    return list(numbers.asArrayRef(), integer);
  if (auto numbers = dyn_cast<DenseF64ArrayAttr>(value))
    return list(numbers.asArrayRef(), real);
  if (auto truth = dyn_cast<BoolAttr>(value))
    return truth.getValue() ? "true" : "false";
  if (auto number = dyn_cast<IntegerAttr>(value))
    return integer(number.getInt());
  if (auto number = dyn_cast<FloatAttr>(value))
    return real(number.getValueAsDouble());
  if (auto text = dyn_cast<StringAttr>(value))
    return "\"" + text.getValue().str() + "\"";
  if (auto dims = dyn_cast<AffineMapAttr>(value)) {
    auto text = [](AffineExpr dim) { return dl::text(dim); };
    return param.count == 1 ? dl::text(dims.getValue().getResult(0))
                            : list(dims.getValue().getResults(), text);
  }
  std::string dtype = dl::text(RankedTensorType::get({}, llvm::cast<TypeAttr>(value).getValue()));
  return dtype.substr(0, dtype.find('['));
}

bool Writer::fits(const Signature &signature, Operation &op) {
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
                      [&](const Param &param) { return param.name == held.getName(); }))
      return false;
  return true;
}

std::string Writer::call(const Signature &signature, Operation &op) {
  std::string text = signature.name.str() + "(";
  size_t next = 0, segment = 0;
  ArrayRef<int32_t> segments;
  if (auto sizes = op.getAttrOfType<DenseI32ArrayAttr>("operandSegmentSizes"))
    segments = sizes.asArrayRef();
  bool isNamed = false;
  auto add = [&](StringRef name, const std::string &value) {
    text += text.back() == '(' ? "" : ", ";
    text += (isNamed ? name.str() + "=" : "") + value;
  };
  for (const Param &param : signature.params) {
    if (param.type == Param::tensor || param.type == Param::tensors) {
      bool isList = param.type == Param::tensors;
      size_t count = !segments.empty() ? segments[segment++]
                     : isList          ? op.getNumOperands() - next
                                       : next < op.getNumOperands();
      std::string list;
      for (size_t i = 0; i < count; ++i)
        list += (i ? ", " : "") +
                (isList ? nameOf(op.getOperand(next + i)) : operand(op, op.getOperand(next + i)));
      next += count;
      if (count)
        add(param.name, isList ? "[" + list + "]" : list);
      else
        isNamed = true;
      continue;
    }
    isNamed = true;
    if (param.type == Param::fixed) {
      std::string constant = param.constant == "True"    ? "true"
                             : param.constant == "False" ? "false"
                                                         : param.constant.str();
      if (!param.hasDefault)
        add(param.name, constant);
      continue;
    }
    Attribute held = op.getAttr(param.name);
    if (!held)
      continue;
    std::string value = attribute(param, held);
    Item otherwise = param.hasDefault ? frontend::defaultItem(param) : Item{Item::None(), {}};
    bool isDefault = !otherwise.is<Item::None>() &&
                     frontend::attributeOf(param, otherwise, op.getContext()) == held;
    if (!isDefault)
      add(param.name, value);
  }
  return text + ")";
}

/// The name of a value, whose line is written now where the language might have left it out.
std::string Writer::nameOf(Value value) {
  auto found = names.find(value);
  if (found != names.end())
    return found->second;
  auto type = llvm::cast<RankedTensorType>(value.getType());
  std::string dims = "[";
  for (AffineExpr dim : dl::getDims(type))
    dims += (dims.size() > 1 ? ", " : "") + dl::text(dim);
  dims += "]";
  std::string text;
  if (auto broadcast = value.getDefiningOp<dl::BroadcastOp>()) {
    text = "expand(" + nameOf(broadcast.getX()) + ", " + dims + ")";
  } else {
    std::string dtype = dl::text(type), fill = number(value);
    dtype.resize(dtype.find('['));
    // The language has no word for infinity.
    text = "full(" + dims + ", " + (fill.empty() ? "0.0" : fill) + ", dtype=" + dtype + ")";
    if (fill.empty()) {
      llvm::APFloat special =
          llvm::cast<FloatAttr>(value.getDefiningOp<dl::FullOp>().getFill()).getValue();
      text = special.isNaN()        ? "log(neg(exp(" + text + ")))"
             : special.isNegative() ? "log(" + text + ")"
                                    : "neg(log(" + text + "))";
    }
  }
  std::string name = unique("constant_" + std::to_string(++counts["constant"]), "v");
  body += "    " + name + " = " + text + "\n";
  return names[value] = name;
}

void Writer::writeOp(Operation &op) {
  if (auto weight = dyn_cast<dl::WeightOp>(op))
    return declareWeight(weight);
  if (isa<dl::FullOp, dl::BroadcastOp>(op))
    return; // where they are used
  const Signature *chosen = nullptr;
  for (const OpInfo &info : opTable())
    for (const Signature &signature : info.signatures)
      if (!chosen && signature.op == op.getName().getStringRef() && fits(signature, op))
        chosen = &signature;
  assert(chosen && "the importer makes ops by their signatures");
  std::string text = call(*chosen, op), results;
  for (Value result : op.getResults()) {
    std::string name = chosen->name.str() + "_" + std::to_string(++counts[chosen->name]);
    names[result] = unique(name, "v");
    results += (results.empty() ? "" : ", ") + names[result];
  }
  bool isTuple = chosen->returnsTuple() && op.getNumResults() == 1;
  body += "    " + results + " = " + text + (isTuple ? "[0]" : "") + "\n";
}

std::string Writer::write(StringRef weightsFile) {
  auto function = *module.getOps<func::FuncOp>().begin();
  std::string dims, inputs, outputs;
  if (auto symbols = module->getAttrOfType<ArrayAttr>("dl.symbols"))
    for (auto symbol : symbols.getAsRange<dl::SymbolAttr>()) {
      used.insert(symbol.getName());
      dims += "dim " + symbol.getName().str() + " = " + std::to_string(symbol.getMin()) + ".." +
              std::to_string(symbol.getMax()) + "\n";
    }
  for (BlockArgument argument : function.getArguments()) {
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "dl.name");
    names[argument] = unique(name.getValue(), "x");
    inputs += (inputs.empty() ? "" : ", ") + names[argument] + ": " + dl::text(argument.getType());
  }
  std::vector<std::string> results;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    results.push_back(
        unique(function.getResultAttrOfType<StringAttr>(i, "dl.name").getValue(), "y"));
  for (Operation &op : function.getBody().front().without_terminator())
    writeOp(op);
  Operation *end = function.getBody().front().getTerminator();
  for (auto [name, value] : llvm::zip(results, end->getOperands())) {
    body += "    " + name + " = " + nameOf(value) + "\n";
    outputs += (outputs.empty() ? "" : ", ") + name + ": " + dl::text(value.getType());
  }
  std::string text = "dl 1\n\n" + dims + (dims.empty() ? "" : "\n") + "model " +
                     unique(module.getName().value_or("Model"), "Model") + " {\n" + declarations +
                     (declarations.empty() ? "" : "\n") + "  forward(" + inputs + ") -> (" +
                     outputs + ") {\n" + body + "  }\n}\n";
  if (!weights.empty())
    text += "\nweights \"" + weightsFile.str() + "\"\n";
  return text;
}

} // namespace

std::optional<std::string> writeDl(ModuleOp module, StringRef weightsFile,
                                   std::vector<NamedWeight> &weights) {
  Writer writer(module, weights);
  std::string text = writer.write(weightsFile);
  return writer.isInfinite ? std::nullopt : std::optional(std::move(text));
}

} // namespace dlc::onnx
