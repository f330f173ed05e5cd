//===- Creation.cpp - Tensors that ONNX makes of numbers ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"
#include "ir/dl/base/DerivedSize.h"

#include <cmath>

using namespace mlir;

namespace dlc::onnx {

/// A number in `value`, `value_float` and their like; or a tensor, a weight of the model.
static bool buildConstant(NodeImport &node) {
  Value &output = node.frame.values[node.node.outputs[0]];
  Builder &builder = node.builder;
  for (StringRef name : {"value", "sparse_value"}) {
    const Attribute *attribute = node.attribute(name);
    if (!attribute)
      continue;
    if (!attribute->tensor)
      return node.fail("its attribute " + frontend::quote(name) + " is no tensor");
    output.stored = attribute->tensor.get();
    output.name = node.frame.prefix + node.node.outputs[0].str();
    return true;
  }
  Known known{builder.getI64Type(), {}, {}};
  auto addReals = [&](ArrayRef<float> numbers) {
    known.dtype = builder.getF32Type();
    for (float number : numbers)
      known.numbers.push_back({{}, number});
  };
  auto addIntegers = [&](ArrayRef<int64_t> numbers) {
    for (int64_t number : numbers)
      known.numbers.push_back({node.dim(number)});
  };
  if (node.hasAttribute("value_float")) {
    addReals({static_cast<float>(node.real("value_float", 0))});
  } else if (node.hasAttribute("value_int")) {
    addIntegers({node.integer("value_int", 0)});
  } else if (const Attribute *floats = node.attribute("value_floats")) {
    addReals(floats->reals);
    known.shape = {static_cast<int64_t>(floats->reals.size())};
  } else if (const Attribute *integers = node.attribute("value_ints")) {
    addIntegers(integers->integers);
    known.shape = {static_cast<int64_t>(integers->integers.size())};
  } else {
    return node.unsupported("it holds strings", "; dlc takes numbers");
  }
  if (known.numbers.size() > Known::kMaxElements)
    return node.unsupported("it lists " + llvm::Twine(known.numbers.size()) + " numbers",
                            "; dlc takes up to " + llvm::Twine(Known::kMaxElements) +
                                " so, and more as a tensor in 'value'");
  output.known = std::move(known);
  return true;
}

/// A tensor of one number of an attribute `value`, 0 of f32 without one.
static bool buildConstantOfShape(NodeImport &node) {
  auto dims = node.sizes(0, "the dims of the shape", {0, Importer::kMostRead});
  if (!dims)
    return false;
  Type dtype = node.builder.getF32Type();
  Item fill = item(0.0);
  if (const Attribute *attribute = node.attribute("value")) {
    auto known = attribute->tensor ? node.importer.numbersOf(*attribute->tensor) : std::nullopt;
    if (!known || known->numbers.size() != 1)
      return node.fail("its attribute 'value' is no tensor of one number that dlc computes with");
    dtype = known->dtype;
    const Number &number = known->numbers.front();
    fill = number.isReal()      ? item(number.real)
           : dtype.isInteger(1) ? item(!dl::isConstant(number.dim, 0))
                                : Item::dim(number.dim, {});
  }
  for (AffineExpr dim : *dims)
    if (auto size = dl::asConstant(dim); size && (*size < 0 || *size > INT32_MAX))
      return node.fail("its shape has a dim of " + llvm::Twine(*size) + "; expected 0 to 2^31 - 1");
  node.set(0, node.full(fill, dl::makeTensor(*dims, dtype)));
  return !node.hasFailed();
}

/// max(ceil((limit - start) / delta), 0) in double, whatever the dtype of the bounds; not finite if
/// it is not a number.
static double countOf(double start, double limit, double delta) {
  double steps = (limit - start) / delta;
  return std::isnan(steps) ? steps : std::max(std::ceil(steps), 0.0);
}

/// The longest range whose length the running model computes.
static constexpr int64_t kMostPlaces = int64_t(1) << 24;

/// start, start + step, ... to before `end`, of which none may be known before shapes are bound.
static Item integersFrom(NodeImport &node, AffineExpr start, AffineExpr end, AffineExpr step,
                         Type dtype) {
  auto number = dl::asConstant(step);
  auto length = node.rangeOf(dl::normalize(end - start));
  if (number && ((dl::asConstant(start) && dl::asConstant(end)) ||
                 (*number > 0 && length && length->min >= 0)))
    return node.call("arange",
                     {Item::dim(start, {}), Item::dim(end, {}), item(*number), item(dtype)});
  // (end - start) / step, rounded up: by a divisor that may be negative.
  AffineExpr quotient, rest;
  mlir::Attribute steps = AffineMapAttr::get(dl::dimsMap(step, node.context)),
                  way = AffineMapAttr::get(dl::dimsMap(dl::normalize(end - start), node.context));
  auto derive = [&](dl::SizeFunction function, ArrayRef<mlir::Attribute> operands) {
    return node.importer.derive(dl::DerivedAttr::get(node.context, function, operands));
  };
  quotient = derive(dl::SizeFunction::quotient, {way, steps});
  rest = derive(dl::SizeFunction::remainder, {way, steps});
  AffineExpr isEven = rest ? node.isEqual(rest, node.dim(0)) : AffineExpr();
  AffineExpr count = quotient && isEven
                         ? node.larger(dl::normalize(quotient + 1 - isEven), node.dim(0))
                         : AffineExpr();
  // A last step in part counts where it leads towards the end: else the quotient is 0 or less.
  AffineExpr isForwards = node.isLess(node.dim(0), step), goesUp = node.isLess(start, end),
             goesDown = node.isLess(end, start);
  AffineExpr leads =
      isForwards && goesUp && goesDown ? node.choose(isForwards, goesUp, goesDown) : AffineExpr();
  count = count && leads ? node.choose(leads, count, node.dim(0)) : AffineExpr();
  if (!count) {
    node.unsupported("its bounds are computed by the model", "; dlc needs their numbers at import");
    return {Item::Poison(), {}};
  }
  Item places = node.call("arange", {Item::dim(count, {})});
  places = node.call("mul", {places, Item::dim(step, {})});
  return node.cast(node.call("add", {places, Item::dim(start, {})}), dtype);
}

/// The same of real numbers that sizes give: as many as (end - start) / step, rounded up.
static Item realsFrom(NodeImport &node, const Number &start, const Number &end, const Number &step,
                      Type dtype) {
  auto operand = [&](const Number &number) -> mlir::Attribute {
    return number.derived ? mlir::Attribute(number.derived)
                          : FloatAttr::get(node.builder.getF64Type(), number.real);
  };
  auto apply = [&](dl::SizeFunction function,
                   ArrayRef<mlir::Attribute> operands) -> mlir::Attribute {
    return dl::DerivedAttr::get(node.context, function, operands);
  };
  if (start.derived || step.derived || !(dtype.isF32() || dtype.isF64())) {
    node.unsupported("its bounds are computed by the model", "; dlc needs their numbers at import");
    return {Item::Poison(), {}};
  }
  mlir::Attribute steps =
      apply(dl::SizeFunction::ratio,
            {apply(dl::SizeFunction::difference, {operand(end), operand(start)}), operand(step)});
  AffineExpr count = node.importer.derive(dl::DerivedAttr::get(
      node.context, dl::SizeFunction::integer, {apply(dl::SizeFunction::ceil, {steps})}));
  count = count ? node.larger(count, node.dim(0)) : AffineExpr();
  if (!count) {
    node.unsupported("its bounds are computed by the model", "; dlc needs their numbers at import");
    return {Item::Poison(), {}};
  }
  Item places = node.cast(node.call("arange", {Item::dim(count, {})}), dtype);
  return node.call("add", {node.call("mul", {places, item(step.real)}), item(start.real)});
}

/// The same where the running model computes the bounds: it computes the count, too.
static bool buildComputedRange(NodeImport &node) {
  if (node.importer.hasStates())
    return node.unsupported("its bounds are computed by the model",
                            "; a model with states needs their numbers at import");
  Type dtype = node.dtype(0), i64 = node.builder.getI64Type();
  if (node.dtype(1) != dtype || node.dtype(2) != dtype)
    return node.fail("its bounds are " + dl::dtypeName(dtype) + ", " +
                     dl::dtypeName(node.dtype(1)) + " and " + dl::dtypeName(node.dtype(2)) +
                     "; expected one dtype");
  Item bounds[3];
  for (size_t i = 0; i < 3; ++i)
    bounds[i] = node.reshape(node.tensor(i), {});
  Item steps;
  if (isa<FloatType>(dtype)) { // in double, as countOf() does
    auto wide = [&](size_t i) { return node.cast(bounds[i], node.builder.getF64Type()); };
    Item way = node.call("sub", {wide(1), wide(0)});
    steps = node.cast(node.call("ceil", {node.call("div", {way, wide(2)})}), i64);
  } else { // rounded up, whatever the signs
    Item way = node.call("sub", {bounds[1], bounds[0]});
    Item down = node.call("floor_divide", {node.call("neg", {way}), bounds[2]});
    steps = node.cast(node.call("neg", {down}), i64);
  }
  steps = node.call("maximum", {steps, item(int64_t(0))});
  if (!steps.isTensor())
    return false;
  AffineExpr count =
      node.importer.opEmitter().read(node.loc, steps.as<mlir::Value>(), "range", {0, kMostPlaces});
  if (!count)
    return false;
  Item places = node.cast(node.call("arange", {Item::dim(count, {})}), dtype);
  node.set(0, node.call("add", {node.call("mul", {places, bounds[2]}), bounds[0]}));
  return !node.hasFailed();
}

/// From opset 27 on numbers of 16 bits are counted in the dtype that `stash_type` names.
static bool buildRange(NodeImport &node) {
  const Known *numbers[3] = {node.known(0), node.known(1), node.known(2)};
  if (!numbers[0] || !numbers[1] || !numbers[2])
    return buildComputedRange(node);
  Type dtype = numbers[0]->dtype;
  for (const Known *known : numbers) {
    if (known->numbers.size() != 1)
      return node.fail("its bounds are tensors of several numbers; expected one in each");
    if (known->dtype != dtype)
      return node.fail("its bounds are " + dl::dtypeName(dtype) + " and " +
                       dl::dtypeName(known->dtype) + "; expected one dtype");
  }
  Item made;
  stashType(node);
  if (node.hasFailed())
    return false;
  bool isOfSizes = llvm::any_of(
      numbers, [](const Known *known) { return known->numbers.front().derived != nullptr; });
  if (isOfSizes) {
    made = realsFrom(node, numbers[0]->numbers.front(), numbers[1]->numbers.front(),
                     numbers[2]->numbers.front(), dtype);
  } else if (isa<FloatType>(dtype)) {
    double start = numbers[0]->numbers.front().real, limit = numbers[1]->numbers.front().real,
           delta = numbers[2]->numbers.front().real;
    double count = countOf(start, limit, delta);
    if (!(count <= INT32_MAX))
      return node.fail("it counts from " + dl::text(llvm::APFloat(start)) + " to " +
                       dl::text(llvm::APFloat(limit)) + " by " + dl::text(llvm::APFloat(delta)) +
                       "; expected up to 2^31 - 1 steps");
    double bound = count == 0 ? start : limit;
    made = node.call("arange", {item(start), item(bound), item(delta), item(dtype)});
  } else {
    made = integersFrom(node, numbers[0]->numbers.front().dim, numbers[1]->numbers.front().dim,
                        numbers[2]->numbers.front().dim, dtype);
  }
  node.set(0, made);
  return !node.hasFailed();
}

static bool buildEyeLike(NodeImport &node) {
  dl::Dims dims = node.dims(0);
  int64_t diagonal = node.integer("k", 0);
  auto type = elementType(node.integer("dtype", 0));
  Type dtype = node.hasAttribute("dtype")
                   ? (type ? frontend::dtypeOf(nameOf(*type), node.context) : Type())
                   : node.dtype(0);
  if (node.hasFailed())
    return false;
  if (!dtype || dims.size() != 2)
    return node.unsupported("its dtype or its rank is none that dlc has", "; dlc takes a matrix");
  Item rows = node.reshape(node.call("arange", {Item::dim(dims[0], {})}), {dims[0], node.dim(1)}),
       columns =
           node.reshape(node.call("arange", {Item::dim(dims[1], {})}), {node.dim(1), dims[1]});
  Item hit = node.call("eq", {node.call("add", {rows, item(diagonal)}), columns});
  node.set(0, node.cast(hit, dtype));
  return !node.hasFailed();
}

/// The dims of a tensor, from `start` to before `end`: known at import, with their symbols.
static bool buildShape(NodeImport &node) {
  if (!node.has(0))
    return node.fail("it needs its input 0");
  dl::Dims dims = node.dims(0);
  auto rank = static_cast<int64_t>(dims.size());
  auto clamped = [&](int64_t bound) {
    return std::clamp<int64_t>(bound < 0 ? bound + rank : bound, 0, rank);
  };
  int64_t begin = clamped(node.integer("start", 0)), end = clamped(node.integer("end", rank));
  Known known{node.builder.getI64Type(), {}, {}};
  for (int64_t i = begin; i < end; ++i)
    known.numbers.push_back({dims[i]});
  known.shape = {static_cast<int64_t>(known.numbers.size())};
  node.set(0, std::move(known));
  return !node.hasFailed();
}

static bool buildSize(NodeImport &node) {
  if (!node.has(0))
    return node.fail("it needs its input 0");
  AffineExpr size = dl::normalize(dl::product(node.dims(0), node.context));
  node.set(0, Known{node.builder.getI64Type(), {}, {{size}}});
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> creationRules() {
  static const OddRule rules[] = {
      {"Constant", 1, buildConstant}, {"ConstantOfShape", 9, buildConstantOfShape},
      {"Range", 11, buildRange},      {"EyeLike", 9, buildEyeLike},
      {"Shape", 1, buildShape},       {"Size", 1, buildSize},
  };
  return rules;
}

} // namespace dlc::onnx
