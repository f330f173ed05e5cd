//===- ReadSizes.cpp - Sizes that the running model says ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/Importer.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dlc::onnx {

using frontend::quote;

/// The size at `position` of a vector of integers that is put together from sizes and from what the
/// model computes; null where the model computes it. `knownOf` gives the numbers of a weight.
static AffineExpr elementOf(mlir::Value vector, int64_t position, MLIRContext *context,
                            llvm::function_ref<const Known *(mlir::Value)> knownOf) {
  auto type = llvm::cast<RankedTensorType>(vector.getType());
  if (!vector.getDefiningOp() || !llvm::isa<IntegerType>(type.getElementType()) ||
      !type.hasStaticShape() || type.getRank() > 1)
    return {};
  return llvm::TypeSwitch<Operation *, AffineExpr>(vector.getDefiningOp())
      .Case([&](dl::FullOp full) {
        auto number = llvm::dyn_cast<IntegerAttr>(full.getFill());
        return number ? dl::constantDim(number.getInt(), context) : AffineExpr();
      })
      .Case([&](dl::WeightOp) {
        const Known *numbers = knownOf(vector);
        auto dims = numbers ? numbers->dims() : std::nullopt;
        return dims ? (*dims)[position] : AffineExpr();
      })
      .Case([&](dl::ScalarTensorOp size) { return AffineExpr(size.getS().getResult(0)); })
      .Case<dl::BroadcastOp, dl::ReshapeOp, dl::CastOp>([&](auto op) {
        auto from = llvm::cast<RankedTensorType>(op.getX().getType());
        bool isSame = from.hasStaticShape() && from.getNumElements() == type.getNumElements();
        bool isOne = from.hasStaticShape() && from.getNumElements() == 1;
        return isSame || isOne ? elementOf(op.getX(), isOne ? 0 : position, context, knownOf)
                               : AffineExpr();
      })
      .Case([&](dl::CatOp joined) -> AffineExpr {
        for (mlir::Value part : joined.getTensors()) {
          auto size = llvm::cast<RankedTensorType>(part.getType());
          if (!size.hasStaticShape())
            return {};
          if (position < size.getNumElements())
            return elementOf(part, position, context, knownOf);
          position -= size.getNumElements();
        }
        return {};
      })
      .Default([](Operation *) { return AffineExpr(); });
}

/// The name of the size at `position` of a tensor: "shape_0" for a tensor with a short name, else
/// "size".
static std::string sizeName(StringRef tensor, int64_t position) {
  constexpr size_t kLongest = 16;
  bool isName = !tensor.empty() && tensor.size() <= kLongest && llvm::isAlpha(tensor.front()) &&
                llvm::all_of(tensor, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  return isName ? tensor.str() + "_" + std::to_string(position) : "size";
}

std::optional<dl::Dims> NodeImport::sizes(size_t input, StringRef what, dl::Range range,
                                          bool clamps, std::optional<int64_t> expected) {
  if (!has(input)) {
    fail("it needs its input " + llvm::Twine(input));
    return std::nullopt;
  }
  if (const Known *numbers = known(input)) {
    auto found = numbers->dims();
    if (!found)
      fail(what + " are no integers");
    return found;
  }
  constexpr int64_t kMostSizes = 64;
  auto given = type(input);
  int64_t count =
      given.hasStaticShape() ? given.getNumElements() : expected.value_or(kMostSizes + 1);
  if (failed)
    return std::nullopt;
  if (!isa<IntegerType>(given.getElementType()) || given.getRank() > 1 || count > kMostSizes ||
      importer.hasStates()) {
    unsupported(what + " " + quote(node.inputs[input]) + " are computed by the model as " +
                    typeText(input),
                importer.hasStates()
                    ? "; a model with states needs the dims that they are made of at import"
                    : "; dlc reads up to " + llvm::Twine(kMostSizes) +
                          " integers, whose number is known at import");
    return std::nullopt;
  }
  Item list = given.hasStaticShape() ? tensor(input) : expect(tensor(input), {dim(count)});
  Item numbers = cast(reshape(list, {dim(count)}), builder.getI64Type());
  if (clamps)
    numbers = call("minimum", {call("maximum", {numbers, item(range.min)}), item(range.max)});
  Value &value = *inputs[input];
  auto knownOf = [&](mlir::Value weight) -> const Known * {
    for (Frame *at = &frame; at; at = at->parent)
      for (auto &entry : at->values)
        if (entry.getValue().tensor == weight)
          return importer.known(entry.getValue());
    return nullptr;
  };
  dl::Dims made;
  for (int64_t position = 0; position < count; ++position) {
    mlir::Value list = value.tensor;
    if (AffineExpr known = list ? elementOf(list, position, context, knownOf) : AffineExpr()) {
      made.push_back(known);
      continue;
    }
    Item number = call("select", {numbers, item(int64_t(0)), item(position)});
    AffineExpr size = number.isTensor()
                          ? importer.emitter->read(loc, number.as<mlir::Value>(),
                                                   sizeName(node.inputs[input], position), range)
                          : AffineExpr();
    if (!size) {
      failed = true;
      return std::nullopt;
    }
    made.push_back(size);
  }
  // Who reads the same tensor next shall have the same symbols.
  if (!clamps && given.hasStaticShape() && importer.trials == 0 && value.tensor &&
      value.tensor.getParentBlock() == builder.getInsertionBlock()) {
    Known held{given.getElementType(), SmallVector<int64_t, 4>(given.getShape()), {}};
    for (AffineExpr size : made)
      held.numbers.push_back({size});
    value.known = std::move(held);
  }
  return made;
}

AffineExpr NodeImport::readSize(Item number, int64_t most) {
  if (failed || !number.isTensor())
    return {};
  AffineExpr size = importer.emitter->read(loc, number.as<mlir::Value>(), "size", {0, most});
  failed |= !size;
  return size;
}

} // namespace dlc::onnx
