//===- ShapeFolding.cpp - Nodes over numbers that are known at import --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters compute shapes by nodes: Shape, Gather, Concat, Mul and their like. Over known numbers they are folded, symbolic dims as
// the expressions that they are, so that a dynamic batch stays dynamic. Numbers of the model's data are never known.
//===----------------------------------------------------------------------------------------------===//
#include "frontend/onnx/Importer.h"
#include "ir/scalar/Scalar.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace dlc::onnx {

namespace {

/// Real numbers of more elements than this are data, which the model computes with.
constexpr size_t kMaxReals = 16;

/// Rounds to the dtype.
double rounded(double value, Type dtype) {
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(llvm::cast<FloatType>(dtype).getFloatSemantics(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

int64_t elementsOf(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t dim : shape)
    count = dim > Known::kMaxElements ? Known::kMaxElements + 1
                                      : std::min(count * dim, Known::kMaxElements + 1);
  return count;
}

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
  bool cast(const Known &x);
  bool elementwise();
  bool range();
  bool reduceProd(const Known &x);
  bool constantOfShape(const Known &x);
  bool where();
  std::optional<Number> combine(StringRef op, const Number &a, const Number &b, Type dtype,
                                bool &isTruth);
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
  if (x.shape.empty())
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
  if (x.shape.size() != 2 || !swaps)
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

bool Folding::cast(const Known &x) {
  auto to = elementType(node.integer("to", 0));
  Type dtype = to ? frontend::dtypeOf(nameOf(*to), context) : Type();
  // What has a dtype of 8 bits or less in which nothing is computed is no shape.
  auto isSmall = [](Type type) {
    unsigned width = type.getIntOrFloatBitWidth();
    return width > 1 && (width < 8 || (width == 8 && isa<FloatType>(type)));
  };
  if (!dtype || isSmall(dtype) || isSmall(x.dtype))
    return false;
  Known result{dtype, x.shape, {}};
  for (const Number &number : x.numbers) {
    auto constant = number.dim ? dl::asConstant(number.dim) : std::nullopt;
    if (isa<FloatType>(dtype)) {
      if (!number.isReal() && !constant)
        return false;
      result.numbers.push_back({{}, rounded(number.isReal() ? number.real : *constant, dtype)});
    } else if (number.isReal() && dtype.isInteger(1)) {
      result.numbers.push_back(integer(number.real != 0));
    } else if (number.isReal()) {
      if (!(std::abs(number.real) < 9e15))
        return false;
      result.numbers.push_back(integer(static_cast<int64_t>(number.real)));
    } else if (dtype.isInteger(1)) {
      if (!constant)
        return false;
      result.numbers.push_back(integer(*constant != 0));
    } else {
      if (dtype.getIntOrFloatBitWidth() < 32 && !constant)
        return false;
      unsigned width = dtype.getIntOrFloatBitWidth();
      if (constant &&
          !(dtype.isUnsignedInteger() ? *constant >= 0 && llvm::isUIntN(width, *constant)
                                      : llvm::isIntN(width, *constant)))
        return false;
      result.numbers.push_back(number);
    }
  }
  return give(std::move(result));
}

std::optional<Number> Folding::combine(StringRef op, const Number &a, const Number &b, Type dtype,
                                       bool &isTruth) {
  auto truth = [&](bool value) {
    isTruth = true;
    return integer(value);
  };
  if (a.isReal()) {
    double x = a.real, y = b.real;
    if (op == "Equal" || op == "Less" || op == "Greater")
      return truth(op == "Equal" ? x == y : op == "Less" ? x < y : x > y);
    double value = llvm::StringSwitch<double>(op)
                       .Case("Add", x + y)
                       .Case("Sub", x - y)
                       .Case("Mul", x * y)
                       .Case("Div", x / y)
                       .Default(NAN);
    if (std::isnan(value))
      return std::nullopt;
    return Number{{}, rounded(value, dtype)};
  }
  auto x = dl::asConstant(a.dim), y = dl::asConstant(b.dim);
  bool isConstant = x && y;
  if (op == "Equal" && a.dim == b.dim)
    return truth(true);
  if (op == "Equal" || op == "Less" || op == "Greater" || op == "LessOrEqual" ||
      op == "GreaterOrEqual" || op == "And" || op == "Or") {
    if (isConstant)
      return truth(op == "Equal"            ? *x == *y
                   : op == "Less"           ? *x < *y
                   : op == "Greater"        ? *x > *y
                   : op == "LessOrEqual"    ? *x <= *y
                   : op == "GreaterOrEqual" ? *x >= *y
                   : op == "And"            ? *x && *y
                                            : *x || *y);
    // A dim is 1 at least: it never equals what is smaller.
    if (op == "Equal" && (x ? *x <= 0 : y && *y <= 0) && isa<AffineSymbolExpr>(x ? b.dim : a.dim))
      return truth(false);
    return std::nullopt;
  }
  constexpr int64_t kLarge = int64_t(1) << 40;
  if (isConstant) {
    if (llvm::AbsoluteValue(*x) > kLarge || llvm::AbsoluteValue(*y) > kLarge)
      return std::nullopt;
    int64_t limit = kLarge;
    if (op == "Mul" &&
        (llvm::AbsoluteValue(*x) > (1 << 20) || llvm::AbsoluteValue(*y) > (1 << 20)) && *x != 0 &&
        llvm::AbsoluteValue(*y) > limit / llvm::AbsoluteValue(*x))
      return std::nullopt;
    if ((op == "Div" || op == "Mod") && *y == 0)
      return std::nullopt;
    if (op == "Div")
      return integer(*x / *y);
    if (op == "Mod")
      return *x < 0 || *y < 0 ? std::nullopt : std::optional(integer(*x % *y));
    if (op == "Min" || op == "Max")
      return integer(op == "Min" ? std::min(*x, *y) : std::max(*x, *y));
  }
  auto dim = [](AffineExpr expr) { return Number{dl::normalize(expr)}; };
  if (op == "Add")
    return dim(a.dim + b.dim);
  if (op == "Sub")
    return dim(a.dim - b.dim);
  if (op == "Mul")
    return dim(a.dim * b.dim);
  // A dim is no negative number, so that ONNX's division, towards 0, is the floor.
  if (op == "Div" && y && *y > 0 && isa<AffineSymbolExpr, AffineBinaryOpExpr>(a.dim)) {
    bool mayBeNegative = a.dim
                             .walk([](AffineExpr part) {
                               auto constant = dyn_cast<AffineConstantExpr>(part);
                               return constant && constant.getValue() < 0 ? WalkResult::interrupt()
                                                                          : WalkResult::advance();
                             })
                             .wasInterrupted();
    if (!mayBeNegative)
      return dim(a.dim.floorDiv(*y));
  }
  if (op == "Div" && a.dim == b.dim)
    return integer(1);
  return std::nullopt;
}

bool Folding::elementwise() {
  StringRef op = node.node.op;
  bool isUnary =
      llvm::is_contained({"Neg", "Not", "Floor", "Ceil", "Sqrt", "Abs", "Relu", "Identity"}, op);
  bool isBinary =
      llvm::is_contained({"Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Equal", "Less",
                          "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or"},
                         op);
  if ((!isUnary && !isBinary) || node.inputCount() != (isUnary ? 1 : 2))
    return false;
  const Known *x = node.known(0), *y = node.known(isUnary ? 0 : 1);
  if (!x || !y || x->dtype != y->dtype)
    return false;
  bool isReal = isa<FloatType>(x->dtype);
  if (isReal && (x->numbers.size() > kMaxReals || y->numbers.size() > kMaxReals))
    return false;
  // One of them repeats, or both have one shape: shapes need no more.
  bool repeatsX = x->numbers.size() == 1 && x->shape.size() <= y->shape.size(),
       repeatsY = y->numbers.size() == 1 && y->shape.size() <= x->shape.size();
  if (x->shape != y->shape && !repeatsX && !repeatsY)
    return false;
  if (op == "Mod" && node.integer("fmod", 0))
    return false;
  Known result{x->dtype, repeatsX && !repeatsY ? y->shape : x->shape, {}};
  bool isTruth = false;
  size_t count = elementsOf(result.shape);
  for (size_t i = 0; i < count; ++i) {
    const Number &a = x->numbers[x->numbers.size() == 1 ? 0 : i],
                 &b = y->numbers[y->numbers.size() == 1 ? 0 : i];
    std::optional<Number> number;
    if (!isUnary)
      number = combine(op, a, b, x->dtype, isTruth);
    else if (op == "Neg")
      number = isReal ? Number{{}, -a.real} : combine("Sub", integer(0), a, x->dtype, isTruth);
    else if (op == "Not" && x->dtype.isInteger(1) && dl::asConstant(a.dim))
      number = integer(*dl::asConstant(a.dim) == 0);
    else if (isReal && op != "Not")
      number = Number{{},
                      rounded(op == "Floor"  ? std::floor(a.real)
                              : op == "Ceil" ? std::ceil(a.real)
                              : op == "Sqrt" ? std::sqrt(a.real)
                              : op == "Relu" ? std::max(a.real, 0.0)
                                             : std::abs(a.real),
                              x->dtype)};
    if (!number)
      return false;
    result.numbers.push_back(*number);
  }
  if (isTruth)
    result.dtype = node.builder.getI1Type();
  return give(std::move(result));
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

bool Folding::reduceProd(const Known &x) {
  if (isa<FloatType>(x.dtype) || x.shape.size() != 1 || node.inputCount() > 2)
    return false;
  Number product = integer(1);
  bool isTruth;
  for (const Number &number : x.numbers) {
    auto next = combine("Mul", product, number, x.dtype, isTruth);
    if (!next)
      return false;
    product = *next;
  }
  node.attribute("axes");
  return give({x.dtype,
               node.integer("keepdims", 1) ? SmallVector<int64_t, 4>{1} : SmallVector<int64_t, 4>{},
               {product}});
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
  auto truths = condition ? condition->integers() : std::nullopt;
  if (!truths || !x || !y || x->dtype != y->dtype || isa<FloatType>(x->dtype))
    return false;
  SmallVector<int64_t, 4> shape = condition->shape;
  for (const Known *other : {x, y})
    if (other->numbers.size() != 1 && other->shape != shape)
      return false;
  Known result{x->dtype, shape, {}};
  for (size_t i = 0; i < truths->size(); ++i) {
    const Known *from = (*truths)[i] ? x : y;
    result.numbers.push_back(from->numbers[from->numbers.size() == 1 ? 0 : i]);
  }
  return give(std::move(result));
}

bool Folding::run() {
  if (!node.node.domain.empty() && node.node.domain != "ai.onnx")
    return false;
  if (node.inputCount() == 0)
    return false;
  StringRef op = node.node.op;
  static const llvm::StringSet<> kFolded = {
      "Gather",  "Transpose", "Slice",       "Concat",
      "Reshape", "Unsqueeze", "Squeeze",     "Split",
      "Cast",    "Range",     "ReduceProd",  "ConstantOfShape",
      "Where",   "Neg",       "Not",         "Floor",
      "Ceil",    "Sqrt",      "Abs",         "Relu",
      "Add",     "Sub",       "Mul",         "Div",
      "Mod",     "Min",       "Max",         "Equal",
      "Less",    "Greater",   "LessOrEqual", "GreaterOrEqual",
      "And",     "Or"};
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
    return cast(*x);
  if (op == "Range")
    return range();
  if (op == "ReduceProd")
    return reduceProd(*x);
  if (op == "ConstantOfShape")
    return constantOfShape(*x);
  if (op == "Where")
    return where();
  return elementwise();
}

} // namespace

bool foldKnown(NodeImport &node) { return Folding(node).run(); }

} // namespace dlc::onnx
