//===- ShapeFolding.cpp - Nodes over numbers that are known at import ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters compute shapes by nodes: Shape, Gather, Concat, Mul and their like. Over known numbers
// they are folded, symbolic dims as the expressions that they are, so that a dynamic batch stays
// dynamic. Numbers of the model's data are never known.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/Importer.h"
#include "frontend/onnx/sizes/DerivedNumbers.h"
#include "frontend/onnx/sizes/KnownArithmetic.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::onnx {

namespace {

class Folding {
public:
  explicit Folding(NodeImport &node) : node(node), context(node.context) {}
  bool run();

private:
  bool gather(const Known &x);
  bool slice(const Known &x);
  bool transpose(const Known &x);
  bool concat();
  bool reshape(const Known &x);
  bool unsqueeze(const Known &x);
  bool split(const Known &x);
  bool range();
  bool reduce(const Known &x, StringRef combiner);
  bool constantOfShape(const Known &x);
  bool where();
  Number integer(int64_t value) { return {dl::constantDim(value, context)}; }
  bool give(Known known) {
    node.set(0, std::move(known));
    return true;
  }

  NodeImport &node;
  MLIRContext *context;
};

bool Folding::gather(const Known &x) {
  const Known *index = node.known(1);
  auto positions = index ? index->integers() : std::nullopt;
  if (!positions || x.shape.size() != 1 || node.integer("axis", 0) > 0)
    return false;
  Known result{x.dtype, index->shape, {}};
  for (int64_t position : *positions) {
    position += position < 0 ? x.shape[0] : 0;
    if (position < 0 || position >= x.shape[0])
      return node.fail("it takes element " + llvm::Twine(position) + " of " +
                       llvm::Twine(x.shape[0]));
    result.numbers.push_back(x.numbers[position]);
  }
  return give(std::move(result));
}

bool Folding::slice(const Known &x) {
  if (x.shape.empty() || x.numbers.empty())
    return false;
  auto list = [&](size_t input, StringRef name) -> std::optional<SmallVector<int64_t>> {
    if (node.opset < 10)
      return node.integerList(name);
    if (!node.has(input))
      return SmallVector<int64_t>();
    const Known *known = node.known(input);
    return known ? known->integers() : std::nullopt;
  };
  auto begins = list(1, "starts"), ends = list(2, "ends"), axes = list(3, "axes"),
       steps = list(4, "steps");
  if (!begins || !ends || !axes || !steps || begins->size() != 1 || ends->size() != 1 ||
      steps->size() > 1)
    return false;
  auto rank = static_cast<int64_t>(x.shape.size());
  int64_t axis = axes->empty() ? 0 : axes->front();
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis >= rank || x.shape[axis] == 0)
    return false;
  int64_t size = x.shape[axis];
  int64_t step = steps->empty() ? 1 : std::clamp<int64_t>(steps->front(), INT32_MIN, INT32_MAX);
  if (step == 0)
    return node.fail("its step is 0");
  auto clamped = [&](int64_t bound, int64_t low, int64_t high) {
    return std::clamp(bound < 0 ? bound + size : bound, low, high);
  };
  int64_t begin =
      step > 0 ? clamped(begins->front(), 0, size) : clamped(begins->front(), 0, size - 1);
  int64_t end = step > 0 ? clamped(ends->front(), 0, size)
                         : clamped(std::max(ends->front(), -size - 1), -1, size - 1);
  SmallVector<int64_t> chosen;
  for (int64_t i = begin; step > 0 ? i < end : i > end; i += step)
    chosen.push_back(i);
  int64_t inner = elementsOf(ArrayRef<int64_t>(x.shape).drop_front(axis + 1)),
          outer = elementsOf(ArrayRef<int64_t>(x.shape).take_front(axis));
  Known result{x.dtype, x.shape, {}};
  result.shape[axis] = static_cast<int64_t>(chosen.size());
  for (int64_t before = 0; before < outer; ++before)
    for (int64_t i : chosen)
      for (int64_t behind = 0; behind < inner; ++behind)
        result.numbers.push_back(x.numbers[(before * size + i) * inner + behind]);
  return give(std::move(result));
}

/// Of a matrix: exporters turn pairs of widths round so.
bool Folding::transpose(const Known &x) {
  SmallVector<int64_t> order = node.integerList("perm");
  bool swaps = order.empty() || order == SmallVector<int64_t>{1, 0};
  if (x.shape.size() != 2 || x.numbers.empty() || !swaps)
    return false;
  Known result{x.dtype, {x.shape[1], x.shape[0]}, {}};
  for (int64_t column = 0; column < x.shape[1]; ++column)
    for (int64_t row = 0; row < x.shape[0]; ++row)
      result.numbers.push_back(x.numbers[row * x.shape[1] + column]);
  return give(std::move(result));
}

bool Folding::concat() {
  Known result{node.known(0)->dtype, {}, {}};
  for (size_t i = 0; i < node.inputCount(); ++i) {
    const Known *x = node.known(i);
    if (!x || x->shape.size() != 1 || x->dtype != result.dtype)
      return false;
    result.numbers.insert(result.numbers.end(), x->numbers.begin(), x->numbers.end());
  }
  node.integer("axis", 0);
  result.shape = {static_cast<int64_t>(result.numbers.size())};
  return static_cast<int64_t>(result.numbers.size()) <= Known::kMaxElements &&
         give(std::move(result));
}

