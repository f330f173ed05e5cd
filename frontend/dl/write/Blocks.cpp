//===- Blocks.cpp - Runs of lines that repeat ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names of nodes show modules. Two modules whose lines are the same but for numbers are
// instances of one block, which takes as parameters the numbers that differ: the least general text
// that both are cases of (anti-unification; Plotkin, 1970).
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/declare/Layers.h"
#include "frontend/dl/write/Scope.h"
#include "frontend/dl/write/Statements.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc::onnx {

namespace {

/// An instance and what it is besides its numbers.
struct Outline {
  Instance instance;
  std::string skeleton;
  std::vector<const Piece *> numbers; // all of them, in the order of the text
};

struct Finder {
  const Program &program;
  llvm::DenseMap<Value, size_t> definer;            // the line
  llvm::DenseMap<Value, SmallVector<size_t>> users; // lines, and past the last one the outputs
  std::vector<bool> isTaken;

  explicit Finder(const Program &program);
  std::optional<Outline> outline(size_t begin, size_t end, size_t depth) const;
  void takeBlocks(size_t depth, const llvm::StringSet<> &reserved, std::vector<BlockText> &blocks);
};

} // namespace

Finder::Finder(const Program &program) : program(program), isTaken(program.lines.size()) {
  for (auto [index, line] : llvm::enumerate(program.lines)) {
    for (Value result : line.results)
      definer[result] = index;
    for (const Piece &piece : line.pieces)
      if (piece.kind == Piece::Value)
        users[piece.value].push_back(index);
  }
  for (const Pieces &output : program.outputs)
    for (const Piece &piece : output)
      if (piece.kind == Piece::Value)
        users[piece.value].push_back(program.lines.size());
}

/// A text; of a number what it says, and what stands before it whether that is written or not.
static std::string skeletonOf(const Piece &piece) {
  return piece.kind == Piece::Number ? piece.unlessDefault + "#" + piece.text : piece.text;
}

std::optional<Outline> Finder::outline(size_t begin, size_t end, size_t depth) const {
  Outline outline;
  Instance &instance = outline.instance;
  instance.begin = begin;
  instance.end = end;
  const auto &scope = program.lines[begin].scope;
  instance.path = llvm::join(ArrayRef(scope).take_front(depth), ".");
  auto isWithin = [&](size_t line) { return line >= begin && line < end; };
  std::string members, lines;
  llvm::DenseMap<Value, std::string> names;
  std::vector<const Piece *> ofLines;
  auto addMember = [&](unsigned index) {
    const Member &member = program.members[index];
    StringRef path = member.path;
    if (!path.consume_front(instance.path) || !path.consume_front(".") ||
        llvm::isDigit(path.front())) // no name within a block: its elements are looked at next
      return false;
    std::string text = path.str() + ":";
    for (const Piece &piece : member.declaration) {
      text += skeletonOf(piece);
      if (piece.kind == Piece::Number)
        outline.numbers.push_back(&piece);
    }
    members += text + "\n";
    instance.members.push_back(index);
    return true;
  };
  for (size_t i = begin; i < end; ++i) {
    const Line &line = program.lines[i];
    lines += line.infix + " " + line.function;
    for (const Piece &piece : line.pieces) {
      if (piece.kind == Piece::Text) {
        lines += piece.text;
      } else if (piece.kind == Piece::Number) {
        lines += skeletonOf(piece);
        ofLines.push_back(&piece);
      } else if (piece.kind == Piece::Layer) {
        if (!addMember(*line.layer))
          return std::nullopt;
        lines += "layer" + std::to_string(instance.members.size());
      } else {
        std::string &name = names[piece.value];
        if (name.empty()) {
          auto weight = program.weightMembers.find(piece.value);
          bool isOwn = weight != program.weightMembers.end() &&
                       llvm::all_of(users.lookup(piece.value), isWithin) &&
                       addMember(weight->second);
          if (isOwn) {
            name = "weight" + std::to_string(instance.members.size());
          } else {
            instance.inputs.push_back(piece.value);
            name = "input" + std::to_string(instance.inputs.size());
          }
        }
        lines += "<" + name + ">";
      }
    }
    for (Value result : line.results) {
      bool isOutput = !llvm::all_of(users.lookup(result), isWithin);
      names[result] = "value" + std::to_string(names.size());
      lines += isOutput ? " out" : " in";
      if (isOutput)
        instance.outputs.push_back(result);
    }
    lines += "\n";
  }
  llvm::append_range(outline.numbers, ofLines);
  outline.skeleton = members + "\n" + lines;
  constexpr size_t kMinLines = 4; // of a block that owns nothing
  bool isWorthwhile = !instance.members.empty() || end - begin >= kMinLines;
  return instance.inputs.empty() || instance.outputs.empty() || !isWorthwhile
             ? std::nullopt
             : std::optional(std::move(outline));
}

