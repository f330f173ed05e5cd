//===- Text.cpp - Lines, blocks and loops as text -----------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/onnx/WriteDl.h"

#include "frontend/dl/Item.h"
#include "frontend/onnx/write/Scope.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dlc::onnx {

namespace {

/// A call of a block's instance, or a line.
struct Statement {
  size_t line = 0;
  const BlockText *block = nullptr;
  const Instance *instance = nullptr;
};

/// An output of a forward, and what it is.
struct Output {
  Pieces pieces;
  std::string name;
};

/// An expression that has no name yet, because one line alone uses it.
struct Pending {
  std::string text;
  unsigned precedence = 0, depth = 0;
};

constexpr unsigned kSum = 1, kProduct = 2, kCall = 3; // how tightly a text binds
constexpr size_t kWidth = 92;                         // of an expression, in characters
constexpr unsigned kDepth = 3;                        // of calls in calls

/// Writes one `forward`: of the model, or of a block by its first instance.
class Body {
public:
  Body(const Program &program, const llvm::StringSet<> &reserved, const BlockText *block)
      : program(program), used(reserved), block(block) {}

  /// A name of the language like `name`, which nothing else has from now on.
  std::string unique(StringRef name);
  std::string declare(Value value, StringRef name) { return names[value] = unique(name); }
  void write(ArrayRef<Statement> statements, ArrayRef<Output> outputs);
  std::string text; // the lines so far

  std::string render(const Pieces &pieces, std::optional<unsigned> layer, unsigned &depth);

private:
  struct Loop {
    size_t length = 1;
    unsigned carried = 0; // the input that is the result of the call before
  };

  std::string expression(const Line &line, Pending &made);
  std::string operand(Value value, unsigned precedence, unsigned &depth, size_t &room);
  void line(const Line &line);
  void call(const Statement &statement);
  void flush();
  Loop loopFrom(ArrayRef<Statement> statements) const;
  void loop(ArrayRef<Statement> statements, unsigned carried);
  std::string pathOfMember(unsigned member) const;

  const Program &program;
  llvm::StringSet<> used;
  const BlockText *block;
  llvm::DenseMap<Value, std::string> names;
  llvm::DenseMap<Value, unsigned> uses;
  llvm::MapVector<Value, Pending> pending;
  llvm::DenseMap<Value, std::string> functionOf;
  llvm::StringMap<unsigned> counts;
};

} // namespace

std::string Body::unique(StringRef name) {
  std::string text = pathOf(name);
  for (char &c : text)
    c = c == '.' ? '_' : c;
  return uniquePath(used, text);
}

std::string Body::pathOfMember(unsigned member) const {
  StringRef path = program.members[member].path;
  if (block && path.consume_front(block->instances.front().path))
    path.consume_front(".");
  return path.str();
}

/// What stands for the value; takes its text where that has no name, and is short enough.
std::string Body::operand(Value value, unsigned precedence, unsigned &depth, size_t &room) {
  auto waiting = pending.find(value);
  if (waiting == pending.end()) {
    auto name = names.find(value);
    if (name != names.end())
      return name->second;
    auto weight = program.weightMembers.find(value);
    assert(weight != program.weightMembers.end() && "a value is used before its line");
    return pathOfMember(weight->second);
  }
  Pending held = waiting->second;
  bool isInner = held.depth < kDepth && held.text.size() <= room;
  if (!isInner) {
    std::string name =
        unique(functionOf[value] + "_" + std::to_string(++counts[functionOf[value]]));
    text += "    " + name + " = " + held.text + "\n";
    names[value] = name;
    pending.erase(waiting);
    return name;
  }
  pending.erase(waiting);
  room -= held.text.size();
  depth = std::max(depth, held.depth + 1);
  return held.precedence < precedence ? "(" + held.text + ")" : held.text;
}

std::string Body::render(const Pieces &pieces, std::optional<unsigned> layer, unsigned &depth) {
  size_t room = kWidth;
  for (const Piece &piece : pieces)
    room -= std::min(room, std::max<size_t>(piece.text.size(), 4));
  std::string made;
  for (const Piece &piece : pieces) {
    if (piece.kind == Piece::Text) {
      made += piece.text;
    } else if (piece.kind == Piece::Layer) {
      made += pathOfMember(*layer);
    } else if (piece.kind == Piece::Value) {
      made += operand(piece.value, 0, depth, room);
    } else {
      auto parameter =
          block ? block->parameterOf.find(&piece) : decltype(block->parameterOf.end())();
      made += block && parameter != block->parameterOf.end() ? block->parameters[parameter->second]
                                                             : std::to_string(piece.number);
    }
  }
  return made;
}