bool Folding::reshape(const Known &x) {
  const Known *shape = node.known(1);
  auto dims = shape ? shape->integers() : std::nullopt;
  if (!dims || node.integer("allowzero", 0))
    return false;
  Known result = x;
  result.shape.assign(dims->begin(), dims->end());
  int64_t others = 1, free = -1;
  for (auto [i, dim] : llvm::enumerate(result.shape)) {
    if (dim == 0 && i < x.shape.size())
      dim = x.shape[i];
    if (dim == -1 && free < 0)
      free = i;
    else
      others *= std::clamp<int64_t>(dim, 0, Known::kMaxElements + 1);
    others = std::min(others, Known::kMaxElements + 1);
  }
  auto count = static_cast<int64_t>(x.numbers.size());
  if (free >= 0 && others > 0)
    result.shape[free] = count / others;
  if (elementsOf(result.shape) != count ||
      llvm::any_of(result.shape, [](int64_t d) { return d < 0; }))
    return false;
  return give(std::move(result));
}

/// Also Squeeze.
bool Folding::unsqueeze(const Known &x) {
  SmallVector<int64_t> axes = node.integerList("axes");
  if (node.has(1)) {
    const Known *known = node.known(1);
    auto given = known ? known->integers() : std::nullopt;
    if (!given)
      return false;
    axes = *given;
  }
  bool adds = node.node.op == "Unsqueeze";
  int64_t rank = x.shape.size() + (adds ? axes.size() : 0);
  if (rank > 8)
    return false;
  SmallVector<bool> chosen(rank);
  for (int64_t axis : axes) {
    auto at = node.axis(axis, rank);
    if (!at)
      return false;
    if (adds && chosen[*at])
      return node.fail("its axes name a dim twice; expected different ones");
    chosen[*at] = true;
  }
  Known result = x;
  result.shape.clear();
  size_t next = 0;
  for (int64_t i = 0; i < rank; ++i) {
    if (adds)
      result.shape.push_back(chosen[i] ? 1 : x.shape[next++]);
    else if (!(axes.empty() ? x.shape[i] == 1 : chosen[i]))
      result.shape.push_back(x.shape[i]);
  }
  return elementsOf(result.shape) == static_cast<int64_t>(x.numbers.size()) &&
         give(std::move(result));
}

/// A list cut into several.
bool Folding::split(const Known &x) {
  if (x.shape.size() != 1 || node.integer("axis", 0) > 0)
    return false;
  auto size = static_cast<int64_t>(x.numbers.size()),
       parts = static_cast<int64_t>(node.node.outputs.size());
  SmallVector<int64_t> sizes = node.integerList("split");
  if (node.has(1)) {
    auto given = node.known(1) ? node.known(1)->integers() : std::nullopt;
    if (!given)
      return false;
    sizes = *given;
  } else if (sizes.empty()) {
    int64_t most = (size + parts - 1) / parts; // the last part may be smaller
    for (int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::clamp<int64_t>(size - i * most, 0, most));
  }
  int64_t total = 0;
  for (int64_t part : sizes) {
    if (part < 0 || part > size - total)
      return false;
    total += part;
  }
  if (static_cast<int64_t>(sizes.size()) != parts || total != size)
    return false;
  auto from = x.numbers.begin();
  for (auto [output, part] : llvm::enumerate(sizes)) {
    node.set(output, Known{x.dtype, {part}, {from, from + part}});
    from += part;
  }
  return true;
}

bool Folding::range() {
  const Known *bounds[3] = {node.known(0), node.known(1), node.known(2)};
  int64_t numbers[3];
  for (int i = 0; i < 3; ++i) {
    auto values = bounds[i] ? bounds[i]->integers() : std::nullopt;
    if (!values || values->size() != 1)
      return false;
    numbers[i] = values->front();
  }
  auto [start, limit, delta] = numbers;
  for (int64_t number : numbers)
    if (llvm::AbsoluteValue(number) > INT32_MAX)
      return false;
  if (delta == 0)
    return node.fail("its delta is 0");
  Known result{bounds[0]->dtype, {}, {}};
  for (int64_t i = start; delta > 0 ? i < limit : i > limit; i += delta) {
    if (result.numbers.size() == 64) // longer ones are made by the model
      return false;
    result.numbers.push_back(integer(i));
  }
  result.shape = {static_cast<int64_t>(result.numbers.size())};
  return give(std::move(result));
}