/// The block of instances with one skeleton; nothing where more numbers differ than a reader can
/// follow.
static std::optional<BlockText> unify(const Program &program, ArrayRef<Outline *> outlines,
                                      llvm::StringSet<> taken) {
  constexpr size_t kMaxParameters = 8;
  BlockText block;
  const Instance &first = outlines.front()->instance;
  for (unsigned member : first.members)
    taken.insert(
        StringRef(program.members[member].path).drop_front(first.path.size() + 1).split('.').first);
  std::vector<std::vector<int64_t>> columns; // of the parameters, a number for each instance
  for (size_t position = 0; position < outlines.front()->numbers.size(); ++position) {
    std::vector<int64_t> column;
    for (Outline *outline : outlines)
      column.push_back(outline->numbers[position]->number);
    if (llvm::all_equal(column))
      continue;
    const Piece *piece = outlines.front()->numbers[position];
    size_t parameter = llvm::find(columns, column) - columns.begin();
    if (parameter == columns.size()) {
      columns.push_back(column);
      block.parameters.push_back(uniquePath(taken, piece->text)); // what the numbers say
    }
    block.parameterOf[piece] = parameter;
  }
  if (columns.size() > kMaxParameters)
    return std::nullopt;
  for (auto [index, outline] : llvm::enumerate(outlines)) {
    for (const std::vector<int64_t> &column : columns)
      outline->instance.numbers.push_back(column[index]);
    block.instances.push_back(std::move(outline->instance));
  }
  return block;
}

/// What the modules are called: "Layer" of layer1.0 and layer2.0.
static std::string nameOf(const BlockText &block) {
  std::string common;
  for (const Instance &instance : block.instances) {
    SmallVector<StringRef> pieces;
    StringRef(instance.path).split(pieces, '.');
    while (pieces.size() > 1 && llvm::isDigit(pieces.back().front()))
      pieces.pop_back();
    StringRef word = pieces.back();
    if (&instance == &block.instances.front())
      common = word.str();
    size_t same = 0;
    while (same < common.size() && same < word.size() && common[same] == word[same])
      ++same;
    common.resize(same);
  }
  StringRef stem = StringRef(common).rtrim("0123456789_");
  std::string name;
  bool isUpper = true;
  for (char c : stem) {
    if (c != '_')
      name += isUpper ? llvm::toUpper(c) : c;
    isUpper = c == '_';
  }
  return name.size() < 2 ? "Block" : name;
}

/// The blocks among modules that are `depth` deep.
void Finder::takeBlocks(size_t depth, const llvm::StringSet<> &reserved,
                        std::vector<BlockText> &blocks) {
  auto sameModule = [&](const Line &a, const Line &b) {
    return ArrayRef(a.scope).take_front(depth) == ArrayRef(b.scope).take_front(depth);
  };
  llvm::StringMap<unsigned> runs; // of a module: one whose lines lie apart is none
  std::vector<std::pair<size_t, size_t>> found;
  for (size_t begin = 0, end; begin < program.lines.size(); begin = end) {
    end = begin + 1;
    if (isTaken[begin] || program.lines[begin].scope.size() < depth)
      continue;
    while (end < program.lines.size() && !isTaken[end] &&
           program.lines[end].scope.size() >= depth &&
           sameModule(program.lines[begin], program.lines[end]))
      ++end;
    ++runs[llvm::join(ArrayRef(program.lines[begin].scope).take_front(depth), ".")];
    found.push_back({begin, end});
  }
  std::vector<Outline> outlines;
  for (auto [begin, end] : found)
    if (end - begin > 1)
      if (auto made = outline(begin, end, depth); made && runs[made->instance.path] == 1)
        outlines.push_back(std::move(*made));
  llvm::MapVector<StringRef, std::vector<Outline *>> alike;
  for (Outline &outline : outlines)
    alike[outline.skeleton].push_back(&outline);
  for (auto &[skeleton, same] : alike) {
    if (same.size() < 2)
      continue;
    std::optional<BlockText> block = unify(program, same, reserved);
    if (!block)
      continue;
    for (const Instance &instance : block->instances)
      std::fill(isTaken.begin() + instance.begin, isTaken.begin() + instance.end, true);
    block->name = nameOf(*block);
    blocks.push_back(std::move(*block));
  }
}

std::vector<BlockText> findBlocks(const Program &program, const llvm::StringSet<> &reserved) {
  Finder finder(program);
  std::vector<BlockText> blocks;
  size_t deepest = 0;
  for (const Line &line : program.lines)
    deepest = std::max(deepest, line.scope.size());
  // Outer modules first: what repeats there is written once with all that it holds.
  for (size_t depth = 1; depth <= deepest; ++depth)
    finder.takeBlocks(depth, reserved, blocks);
  llvm::StringSet<> names = reserved;
  for (const frontend::LayerKind &kind : frontend::layerKinds())
    names.insert(kind.name);
  llvm::sort(blocks, [](const BlockText &a, const BlockText &b) {
    return a.instances.front().begin < b.instances.front().begin;
  });
  for (BlockText &block : blocks)
    block.name = uniquePath(names, block.name);
  return blocks;
}

} // namespace dlc::onnx
