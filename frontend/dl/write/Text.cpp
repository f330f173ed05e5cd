//===- Text.cpp - The file of an imported model -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/write/WriteDl.h"

#include "frontend/dl/evaluate/Item.h"
#include "frontend/dl/write/Body.h"
#include "frontend/dl/write/Statements.h"
#include "ir/dl/base/DerivedSize.h"
#include "ir/dl/control/Flow.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dlc::onnx {

static std::vector<Statement> statementsOf(const Program &program, ArrayRef<BlockText> blocks) {
  llvm::DenseMap<size_t, Statement> calls;
  for (const BlockText &block : blocks)
    for (const Instance &instance : block.instances)
      calls[instance.begin] = {instance.begin, &block, &instance};
  std::vector<Statement> statements;
  for (size_t line = 0; line < program.lines.size();) {
    auto call = calls.find(line);
    statements.push_back(call == calls.end() ? Statement{line} : call->second);
    line = call == calls.end() ? line + 1 : call->second.instance->end;
  }
  return statements;
}

static std::string writeBlock(const Program &program, const BlockText &block,
                              llvm::StringSet<> reserved) {
  const Instance &first = block.instances.front();
  for (const std::string &parameter : block.parameters)
    reserved.insert(parameter);
  Body body(program, reserved, &block);
  std::string inputs, outputs, members;
  unsigned depth = 0;
  for (unsigned member : first.members) {
    StringRef path = program.members[member].path;
    path = path.drop_front(first.path.size() + 1);
    body.unique(path.split('.').first);
    members += "  " + path.str() + ": " +
               body.render(program.members[member].declaration, std::nullopt, depth) + "\n";
  }
  for (Value input : first.inputs)
    inputs += (inputs.empty() ? "" : ", ") + body.declare(input, "x");
  std::vector<Output> results;
  std::vector<Statement> statements;
  for (size_t line = first.begin; line < first.end; ++line)
    statements.push_back({line});
  for (Value output : first.outputs) {
    results.push_back({{{Piece::Value, {}, 0, output}}, body.unique("y")});
    outputs += (outputs.empty() ? "" : ", ") + results.back().name;
  }
  body.write(statements, results);
  return "block " + block.name + "(" + llvm::join(block.parameters, ", ") + ") {\n" + members +
         (members.empty() ? "" : "\n") + "  forward(" + inputs + ") -> (" + outputs + ") {\n" +
         body.text + "  }\n}\n\n";
}

static std::string instanceText(const BlockText &block, const Instance &instance) {
  std::string text = block.name + "(";
  for (auto [position, number] : llvm::enumerate(instance.numbers))
    text += (position ? ", " : "") + block.parameters[position] + "=" + std::to_string(number);
  return text + ")";
}

/// The members of the model, each at its first use: layers, weights, and instances of blocks, of
/// which equal ones in a row are one line.
static std::string declarationsOf(const Program &program, ArrayRef<Statement> statements,
                                  Body &model) {
  std::string text;
  llvm::DenseSet<unsigned> written;
  unsigned depth = 0;
  auto declare = [&](unsigned member) {
    if (written.insert(member).second)
      text += "  " + program.members[member].path + ": " +
              model.render(program.members[member].declaration, std::nullopt, depth) + "\n";
  };
  for (const Statement &statement : statements) // what instances own is theirs
    if (statement.instance)
      written.insert(statement.instance->members.begin(), statement.instance->members.end());
  auto declareWeights = [&](ArrayRef<Value> values) {
    for (Value value : values)
      if (auto weight = program.weightMembers.find(value); weight != program.weightMembers.end())
        declare(weight->second);
  };
  for (size_t i = 0; i < statements.size(); ++i) {
    const Statement &statement = statements[i];
    if (!statement.instance) {
      const Line &line = program.lines[statement.line];
      if (line.layer)
        declare(*line.layer);
      for (const Piece &piece : line.pieces)
        if (piece.kind == Piece::Value)
          declareWeights(piece.value);
      continue;
    }
    declareWeights(statement.instance->inputs);
    std::string made = instanceText(*statement.block, *statement.instance);
    auto first = elementOf(*statement.instance);
    size_t count = 1;
    for (; first && i + count < statements.size(); ++count) {
      const Statement &next = statements[i + count];
      auto place = next.instance ? elementOf(*next.instance) : std::nullopt;
      if (!place || place->first != first->first ||
          place->second != first->second + int64_t(count) ||
          instanceText(*next.block, *next.instance) != made)
        break;
      declareWeights(next.instance->inputs);
    }
    if (count > 1)
      text += "  " + first->first.str() + "[" + program.loopVariable + "]: " + made + " for " +
              program.loopVariable + " in " + std::to_string(first->second) + ".." +
              std::to_string(first->second + count) + "\n";
    else
      text += "  " + statement.instance->path + ": " + made + "\n";
    i += count - 1;
  }
  for (const auto &[value, member] : program.weightMembers) // outputs themselves
    declare(member);
  return text;
}

/// The type of a tensor, "?" in place of dims whose size the data say, or whose definition may be
/// less than 0.
static std::string typeText(Value tensor, const llvm::SmallBitVector &counted,
                            ArrayRef<dl::Range> ranges) {
  std::string text = dtypeText(tensor.getType()) + "[";
  for (auto [position, dim] :
       llvm::enumerate(dl::getDims(cast<RankedTensorType>(tensor.getType())))) {
    auto range = dl::rangeOf(dim, ranges);
    bool isOpen = dl::mentions(dim, counted) || (range && range->min < 0);
    text += (position ? "," : "") + (isOpen ? "?" : dl::text(dim, tensor));
  }
  return text + "]";
}

