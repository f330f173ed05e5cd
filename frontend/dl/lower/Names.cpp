//===- Names.cpp - Values, weights and layers by their names in forward -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/dl/lower/ForwardLowering.h"
#include "frontend/dl/syntax/Hints.h"
#include "frontend/dl/syntax/Parser.h"

using namespace mlir;

namespace dlc::frontend {

const ForwardLowering::Binding *ForwardLowering::useValue(StringRef name) {
  auto value = frame->values.find(name);
  if (value == frame->values.end())
    return nullptr;
  auto use = [&](llvm::SMLoc loc) {
    if (auto usage = usages.find(loc.getPointer()); usage != usages.end())
      usage->second.isUsed = true;
  };
  use(value->second.loc);
  llvm::for_each(value->second.others, use);
  mentionValue(name, value->second);
  return &value->second;
}

void ForwardLowering::mentionValue(StringRef name, const Binding &binding) {
  diagnostics.mention(Mention::Kind::value, name, binding.loc, [&] {
    return (name + ": " +
            (binding.item.isTensor() ? dl::text(binding.item.as<Value>())
                                     : describe(binding.item, diagnostics.module)))
        .str();
  });
}

Item ForwardLowering::evaluateName(const NameExpr &expr) {
  if (const Binding *binding = useValue(expr.name))
    return precision ? castFloats(binding->item, precision) : binding->item;
  if (scope->find(expr.name) || dtypeOf(expr.name, context))
    return Evaluator::evaluateName(expr);
  if (auto item = evaluatePath(expr))
    return *item;
  return unknownName(expr);
}

/// A value, a weight, or an attribute of one: `x`, `fc.weight`, `x.T`. Nothing where the name is of
/// none.
std::optional<Item> ForwardLowering::valueWithAttributes(StringRef name, llvm::SMLoc loc) {
  if (const Binding *binding = useValue(name))
    return binding->item.is<LayerRef>() ? std::nullopt : std::optional(binding->item);
  NameExpr expr(loc);
  expr.name = name;
  if (auto path = pathOf(expr))
    if (auto weight = weightAt(*path, loc))
      return weight;
  auto [base, attribute] = name.rsplit('.');
  auto item = attribute.empty() ? std::nullopt : valueWithAttributes(base, loc);
  return item ? std::optional(attributeOf(*item, attribute, name, loc)) : std::nullopt;
}

Item ForwardLowering::unknownName(const NameExpr &expr) {
  // `x.shape`, where x is a value.
  auto [base, attribute] = expr.name.rsplit('.');
  if (!attribute.empty())
    if (auto item = valueWithAttributes(base, expr.loc))
      return attributeOf(*item, attribute, expr.name, expr.loc);
  if (reportLost(attribute.empty() ? StringRef(expr.name) : base, expr.loc))
    return poison(expr.loc);
  SmallVector<StringRef> known;
  for (const auto &entry : frame->values)
    known.push_back(entry.first);
  llvm::append_range(known, scope->allNames());
  std::string hint = hintForValue(expr.name);
  if (hint.empty())
    hint = didYouMean(expr.name, known);
  diagnostics.error(expr.loc) << "unknown value " << quote(expr.name)
                              << (hint.empty() ? "; expected an input, or a name assigned above"
                                               : hint);
  return poison(expr.loc);
}

//===- Layers ---------------------------------------------------------------------------------===//

std::optional<ForwardLowering::LayerPath> ForwardLowering::pathOf(const Expr &expr, bool isCallee) {
  if (auto *name = llvm::dyn_cast<NameExpr>(&expr)) {
    auto [head, rest] = name->name.split('.');
    auto value = frame->values.find(head);
    bool isRef = value != frame->values.end() && value->second.item.is<LayerRef>();
    // Layers and values have names of their own: `fc = fc(x)` hides no layer from the next call.
    if (value != frame->values.end() && !isRef && !isCallee && rest.empty())
      return std::nullopt;
    if (isRef) {
      const auto &ref = useValue(head)->item.as<LayerRef>();
      if (ref.instance)
        return LayerPath{ref.instance, rest.str()};
      return LayerPath{&model.root(), (ref.path + (rest.empty() ? "" : ".") + rest).str()};
    }
    // `conv1`, and what only begins as a layer does: `encoder.layer`, or `tok.weight`.
    Instance &instance = *frame->instance;
    if (instance.children.contains(name->name) || instance.prefixes.contains(name->name))
      return LayerPath{&instance, name->name.str()};
    StringRef text = name->name;
    for (size_t dot = text.rfind('.'); dot != StringRef::npos; dot = text.rfind('.', dot))
      if (instance.children.contains(text.take_front(dot)))
        return LayerPath{&instance, text.str()};
    return std::nullopt;
  }
  if (auto *attribute = llvm::dyn_cast<AttributeExpr>(&expr)) {
    auto path = pathOf(*attribute->base, isCallee);
    if (path)
      path->text += (path->text.empty() ? "" : ".") + attribute->name.name.str();
    return path;
  }
  auto *subscript = llvm::dyn_cast<SubscriptExpr>(&expr);
  if (!subscript || subscript->indices.size() != 1 || !subscript->indices.front().value)
    return std::nullopt;
  auto path = pathOf(*subscript->base, isCallee);
  // The brackets may also be those of a weight.
  if (!path || weightAt(*path, expr.loc))
    return std::nullopt;
  Item index = evaluate(*subscript->indices.front().value);
  if (!index.is<int64_t>())
    return std::nullopt;
  path->text += (path->text.empty() ? "" : ".") + std::to_string(index.as<int64_t>());
  return path;
}

std::optional<LayerRef> ForwardLowering::findLayer(Instance &instance, StringRef path) {
  if (path.empty())
    return LayerRef{&instance, instance.path};
  if (auto child = instance.children.find(path); child != instance.children.end())
    return child->second;
  for (size_t dot = path.rfind('.'); dot != StringRef::npos; dot = path.rfind('.', dot)) {
    auto child = instance.children.find(path.take_front(dot));
    if (child != instance.children.end() && child->second.instance)
      return findLayer(*child->second.instance, path.drop_front(dot + 1));
  }
  return std::nullopt;
}

std::optional<Item> ForwardLowering::weightAt(const LayerPath &path, llvm::SMLoc loc) {
  auto valueOf = [&](Layer &layer, StringRef leaf) -> std::optional<Item> {
    for (const Parameter &weight : layer.weights)
      if (weight.leaf == leaf) {
        layer.isCalled = true;
        Item item{layers.weightOf(weight), loc};
        return precision ? castFloats(item, precision) : item;
      }
    return std::nullopt;
  };
  auto layerAt = [&](StringRef text) -> Layer * {
    auto ref = findLayer(*path.instance, text);
    if (!ref || ref->instance)
      return nullptr;
    return &model.layers.find(ref->path)->second;
  };
  StringRef text = path.text;
  if (Layer *layer = layerAt(text)) // a Parameter is its own weight
    return valueOf(*layer, "");
  auto [prefix, leaf] = text.rsplit('.');
  Layer *layer = leaf.empty() ? nullptr : layerAt(prefix);
  return layer ? valueOf(*layer, leaf) : std::nullopt;
}

std::optional<Item> ForwardLowering::evaluatePath(const Expr &expr) {
  auto path = pathOf(expr);
  if (!path)
    return std::nullopt;
  if (auto weight = weightAt(*path, expr.loc))
    return weight;
  if (auto ref = findLayer(*path->instance, path->text)) {
    // Of a layer with an error there is nothing to say.
    if (!ref->instance && !model.layers.find(ref->path)->second.kind)
      return poison(expr.loc);
    std::string name = textOf(expr);
    diagnostics.error(expr.loc) << quote(name) << " is a layer, not a value; call it, as in "
                                << name << "(x)";
    return poison(expr.loc);
  }
  // `encoder.layer` below an instance, or in one of its blocks.
  Instance *instance = path->instance;
  StringRef text = path->text;
  for (size_t dot = text.find('.'); dot != StringRef::npos; dot = text.find('.', dot + 1))
    if (auto inner = findLayer(*instance, text.take_front(dot)); inner && inner->instance) {
      instance = inner->instance;
      text = text.drop_front(dot + 1);
      dot = 0;
    }
  auto group = instance->groups.find(text);
  if (group == instance->groups.end())
    return std::nullopt;
  if (!budget.spend(group->second.size(), expr.loc, diagnostics))
    return poison(expr.loc);
  Item::List list;
  for (const LayerRef &ref : group->second)
    list.push_back({ref, expr.loc});
  return Item{std::move(list), expr.loc};
}

//===- Attributes -----------------------------------------------------------------------------===//

Item ForwardLowering::attributeOf(const Item &item, StringRef name, StringRef spelled,
                                  llvm::SMLoc loc) {
  if (item.isPoison())
    return item;
  if (item.isTensor() && name == "shape") {
    Item::List dims;
    for (AffineExpr dim : dl::getDims(item.tensorType()))
      dims.push_back(Item::dim(dim, loc));
    return {std::move(dims), loc};
  }
  if (item.isTensor() && name == "ndim")
    return {item.tensorType().getRank(), loc};
  if (item.isTensor() && name == "dtype")
    return {item.tensorType().getElementType(), loc};
  int64_t rank = item.isTensor() ? item.tensorType().getRank() : 0;
  // The elements are real, so that H and mH exchange dims only.
  if (((name == "T" || name == "H") && rank == 2) || ((name == "mT" || name == "mH") && rank >= 2))
    return call("transpose", loc,
                {{{}, loc, item}, {{}, loc, {int64_t(-2), loc}}, {{}, loc, {int64_t(-1), loc}}});
  auto error = diagnostics.error(loc);
  error << quote(spelled) << " has no meaning: " << describe(item, diagnostics.module);
  if (item.isTensor() && name == "T" && rank > 2)
    error << " is no matrix; its last two dims are exchanged by .mT";
  else
    error << " has shape, ndim, dtype, T, mT, H and mH"
          << (functionSignatures(name).empty()
                  ? ""
                  : "; a method is called, as in x." + name.str() + "()");
  return poison(loc);
}

Item ForwardLowering::evaluateAttribute(const AttributeExpr &expr) {
  if (auto item = evaluatePath(expr))
    return *item;
  Item base = evaluate(*expr.base);
  return attributeOf(base, expr.name.name, textOf(expr), expr.name.loc);
}

} // namespace dlc::frontend
