//===- LayerRecovery.cpp - The layer that an op with weights was --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Guesses the arguments of a layer from shapes, and asks the table of layers whether they give
// these weights.
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/write/LayerRecovery.h"

#include "frontend/dl/declare/Layers.h"
#include "frontend/dl/write/Scope.h"
#include "frontend/dl/write/Statements.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc::onnx {

using frontend::Item;
using frontend::LayerKind;
using frontend::LayerWeight;

namespace {

/// An op's tensors by the parameters of its function.
using Tensors = llvm::StringMap<Value>;

struct Argument {
  std::string name;
  Item item;
  Pieces text;
  bool isPositional = false;
  bool isDefault = false; // written only as a parameter of a block
};

} // namespace

static std::optional<Tensors> tensorsOf(const Signature &signature, Operation &op) {
  Tensors tensors;
  size_t next = 0, segment = 0;
  ArrayRef<int32_t> segments;
  if (auto sizes = op.getAttrOfType<DenseI32ArrayAttr>("operandSegmentSizes"))
    segments = sizes.asArrayRef();
  for (const Param &param : signature.params) {
    if (param.type == Param::tensors)
      return std::nullopt;
    if (param.type != Param::tensor)
      continue;
    bool isThere = segments.empty() ? next < op.getNumOperands() : segments[segment++] != 0;
    if (isThere)
      tensors[param.name] = op.getOperand(next++);
  }
  return tensors;
}

static std::optional<Item> itemOf(Attribute value) {
  auto list = [](auto range) {
    Item::List items;
    for (auto held : range)
      items.push_back({held, {}});
    return Item{std::move(items), {}};
  };
  if (auto truth = dyn_cast<BoolAttr>(value))
    return Item{truth.getValue(), {}};
  if (auto number = dyn_cast<IntegerAttr>(value))
    return Item{number.getInt(), {}};
  if (auto number = dyn_cast<FloatAttr>(value))
    return Item{number.getValueAsDouble(), {}};
  if (auto text = dyn_cast<StringAttr>(value))
    return Item{text.getValue().str(), {}};
  if (auto numbers = dyn_cast<DenseI64ArrayAttr>(value))
    return list(numbers.asArrayRef());
  return std::nullopt;
}

/// The argument that only the shapes of weights say; nothing for others.
static std::optional<Argument> argumentOfShapes(const LayerKind &kind, const Param &param,
                                                const Tensors &tensors, Operation &op) {
  auto shape = [&](StringRef name) -> ArrayRef<int64_t> {
    Value held = tensors.lookup(name);
    return held ? cast<RankedTensorType>(held.getType()).getShape() : ArrayRef<int64_t>();
  };
  ArrayRef<int64_t> weight = shape("weight");
  auto number = [&](int64_t size, bool isPositional) {
    return Argument{
        param.name.str(), {size, {}}, {{Piece::Number, param.name.str(), size, {}}}, isPositional};
  };
  auto absent = [&](bool isThere) -> std::optional<Argument> {
    if (isThere)
      return std::nullopt;
    return Argument{param.name.str(), {false, {}}, {{Piece::Text, "false", 0, {}}}};
  };
  auto groups = op.getAttrOfType<IntegerAttr>("groups");
  bool isTransposed = kind.name.starts_with("ConvTranspose");
  if (weight.size() > 2 && (param.name == "in_channels" || param.name == "out_channels")) {
    bool isGrouped = (param.name == "in_channels") != isTransposed;
    return number(isGrouped ? weight[1] * (groups ? groups.getInt() : 1) : weight[0], true);
  }
  if (weight.size() > 2 && param.name == "kernel_size") {
    Item::List sizes;
    Pieces text;
    ArrayRef<int64_t> kernel = weight.drop_front(2);
    for (int64_t size : kernel) {
      sizes.push_back({size, {}});
      append(text, text.empty() ? "[" : ", ");
      text.push_back({Piece::Number, "kernel_size", size, {}});
    }
    append(text, "]");
    if (llvm::all_equal(kernel))
      text = {{Piece::Number, "kernel_size", kernel[0], {}}};
    return Argument{"kernel_size", {std::move(sizes), {}}, text};
  }
  if (weight.size() == 2 && (param.name == "in_features" || param.name == "embedding_dim"))
    return number(weight[1], true);
  if (weight.size() == 2 && (param.name == "out_features" || param.name == "num_embeddings"))
    return number(weight[0], true);
  if (param.name == "num_features" || param.name == "num_channels")
    if (ArrayRef<int64_t> sizes = weight.empty() ? shape("running_mean") : weight; !sizes.empty())
      return number(sizes[0], true);
  if (param.name == "bias" && param.type == Param::boolean)
    return absent(tensors.contains("bias"));
  if (param.name == "affine" || param.name == "elementwise_affine")
    return absent(tensors.contains("weight"));
  return std::nullopt;
}