/// All of x, numbers in a row, joined by Mul, Min or Max; a product of integers, since the order of
/// others would show.
bool Folding::reduce(const Known &x, StringRef combiner) {
  bool isProduct = combiner == "Mul";
  if (x.shape.size() != 1 || node.inputCount() > 2 ||
      (isProduct ? isa<FloatType>(x.dtype) : x.numbers.empty()))
    return false;
  Number result = isProduct ? integer(1) : x.numbers.front();
  // The model says what is wrong with other axes, and that none may mean that nothing is reduced.
  auto axes = node.has(1) ? (node.known(1) ? node.known(1)->integers() : std::nullopt)
                          : std::optional(node.integerList("axes"));
  bool isAll =
      axes && (axes->empty() ? node.integer("noop_with_empty_axes", 0) == 0
                             : axes->size() == 1 && (axes->front() == 0 || axes->front() == -1));
  if (!isAll)
    return false;
  bool isTruth;
  for (const Number &number : ArrayRef(x.numbers).drop_front(isProduct ? 0 : 1)) {
    auto next = combineOrDerive(node, combiner, result, number, x.dtype, x.numbers.size(), isTruth);
    if (!next)
      return false;
    result = *next;
  }
  return give({x.dtype,
               node.integer("keepdims", 1) ? SmallVector<int64_t, 4>{1} : SmallVector<int64_t, 4>{},
               {result}});
}

bool Folding::constantOfShape(const Known &x) {
  auto shape = x.integers();
  const Attribute *attribute = node.attribute("value");
  if (!shape || elementsOf(*shape) > 64 || llvm::any_of(*shape, [](int64_t d) { return d < 0; }) ||
      shape->size() > 1)
    return false;
  if (attribute && (!attribute->tensor || attribute->tensor->dataType != 7))
    return false;
  Number fill = integer(0);
  if (attribute) {
    auto known = node.importer.numbersOf(*attribute->tensor);
    if (!known || known->numbers.size() != 1)
      return false;
    fill = known->numbers.front();
  } else {
    return false; // zeros of f32 are data
  }
  return give({node.builder.getI64Type(), SmallVector<int64_t, 4>(shape->begin(), shape->end()),
               std::vector<Number>(elementsOf(*shape), fill)});
}

bool Folding::where() {
  const Known *condition = node.known(0), *x = node.known(1), *y = node.known(2);
  if (!condition || !condition->dtype.isInteger(1) || !x || !y || x->dtype != y->dtype ||
      isa<FloatType>(x->dtype))
    return false;
  SmallVector<int64_t, 4> shape = condition->shape;
  for (const Known *other : {x, y})
    if (other->shape != shape && (other->numbers.size() != 1 || other->shape.size() > shape.size()))
      return false;
  Known result{x->dtype, shape, {}};
  for (auto [i, truth] : llvm::enumerate(condition->numbers)) {
    const Number &a = x->numbers[x->numbers.size() == 1 ? 0 : i],
                 &b = y->numbers[y->numbers.size() == 1 ? 0 : i];
    auto constant = dl::asConstant(truth.dim);
    std::optional<Number> chosen = constant ? std::optional(*constant ? a : b) : std::nullopt;
    if (!constant && condition->numbers.size() <= kMaxDerived)
      chosen = deriveChoice(node, truth, a, b);
    if (!chosen)
      return false;
    result.numbers.push_back(*chosen);
  }
  return give(std::move(result));
}

bool Folding::run() {
  if (!node.node.domain.empty() && node.node.domain != "ai.onnx")
    return false;
  if (node.inputCount() == 0)
    return false;
  StringRef op = node.node.op;
  static const llvm::StringSet<> kFolded = {"Gather",      "Transpose",
                                            "Slice",       "Concat",
                                            "Reshape",     "Unsqueeze",
                                            "Squeeze",     "Split",
                                            "Cast",        "Range",
                                            "ReduceProd",  "ReduceMin",
                                            "ReduceMax",   "ConstantOfShape",
                                            "Where",       "Neg",
                                            "Not",         "Floor",
                                            "Ceil",        "Round",
                                            "Sqrt",        "Abs",
                                            "Relu",        "Reciprocal",
                                            "Add",         "Sub",
                                            "Mul",         "Div",
                                            "Mod",         "Min",
                                            "Max",         "Equal",
                                            "Less",        "Greater",
                                            "LessOrEqual", "GreaterOrEqual",
                                            "And",         "Or"};
  if (!kFolded.contains(op))
    return false;
  const Known *x = node.known(0);
  if (!x)
    return false;
  bool isData = isa<FloatType>(x->dtype) && x->numbers.size() > kMaxReals;
  if (isData)
    return false;
  if (op == "Gather")
    return gather(*x);
  if (op == "Slice")
    return slice(*x);
  if (op == "Transpose")
    return !isa<FloatType>(x->dtype) && transpose(*x);
  if (op == "Concat")
    return concat();
  if (op == "Reshape")
    return reshape(*x);
  if (op == "Unsqueeze" || op == "Squeeze")
    return unsqueeze(*x);
  if (op == "Split")
    return split(*x);
  if (op == "Cast")
    return foldCast(node, *x);
  if (op == "Range")
    return range();
  if (op.consume_front("Reduce"))
    return reduce(*x, op == "Prod" ? "Mul" : op);
  if (op == "ConstantOfShape")
    return constantOfShape(*x);
  if (op == "Where")
    return where();
  return foldElementwise(node);
}

} // namespace

bool foldKnown(NodeImport &node) { return Folding(node).run(); }

} // namespace dlc::onnx