/// "i", or where the model has that name itself the first of some others that it has not.
static std::string loopVariable(ModuleOp module, const Program &program) {
  auto function = *module.getOps<func::FuncOp>().begin();
  llvm::StringSet<> taken;
  auto addNames = [&](ArrayAttr list) {
    for (Attribute attributes : list ? list.getValue() : ArrayRef<Attribute>())
      if (auto name = cast<DictionaryAttr>(attributes).getAs<StringAttr>("dl.name"))
        taken.insert(name.getValue());
  };
  addNames(function.getAllArgAttrs());
  addNames(function.getAllResultAttrs());
  for (const Member &member : program.members)
    taken.insert(StringRef(member.path).split('.').first);
  if (auto symbols = module->getAttrOfType<ArrayAttr>("dl.symbols"))
    for (auto symbol : symbols.getAsRange<dl::SymbolAttr>())
      taken.insert(symbol.getName());
  std::string name = "i";
  for (unsigned number = 2; taken.contains(name); ++number)
    name = "i_" + std::to_string(number);
  return name;
}

std::string dimDeclaration(dl::SymbolAttr symbol, ModuleOp module) {
  std::string range = symbol.isDerived() ? dl::text(symbol.getDerived(), module)
                                         : std::to_string(symbol.sizeAt(symbol.getMin())) + ".." +
                                               std::to_string(symbol.sizeAt(symbol.getMax()));
  if (!symbol.isDerived() && symbol.getStep() != 1)
    range += " step " + std::to_string(symbol.getStep());
  return "dim " + symbol.getName().str() + " = " + range + "\n";
}

std::string writeDl(ModuleOp module, StringRef weightsFile, std::vector<NamedWeight> &weights) {
  auto function = *module.getOps<func::FuncOp>().begin();
  Program program = readProgram(module);
  weights = program.weights;
  std::string dims, inputs, outputs, states, assignments;
  std::vector<std::string> stateNames;
  llvm::StringSet<> reserved;
  program.loopVariable = loopVariable(module, program);
  reserved.insert(program.loopVariable);
  for (StringRef dtype : frontend::dtypeNames())
    reserved.insert(dtype);
  llvm::SmallBitVector ofData = symbolsOfData(module);
  SmallVector<dl::Range> ranges = dl::symbolRanges(module);
  if (auto symbols = module->getAttrOfType<ArrayAttr>("dl.symbols"))
    for (auto [position, symbol] : llvm::enumerate(symbols.getAsRange<dl::SymbolAttr>())) {
      if (ofData.test(position)) // by the ops
        continue;
      reserved.insert(symbol.getName());
      dims += dimDeclaration(symbol, module);
    }
  std::vector<BlockText> blocks; // a run of lines does not cross branches and loops
  if (!dl::hasFlow(module))
    blocks = findBlocks(program, reserved);
  for (const BlockText &block : blocks)
    reserved.insert(block.name);
  std::string text = "dl 1\n\n" + dims + (dims.empty() ? "" : "\n");
  for (const BlockText &block : blocks)
    text += writeBlock(program, block, reserved);

  for (const Member &member : program.members)
    reserved.insert(StringRef(member.path).split('.').first);
  Body model(program, reserved, nullptr);
  std::string name = model.unique(module.getName().value_or("Model"));
  for (BlockArgument argument : function.getArguments()) {
    auto held = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "dl.name");
    std::string declared = model.declare(argument, held.getValue()) + ": " + dl::text(argument);
    if (function.getArgAttr(argument.getArgNumber(), "dl.state")) {
      stateNames.push_back(StringRef(declared).split(':').first.str());
      states += "  state " + declared + "\n";
    } else {
      inputs += (inputs.empty() ? "" : ", ") + declared;
    }
  }
  std::vector<Statement> statements = statementsOf(program, blocks);
  std::string declarations = declarationsOf(program, statements, model);
  std::vector<Output> results;
  Operation *end = function.getBody().front().getTerminator();
  size_t state = 0;
  for (auto [index, value] : llvm::enumerate(end->getOperands())) {
    auto held = function.getResultAttrOfType<StringAttr>(index, "dl.name");
    if (function.getResultAttr(index, "dl.count"))
      continue;
    if (function.getResultAttr(index, "dl.state")) {
      // Assigned at the end: until then the name is what the run before has left.
      std::string name = stateNames[state++];
      results.push_back({program.outputs[index], model.unique(name + "_next")});
      assignments += "    " + name + " = " + results.back().name + "\n";
      continue;
    }
    results.push_back({program.outputs[index], model.unique(held.getValue())});
    outputs += (outputs.empty() ? "" : ", ") + results.back().name + ": " +
               typeText(value, ofData, ranges);
  }
  model.write(statements, results);
  declarations += states;
  text += "model " + name + " {\n" + declarations + (declarations.empty() ? "" : "\n") +
          "  forward(" + inputs + ") -> (" + outputs + ") {\n" + model.text + assignments +
          "  }\n}\n";
  if (!weights.empty())
    text += "\nweights \"" + weightsFile.str() + "\"\n";
  return text;
}

} // namespace dlc::onnx