std::string Body::expression(const Line &line, Pending &made) {
  made.precedence = kCall;
  if (line.infix.empty())
    return render(line.pieces, line.layer, made.depth);
  made.precedence = line.infix == "+" || line.infix == "-" ? kSum : kProduct;
  size_t room = kWidth;
  std::string sides[2];
  for (unsigned side = 0; side < 2; ++side) {
    const Piece &piece = line.pieces[side];
    // A chain associates to the left.
    sides[side] = piece.kind == Piece::Value
                      ? operand(piece.value, made.precedence + side, made.depth, room)
                      : piece.text;
    if (StringRef(sides[side]).starts_with("-"))
      sides[side] = "(" + sides[side] + ")";
  }
  std::string text = sides[0] + " " + line.infix + " " + sides[1];
  for (const Piece &piece : ArrayRef(line.pieces).drop_front(2))
    text += piece.text;
  return text;
}

void Body::line(const Line &line) {
  Pending made;
  made.text = expression(line, made);
  bool isSingle = line.results.size() == 1 && !names.contains(line.results.front());
  for (Value result : line.results)
    functionOf[result] = line.function;
  if (isSingle && uses.lookup(line.results.front()) == 1) {
    pending[line.results.front()] = made;
    return;
  }
  std::string results;
  for (Value result : line.results) {
    std::string &name = names[result];
    if (name.empty())
      name = uses.lookup(result)
                 ? unique(line.function + "_" + std::to_string(++counts[line.function]))
                 : "_";
    results += (results.empty() ? "" : ", ") + name;
  }
  text += "    " + results + " = " + made.text + "\n";
}

void Body::call(const Statement &statement) {
  std::string arguments, results;
  unsigned depth = 0;
  for (Value input : statement.instance->inputs) {
    size_t room = kWidth / 2;
    arguments += (arguments.empty() ? "" : ", ") + operand(input, 0, depth, room);
  }
  for (Value output : statement.instance->outputs) {
    std::string &name = names[output];
    if (name.empty())
      name = unique("x_" + std::to_string(++counts["x"]));
    results += (results.empty() ? "" : ", ") + name;
  }
  text += "    " + results + " = " + statement.instance->path + "(" + arguments + ")\n";
}

/// The expressions without a name get theirs: a loop is about to change what they name.
void Body::flush() {
  while (!pending.empty()) {
    size_t room = 0;
    unsigned depth = 0;
    operand(pending.begin()->first, 0, depth, room);
  }
}

/// "layer1.12" is "layer1" and 12.
static std::optional<std::pair<StringRef, int64_t>> element(const Instance &instance) {
  auto [list, index] = StringRef(instance.path).rsplit('.');
  int64_t number;
  if (index.empty() || index.getAsInteger(10, number))
    return std::nullopt;
  return std::pair(list, number);
}

/// How many calls from the first on are one loop: of the elements of a list, each of which takes the result of the one before.
Body::Loop Body::loopFrom(ArrayRef<Statement> statements) const {
  Loop loop;
  auto first = statements.front().instance ? element(*statements.front().instance) : std::nullopt;
  if (!first)
    return loop;
  std::optional<unsigned> carried;
  for (; loop.length < statements.size(); ++loop.length) {
    const Instance *before = statements[loop.length - 1].instance,
                   *next = statements[loop.length].instance;
    auto place = next ? element(*next) : std::nullopt;
    if (!place || place->first != first->first ||
        place->second != first->second + int64_t(loop.length) || before->outputs.size() != 1 ||
        next->outputs.size() != 1 || uses.lookup(before->outputs[0]) != 1 ||
        before->inputs.size() != next->inputs.size())
      break;
    std::optional<unsigned> differing;
    bool isSame = true;
    for (auto [position, input] : llvm::enumerate(next->inputs)) {
      if (input == before->inputs[position])
        continue;
      isSame &= !differing && input == before->outputs[0];
      differing = position;
    }
    if (!isSame || !differing || (carried && carried != differing))
      break;
    carried = differing;
  }
  loop.carried = carried.value_or(0);
  return loop;
}

void Body::loop(ArrayRef<Statement> statements, unsigned carried) {
  const Instance &first = *statements.front().instance, &last = *statements.back().instance;
  auto [list, begin] = *element(first);
  Value initial = first.inputs[carried];
  // The value that the loop changes lends its name where nothing else reads it.
  auto waiting = pending.find(initial);
  std::string name;
  if (waiting != pending.end()) {
    name = unique("x");
    text += "    " + name + " = " + waiting->second.text + "\n";
    pending.erase(waiting);
  }
  flush();
  bool isFree = uses.lookup(initial) == 1 && names.contains(initial) &&
                !program.weightMembers.contains(initial) &&
                StringRef(names[initial]).starts_with("x");
  if (name.empty() && isFree) {
    name = names[initial];
  } else if (name.empty()) {
    unsigned depth = 0;
    size_t room = 0;
    name = unique("x");
    text += "    " + name + " = " + operand(initial, 0, depth, room) + "\n";
  }
  std::string arguments;
  for (auto [position, input] : llvm::enumerate(first.inputs)) {
    unsigned depth = 0;
    size_t room = 0;
    arguments +=
        (position ? ", " : "") + (position == carried ? name : operand(input, 0, depth, room));
  }
  text += "    for i in " + std::to_string(begin) + ".." +
          std::to_string(begin + int64_t(statements.size())) + " {\n      " + name + " = " +
          list.str() + "[i](" + arguments + ")\n    }\n";
  names[last.outputs[0]] = name;
}

