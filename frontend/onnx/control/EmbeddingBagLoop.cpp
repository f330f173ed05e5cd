//===- EmbeddingBagLoop.cpp - A Loop that is PyTorch's EmbeddingBag -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX has no embedding_bag: PyTorch's exporter (symbolic_opset10.embedding_bag) writes a Loop of a
// step a bag, which looks up the rows that indices[offsets[i] : offsets[i + 1]] name and adds them
// up. Written out it would be as long as the batch, and a batch of a symbolic size has no steps to
// write out: it becomes the op again.
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/Importer.h"
#include "ir/dl/DLOps.h"

using namespace mlir;

namespace dlc::onnx {

namespace {

/// The names of the graph around the loop that its body reads.
struct Bags {
  StringRef starts, ends, indices, weight, sampleWeights, mode;
};

class BodyMatcher {
public:
  /// `outside` finds a value of the graph around the loop, null where there is none.
  BodyMatcher(Importer &importer, const Graph &body, const Node &loop,
              llvm::function_ref<Value *(StringRef)> outside)
      : importer(importer), body(body), loop(loop), outside(outside) {
    for (const Node &node : body.nodes)
      if (!node.outputs.empty())
        makers[node.outputs.front()] = &node;
  }

  std::optional<Bags> match() const {
    Bags bags;
    const Node *sum = maker(body.outputs[1].name);
    if (!sum || integer(*sum, "keepdims", 1) != 0 || list(*sum, "axes") != ArrayRef<int64_t>{0})
      return std::nullopt;
    bags.mode = sum->op == "ReduceSum"    ? "sum"
                : sum->op == "ReduceMean" ? "mean"
                : sum->op == "ReduceMax"  ? "max"
                                          : "";
    const Node *rows = maker(sum->inputs[0]);
    if (rows && rows->op == "Mul" && bags.mode == "sum") {
      const Node *column = maker(input(*rows, 1), "Unsqueeze");
      if (!column || list(*column, "axes") != ArrayRef<int64_t>{1} ||
          !matchSlice(column->inputs[0], bags, bags.sampleWeights))
        return std::nullopt;
      rows = maker(rows->inputs[0]);
    }
    if (bags.mode.empty() || !rows || rows->op != "Gather" || integer(*rows, "axis", 0) != 0 ||
        !isOutside(rows->inputs[0]) || !matchSlice(input(*rows, 1), bags, bags.indices) ||
        !goesOn())
      return std::nullopt;
    bags.weight = rows->inputs[0];
    return bags;
  }

private:
  static StringRef input(const Node &node, size_t position) {
    return position < node.inputs.size() ? node.inputs[position] : StringRef();
  }
  const Node *maker(StringRef value) const {
    const Node *node = value.empty() ? nullptr : makers.lookup(value);
    return node && node->domain.empty() && !node->inputs.empty() ? node : nullptr;
  }
  const Node *maker(StringRef value, StringRef op) const {
    const Node *node = maker(value);
    return node && node->op == op ? node : nullptr;
  }
  bool isOutside(StringRef value) const { return !makers.contains(value) && outside(value); }

  static const Attribute *attribute(const Node &node, StringRef name) {
    for (const Attribute &held : node.attributes)
      if (held.name == name)
        return &held;
    return nullptr;
  }
  static int64_t integer(const Node &node, StringRef name, int64_t otherwise) {
    const Attribute *held = attribute(node, name);
    return held && held->integer ? *held->integer : otherwise;
  }
  /// The integers of a value; none where they are not known before the body is imported.
  SmallVector<int64_t> numbers(StringRef value) const {
    std::optional<Known> known;
    if (const Node *constant = makers.lookup(value)) {
      const Attribute *held = attribute(*constant, "value");
      if (constant->op == "Constant" && held && held->tensor)
        known = importer.numbersOf(*held->tensor);
    } else if (Value *outer = outside(value)) {
      known = outer->known || !outer->stored ? outer->known : importer.numbersOf(*outer->stored);
    }
    return known ? known->integers().value_or(SmallVector<int64_t>()) : SmallVector<int64_t>();
  }
  /// What older opsets say in an attribute, and later ones in input 1.
  SmallVector<int64_t> list(const Node &node, StringRef name) const {
    if (const Attribute *held = attribute(node, name))
      return SmallVector<int64_t>(held->integers.begin(), held->integers.end());
    return node.inputs.size() > 1 ? numbers(node.inputs[1]) : SmallVector<int64_t>();
  }