/// Whether `held` is what the parameter of `op` is where `layer`, a parameter of the same name, is
/// left out; of a default of None it is not, as there is an attribute.
static bool isLeftOut(const Param &op, const Param &layer, Attribute held) {
  if (!layer.hasDefault)
    return false;
  Item otherwise = frontend::defaultItem(layer);
  return !otherwise.is<Item::None>() &&
         frontend::attributeOf(op, otherwise, held.getContext()) == held;
}

static std::optional<std::vector<Argument>> argumentsOf(const LayerKind &kind,
                                                        const Signature &signature,
                                                        const Tensors &tensors, Operation &op) {
  std::vector<Argument> arguments;
  std::vector<Param> params = frontend::layerParams(kind);
  for (const Param &param : signature.params) { // what the op says, the layer must be able to say
    Attribute held = op.getAttr(param.name);
    bool isSaid =
        llvm::any_of(params, [&](const Param &other) { return other.name == param.name; });
    if (held && !isSaid && !isLeftOut(param, param, held))
      return std::nullopt;
  }
  for (const Param &param : params) {
    auto same = llvm::find_if(signature.params, [&](const Param &other) {
      return other.name == param.name && other.type != Param::tensor;
    });
    Attribute held = op.getAttr(param.name);
    if (same == signature.params.end() || !held) {
      if (auto argument = argumentOfShapes(kind, param, tensors, op))
        arguments.push_back(std::move(*argument));
      continue;
    }
    std::optional<Item> item = itemOf(held);
    if (!item)
      return std::nullopt;
    Argument argument{param.name.str(), *item, attributeText(param, held, &op)};
    bool isDefault = isLeftOut(*same, param, held);
    if (isDefault && !arguments.empty())
      if (Pieces text = defaultText(param, held, &op); !text.empty())
        arguments.push_back({argument.name, argument.item, text, false, /*isDefault=*/true});
    if (!isDefault)
      arguments.push_back(std::move(argument));
    if (!isDefault && arguments.size() == 1 && !param.hasDefault) {
      arguments.back().isPositional = true;
      Pieces &text = arguments.back().text;
      if (text.size() == 3) // a list of one
        text = {text[1]};
    }
  }
  return arguments;
}

/// The weights that the layer would have, where these are the op's.
static std::optional<std::vector<LayerWeight>>
weightsOf(const LayerKind &kind, ArrayRef<Argument> arguments, const Tensors &tensors) {
  std::vector<Param> params = frontend::layerParams(kind);
  std::vector<frontend::PassedArgument> passed;
  for (const Argument &argument : arguments)
    passed.push_back({argument.name, {}, argument.item});
  auto bound = frontend::bindArguments(kind.name, {}, params, passed, {});
  if (!std::holds_alternative<frontend::BoundArguments>(bound))
    return std::nullopt;
  auto weights = frontend::weightsOf(kind, params, std::get<frontend::BoundArguments>(bound), {});
  auto *all = std::get_if<std::vector<LayerWeight>>(&weights);
  if (!all || all->size() + 1 != tensors.size()) // and the input
    return std::nullopt;
  for (const LayerWeight &weight : *all) {
    Value held = tensors.lookup(weight.parameter);
    if (!held || !held.getDefiningOp<dl::WeightOp>() ||
        cast<RankedTensorType>(held.getType()).getShape() != ArrayRef(weight.shape))
      return std::nullopt;
  }
  return std::move(*all);
}

