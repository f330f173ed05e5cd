//===- Body.cpp - Lines, calls of blocks and loops of one forward -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/write/Body.h"

#include "frontend/dl/write/Scope.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc::onnx {

static constexpr unsigned kSum = 1, kProduct = 2, kCall = 3; // how tightly a text binds
static constexpr size_t kWidth = 92;                         // of an expression, in characters
static constexpr unsigned kDepth = 3;                        // of calls in calls

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
    text += indent + name + " = " + held.text + "\n";
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
    if (piece.unlessDefault.empty())
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
      if (block && parameter != block->parameterOf.end())
        made += piece.unlessDefault + block->parameters[parameter->second];
      else if (piece.unlessDefault.empty())
        made += std::to_string(piece.number);
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
  if (isSingle && !line.isDim && uses.lookup(line.results.front()) == 1) {
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
  text += indent + (results.empty() ? "_" : results) + " = " + made.text + "\n";
}

std::string Body::nameOf(Value value, StringRef function) {
  std::string &name = names[value];
  if (name.empty())
    name = unique(function.str() + "_" + std::to_string(++counts[function]));
  return name;
}

void Body::assign(const Line &line) {
  std::string targets, values;
  unsigned depth = 0;
  for (auto [value, pieces] : llvm::zip_equal(line.results, line.parts)) {
    values += (values.empty() ? "" : ", ") + render(pieces, std::nullopt, depth);
    targets += (targets.empty() ? "" : ", ") + nameOf(value, line.function);
  }
  if (line.results.size() > 1)
    values = "(" + values + ")";
  if (!targets.empty())
    text += indent + targets + " = " + values + "\n";
}

void Body::control(const Line &line) {
  unsigned depth = 0;
  auto open = [&](const std::string &head) {
    flush(); // once, and not in each step
    text += indent + head + " {\n";
    indent += "  ";
  };
  auto close = [&] {
    flush();
    indent.resize(indent.size() - 2);
  };
  switch (line.kind) {
  case Line::If:
  case Line::While: {
    std::string condition = render(line.pieces, std::nullopt, depth);
    for (Value result : line.results)
      nameOf(result, line.function);
    return open((line.kind == Line::If ? "if " : "while ") + condition);
  }
  case Line::For: {
    std::string trips = render(line.pieces, std::nullopt, depth);
    return open("for " + nameOf(line.results.front(), "step") + " in 0.." + trips);
  }
  case Line::Else:
    close();
    text += indent + "} else {\n";
    indent += "  ";
    return;
  case Line::End:
    close();
    text += indent + "}\n";
    return;
  case Line::Alias:
    for (auto [result, value] : llvm::zip_equal(line.results, line.aliased)) {
      std::string name = names.lookup(value); // a copy: the next line may move the map
      names[result] = std::move(name);
    }
    return;
  case Line::Assign:
    return assign(line);
  case Line::Plain:
    llvm_unreachable("no part of a branch or loop");
  }
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

std::optional<std::pair<StringRef, int64_t>> elementOf(const Instance &instance) {
  auto [list, index] = StringRef(instance.path).rsplit('.');
  int64_t number;
  if (index.empty() || index.getAsInteger(10, number))
    return std::nullopt;
  return std::pair(list, number);
}

/// How many calls from the first on are one loop: of the elements of a list, each of which takes
/// the result of the one before.
Body::Loop Body::loopFrom(ArrayRef<Statement> statements) const {
  Loop loop;
  auto first = statements.front().instance ? elementOf(*statements.front().instance) : std::nullopt;
  if (!first)
    return loop;
  std::optional<unsigned> carried;
  for (; loop.length < statements.size(); ++loop.length) {
    const Instance *before = statements[loop.length - 1].instance,
                   *next = statements[loop.length].instance;
    auto place = next ? elementOf(*next) : std::nullopt;
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
  auto [list, begin] = *elementOf(first);
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
  const std::string &index = program.loopVariable;
  text += "    for " + index + " in " + std::to_string(begin) + ".." +
          std::to_string(begin + int64_t(statements.size())) + " {\n      " + name + " = " +
          list.str() + "[" + index + "](" + arguments + ")\n    }\n";
  names[last.outputs[0]] = name;
}

void Body::write(ArrayRef<Statement> statements, ArrayRef<Output> outputs) {
  auto use = [&](const Pieces &pieces) {
    for (const Piece &piece : pieces)
      if (piece.kind == Piece::Value)
        ++uses[piece.value];
  };
  for (const Output &output : outputs)
    use(output.pieces);
  llvm::DenseSet<Value> made;  // by lines
  llvm::DenseSet<size_t> dead; // lines that nothing uses
  for (const Statement &statement : llvm::reverse(statements)) {
    if (statement.instance) {
      for (Value input : statement.instance->inputs)
        ++uses[input];
      made.insert_range(statement.instance->outputs);
      continue;
    }
    const Line &line = program.lines[statement.line];
    if (line.kind == Line::Plain && (!line.isDim || line.mayGo) &&
        llvm::none_of(line.results, [&](Value result) { return uses.contains(result); })) {
      dead.insert(statement.line);
      continue;
    }
    use(line.pieces);
    llvm::for_each(line.parts, use);
    if (line.kind != Line::Assign)
      made.insert_range(line.results);
  }
  for (const Output &output : outputs)
    if (output.pieces.size() == 1 && made.erase(output.pieces.front().value))
      names[output.pieces.front().value] = output.name;
  while (!statements.empty()) {
    Loop found = loopFrom(statements);
    if (found.length > 1)
      loop(statements.take_front(found.length), found.carried);
    else if (statements.front().instance)
      call(statements.front());
    else if (const Line &next = program.lines[statements.front().line]; next.kind != Line::Plain)
      control(next);
    else if (!dead.contains(statements.front().line))
      line(next);
    statements = statements.drop_front(found.length);
  }
  for (const Output &output : outputs) {
    unsigned depth = 0;
    std::string value = render(output.pieces, std::nullopt, depth);
    if (value != output.name)
      text += "    " + output.name + " = " + value + "\n";
  }
}

} // namespace dlc::onnx