  /// Whether `value` is source[starts[i] : ends[i]], with the same starts and ends as what has been
  /// matched before.
  bool matchSlice(StringRef value, Bags &bags, StringRef &source) const {
    const Node *slice = maker(value, "Slice");
    if (!slice || slice->inputs.size() < 4 || !isOutside(slice->inputs[0]) ||
        numbers(slice->inputs[3]) != ArrayRef<int64_t>{0} ||
        (slice->inputs.size() > 4 && numbers(slice->inputs[4]) != ArrayRef<int64_t>{1}))
      return false;
    source = slice->inputs[0];
    return matchBound(slice->inputs[1], bags.starts) && matchBound(slice->inputs[2], bags.ends);
  }
  /// Whether `value` is bounds[i], of one element.
  bool matchBound(StringRef value, StringRef &bounds) const {
    const Node *unsqueeze = maker(value, "Unsqueeze");
    const Node *gather = unsqueeze ? maker(unsqueeze->inputs[0], "Gather") : nullptr;
    if (!gather || integer(*gather, "axis", 0) != 0 || gather->inputs.size() != 2 ||
        gather->inputs[1] != body.inputs[0].name || !isOutside(gather->inputs[0]) ||
        (!bounds.empty() && bounds != gather->inputs[0]))
      return false;
    bounds = gather->inputs[0];
    return true;
  }
  /// Whether no step ends the loop before its count does.
  bool goesOn() const {
    StringRef condition = body.outputs[0].name;
    // The nodes have not been put in order yet: they may go round in a circle.
    for (size_t steps = 0; steps < makers.size(); ++steps)
      if (const Node *node = maker(condition);
          node && (node->op == "Cast" || node->op == "Identity"))
        condition = node->inputs[0];
    if (condition == body.inputs[1].name) {
      if (loop.inputs.size() < 2 || loop.inputs[1].empty())
        return true;
      condition = loop.inputs[1];
    }
    return numbers(condition) == ArrayRef<int64_t>{1};
  }

  Importer &importer;
  const Graph &body;
  const Node &loop;
  llvm::function_ref<Value *(StringRef)> outside;
  llvm::StringMap<const Node *> makers;
};

} // namespace

/// Whether each bag ends where the next one begins, as far as the graph says: the ends are the
/// starts from the second on.
static bool areNext(mlir::Value starts, mlir::Value ends) {
  auto slice = ends.getDefiningOp<dl::SliceOp>();
  return slice && slice.getX() == starts && slice.getDim() == 0 && slice.getStart() == 1 &&
         slice.getStep() == 1 && !slice.getEnd();
}

std::optional<bool> Importer::importEmbeddingBags(NodeImport &node, const Graph &body) {
  if (node.node.inputs.size() > 2 || !node.has(0) || body.inputs.size() != 2 ||
      body.outputs.size() != 2 || !node.wants(0))
    return std::nullopt;
  auto outside = [&](StringRef name) { return find(name, node.frame); };
  auto bags = BodyMatcher(*this, body, node.node, outside).match();
  if (!bags)
    return std::nullopt;
  auto tensor = [&](StringRef name) {
    return materialise(*outside(name), node.loc, "input " + frontend::quote(name));
  };
  const Known *trips = node.known(0);
  auto count = trips ? trips->dims() : std::nullopt;
  mlir::Value starts = tensor(bags->starts), ends = tensor(bags->ends);
  if (!starts || !ends)
    return false;
  auto bounds = cast<RankedTensorType>(ends.getType());
  if (!areNext(starts, ends) || bounds.getRank() != 1 || !count || count->size() != 1 ||
      count->front() != dl::getDims(bounds)[0])
    return std::nullopt;
  mlir::Value indices = tensor(bags->indices), weight = tensor(bags->weight);
  if (!indices || !weight)
    return false;
  SmallVector<std::pair<StringRef, Item>> named = {{"offsets", Item{starts, {}}},
                                                   {"mode", item(bags->mode)},
                                                   {"include_last_offset", item(true)}};
  if (!bags->sampleWeights.empty()) {
    mlir::Value sampleWeights = tensor(bags->sampleWeights);
    if (!sampleWeights)
      return false;
    named.push_back({"per_sample_weights", Item{sampleWeights, {}}});
  }
  node.set(0, node.call("embedding_bag", {Item{indices, {}}, Item{weight, {}}}, named));
  return !node.hasFailed();
}

} // namespace dlc::onnx