/// The path under which the layer's weights have the names that they have; of names by machines,
/// the module's.
static std::string pathOfLayer(ArrayRef<LayerWeight> weights, const Tensors &tensors,
                               ArrayRef<std::string> scope) {
  std::string path;
  for (const LayerWeight &weight : weights) {
    StringRef name = tensors.lookup(weight.parameter).getDefiningOp<dl::WeightOp>().getName();
    if (isMadeByMachine(name))
      continue;
    StringRef stem = name;
    if (!stem.consume_back("." + weight.leaf) || pathOf(name) != name ||
        (!path.empty() && path != stem))
      return {};
    path = stem.str();
  }
  return path.empty() && !scope.empty() ? pathOf(llvm::join(scope, ".")) : path;
}

/// The path, or it with a number behind, that no other member has, and whose weights none has; all
/// of them are taken.
static std::string uniqueLayer(llvm::StringSet<> &paths, StringRef path,
                               ArrayRef<StringRef> leaves) {
  auto weight = [](const Twine &layer, StringRef leaf) { return (layer + "." + leaf).str(); };
  std::string made = path.str();
  auto isTaken = [&](StringRef leaf) { return paths.contains(weight(made, leaf)); };
  for (unsigned suffix = 2; paths.contains(made) || llvm::any_of(leaves, isTaken); ++suffix)
    made = (path + "_" + Twine(suffix)).str();
  paths.insert(made);
  for (StringRef leaf : leaves)
    paths.insert(weight(made, leaf));
  return made;
}

/// Whether each argument of the layer goes to the parameter of its name.
static bool passesByName(const LayerKind &kind) {
  return llvm::all_of(kind.passes, [](const auto &pass) { return pass.parameter == pass.from; });
}

std::optional<RecoveredLayer> recoverLayer(const Signature &signature, Operation &op,
                                           ArrayRef<std::string> scope, llvm::StringSet<> &paths,
                                           Program &program) {
  std::optional<Tensors> tensors = tensorsOf(signature, op);
  if (!tensors || op.getNumResults() != 1)
    return std::nullopt;
  RecoveredLayer layer;
  for (auto &[name, tensor] : *tensors) {
    auto weight = tensor.getDefiningOp<dl::WeightOp>();
    if (!weight && layer.input)
      return std::nullopt;
    if (!weight)
      layer.input = tensor;
    else if (!tensor.hasOneUse() ||
             getElementTypeOrSelf(tensor) != getElementTypeOrSelf(op.getResult(0)))
      return std::nullopt;
  }
  if (!layer.input)
    return std::nullopt;
  int64_t rank = cast<RankedTensorType>(layer.input.getType()).getRank();
  for (const LayerKind &kind : frontend::layerKinds()) {
    bool isCandidate = kind.function == signature.name && !kind.build && kind.weights &&
                       passesByName(kind) && kind.call == "(Tensor input)" &&
                       (kind.ranks.empty() || llvm::is_contained(kind.ranks, rank));
    if (!isCandidate)
      continue;
    auto arguments = argumentsOf(kind, signature, *tensors, op);
    auto weights = arguments ? weightsOf(kind, *arguments, *tensors) : std::nullopt;
    std::string path = weights ? pathOfLayer(*weights, *tensors, scope) : "";
    if (path.empty())
      continue;
    SmallVector<StringRef> leaves;
    for (const LayerWeight &weight : *weights)
      leaves.push_back(weight.leaf);
    layer.member.path = uniqueLayer(paths, path, leaves);
    append(layer.member.declaration, kind.name + "(");
    for (const Argument &argument : *arguments) {
      if (argument.isDefault) {
        append(layer.member.declaration, argument.text);
        continue;
      }
      append(layer.member.declaration,
             (&argument == arguments->data() ? "" : ", ") +
                 (argument.isPositional ? Twine() : argument.name + Twine("=")));
      append(layer.member.declaration, argument.text);
    }
    append(layer.member.declaration, ")");
    for (const LayerWeight &weight : *weights)
      program.weights.push_back({layer.member.path + "." + weight.leaf,
                                 tensors->lookup(weight.parameter).getDefiningOp()});
    return layer;
  }
  return std::nullopt;
}