void Body::write(ArrayRef<Statement> statements, ArrayRef<Output> outputs) {
  auto use = [&](const Pieces &pieces) {
    for (const Piece &piece : pieces)
      if (piece.kind == Piece::Value)
        ++uses[piece.value];
  };
  llvm::DenseSet<Value> made; // by lines
  for (const Statement &statement : statements) {
    if (!statement.instance) {
      use(program.lines[statement.line].pieces);
      made.insert_range(program.lines[statement.line].results);
      continue;
    }
    for (Value input : statement.instance->inputs)
      ++uses[input];
    made.insert_range(statement.instance->outputs);
  }
  for (const Output &output : outputs)
    use(output.pieces);
  for (const Output &output : outputs)
    if (output.pieces.size() == 1 && made.erase(output.pieces.front().value))
      names[output.pieces.front().value] = output.name;
  while (!statements.empty()) {
    Loop found = loopFrom(statements);
    if (found.length > 1)
      loop(statements.take_front(found.length), found.carried);
    else if (statements.front().instance)
      call(statements.front());
    else
      line(program.lines[statements.front().line]);
    statements = statements.drop_front(found.length);
  }
  for (const Output &output : outputs) {
    unsigned depth = 0;
    std::string value = render(output.pieces, std::nullopt, depth);
    if (value != output.name)
      text += "    " + output.name + " = " + value + "\n";
  }
}

//===- The file -----------------------------------------------------------------------------------===//

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

/// The members of the model, each at its first use: layers, weights, and instances of blocks, of which equal ones in a row are one line.
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
    auto first = element(*statement.instance);
    size_t count = 1;
    for (; first && i + count < statements.size(); ++count) {
      const Statement &next = statements[i + count];
      auto place = next.instance ? element(*next.instance) : std::nullopt;
      if (!place || place->first != first->first ||
          place->second != first->second + int64_t(count) ||
          instanceText(*next.block, *next.instance) != made)
        break;
      declareWeights(next.instance->inputs);
    }
    if (count > 1)
      text += "  " + first->first.str() + "[i]: " + made + " for i in " +
              std::to_string(first->second) + ".." + std::to_string(first->second + count) + "\n";
    else
      text += "  " + statement.instance->path + ": " + made + "\n";
    i += count - 1;
  }
  for (const auto &[value, member] : program.weightMembers) // outputs themselves
    declare(member);
  return text;
}

std::string writeDl(ModuleOp module, StringRef weightsFile, std::vector<NamedWeight> &weights) {
  auto function = *module.getOps<func::FuncOp>().begin();
  Program program = readProgram(module);
  weights = program.weights;
  std::vector<BlockText> blocks = findBlocks(program);
  std::string dims, inputs, outputs;
  llvm::StringSet<> reserved;
  reserved.insert("i"); // of loops
  for (StringRef dtype : frontend::dtypeNames())
    reserved.insert(dtype);
  if (auto symbols = module->getAttrOfType<ArrayAttr>("dl.symbols"))
    for (auto symbol : symbols.getAsRange<dl::SymbolAttr>()) {
      reserved.insert(symbol.getName());
      dims += "dim " + symbol.getName().str() + " = " + std::to_string(symbol.getMin()) + ".." +
              std::to_string(symbol.getMax()) + "\n";
    }
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
    inputs += (inputs.empty() ? "" : ", ") + model.declare(argument, held.getValue()) + ": " +
              dl::text(argument.getType());
  }
  std::vector<Statement> statements = statementsOf(program, blocks);
  std::string declarations = declarationsOf(program, statements, model);
  std::vector<Output> results;
  Operation *end = function.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(end->getOperands())) {
    auto held = function.getResultAttrOfType<StringAttr>(index, "dl.name");
    results.push_back({program.outputs[index], model.unique(held.getValue())});
    outputs +=
        (outputs.empty() ? "" : ", ") + results.back().name + ": " + dl::text(value.getType());
  }
  model.write(statements, results);
  text += "model " + name + " {\n" + declarations + (declarations.empty() ? "" : "\n") +
          "  forward(" + inputs + ") -> (" + outputs + ") {\n" + model.text + "  }\n}\n";
  if (!weights.empty())
    text += "\nweights \"" + weightsFile.str() + "\"\n";
  return text;
}

} // namespace dlc::onnx