//===- Linear ---------------------------------------------------------------------------------===//

/// A weight [in, out] by its folded name, of a product x @ weight.
static dl::WeightOp foldedWeight(Operation &op) {
  auto product = dyn_cast<dl::MatmulOp>(op);
  auto weight = product ? product.getOther().getDefiningOp<dl::WeightOp>() : dl::WeightOp();
  bool isFolded = weight && weight->hasOneUse() && isMadeByMachine(weight.getName()) &&
                  cast<RankedTensorType>(weight.getType()).getRank() == 2 &&
                  !product.getX().getDefiningOp<dl::WeightOp>() &&
                  cast<RankedTensorType>(product.getX().getType()).getRank() > 1;
  return isFolded ? weight : dl::WeightOp();
}

namespace {

/// x @ weight + bias
struct Affine {
  dl::MatmulOp product;
  dl::WeightOp weight, bias;
};

} // namespace

static std::optional<Affine> affineOf(Operation &op) {
  auto sum = dyn_cast<dl::AddOp>(op);
  if (!sum)
    return std::nullopt;
  for (unsigned side : {0, 1}) {
    auto product = sum->getOperand(side).getDefiningOp<dl::MatmulOp>();
    Value other = sum->getOperand(1 - side);
    if (auto broadcast = other.getDefiningOp<dl::BroadcastOp>())
      other = broadcast.getX();
    auto bias = other.getDefiningOp<dl::WeightOp>();
    if (!product || !product->hasOneUse() || !bias || !bias->hasOneUse())
      continue;
    dl::WeightOp weight = foldedWeight(*product);
    if (weight && cast<RankedTensorType>(bias.getType()).getShape() ==
                      cast<RankedTensorType>(weight.getType()).getShape().drop_front())
      return Affine{product, weight, bias};
  }
  return std::nullopt;
}

bool isHeldBack(Operation &op) {
  return op.hasOneUse() && foldedWeight(op) && affineOf(**op.user_begin());
}

std::optional<RecoveredLayer> recoverLinear(Operation &op, ArrayRef<std::string> scope,
                                            llvm::StringSet<> &paths, Program &program) {
  std::optional<Affine> affine = affineOf(op);
  auto product = affine ? affine->product : dyn_cast<dl::MatmulOp>(op);
  dl::WeightOp weight = product ? foldedWeight(*product) : dl::WeightOp();
  if (!weight)
    return std::nullopt;
  std::string path = scope.empty() ? "" : pathOf(llvm::join(scope, "."));
  if (affine && !isMadeByMachine(affine->bias.getName())) {
    StringRef name = affine->bias.getName();
    path = name.consume_back(".bias") && pathOf(name) == name ? name.str() : path;
  }
  if (path.empty())
    return std::nullopt;
  RecoveredLayer layer;
  layer.input = product.getX();
  layer.member.path = uniqueLayer(paths, path, {"weight", "bias"});
  ArrayRef<int64_t> shape = cast<RankedTensorType>(weight.getType()).getShape();
  layer.member.declaration = {{Piece::Text, "Linear(", 0, {}},
                              {Piece::Number, "in_features", shape[0], {}},
                              {Piece::Text, ", ", 0, {}},
                              {Piece::Number, "out_features", shape[1], {}},
                              {Piece::Text, affine ? ")" : ", bias=false)", 0, {}}};
  program.weights.push_back({layer.member.path + ".weight", weight, /*isTransposed=*/true});
  if (affine)
    program.weights.push_back({layer.member.path + ".bias", affine->bias});
  return layer;
}

} // namespace dlc::onnx
