//===- Draws.cpp - What nodes of ONNX draw random numbers from ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A node without the attribute `seed` draws from the state `generator`, as a model of the language
// does: each draw of a run has its own number, and each step of a loop its own generator. The count
// of draws is written once, at the end. A node with a seed has a generator of its own, which is the
// same in each run.
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/library/Library.h"
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/read/NodeOrder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>

using namespace mlir;

namespace dlc::onnx {

using frontend::kGenerator;

/// The seed of a generator: whole numbers are themselves.
static std::optional<int64_t> seedOf(const Attribute &attribute) {
  if (attribute.integer || !attribute.real)
    return attribute.integer;
  double real = *attribute.real;
  return real == std::trunc(real) && std::abs(real) < 0x1p63 ? static_cast<int64_t>(real)
                                                             : llvm::bit_cast<int64_t>(real);
}

mlir::Value Importer::generatorOf(NodeImport &node) {
  if (generator)
    return generator;
  auto function = *module.getOps<func::FuncOp>().begin();
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttrOfType<StringAttr>(i, "dl.name") == kGenerator) {
      node.fail("it draws random numbers from the model's state 'generator', but the model has an "
                "input of this name; rename the input, or give the node the attribute 'seed'");
      return {};
    }
  // Before the other states, whose places are counted from the end.
  unsigned position = function.getNumArguments() - states.size();
  auto type = RankedTensorType::get({2}, builder.getI64Type());
  auto marks =
      builder.getDictionaryAttr({builder.getNamedAttr("dl.name", builder.getStringAttr(kGenerator)),
                                 builder.getNamedAttr("dl.state", builder.getUnitAttr())});
  if (failed(function.insertArgument(position, type, marks, function.getLoc())))
    llvm_unreachable("a function takes a state");
  return generator = function.getArgument(position);
}

mlir::Value Importer::nextGenerator(Location loc) {
  Known counted{builder.getI64Type(),
                {2},
                {{dl::constantDim(0, context)}, {dl::constantDim(draws, context)}}};
  mlir::Value count = constant(counted, loc, kGenerator.str());
  auto signature = signaturesOf("add").front();
  auto bound = frontend::bindArguments("add", {}, signature->params,
                                       {{{}, {}, {generator, {}}}, {{}, {}, {count, {}}}}, module);
  Item next = emitter->emit(loc, *signature, std::get<frontend::BoundArguments>(bound));
  return next.as<mlir::Value>();
}

std::optional<NodeImport::Draw> NodeImport::nextDraw() {
  if (const Attribute *attribute = this->attribute("seed")) {
    auto seed = seedOf(*attribute);
    if (!seed) {
      fail("its attribute 'seed' is no number");
      return std::nullopt;
    }
    // The count of the model's generator starts at 0 and never gets to -1.
    Known key{builder.getI64Type(), {2}, {{dim(*seed)}, {dim(-1)}}};
    mlir::Value own = importer.constant(key, loc, describe(node));
    return own ? std::optional(Draw{{own, {}}, 0}) : std::nullopt;
  }
  mlir::Value state = importer.generatorOf(*this);
  if (!state)
    return std::nullopt;
  Draw draw{{state, {}}, importer.draws++};
  for (mlir::Value step : importer.steps) {
    Item words = cast(randomBits(draw, dim(2), 0), builder.getI64Type());
    auto word = [&](int64_t at) { return call("select", {words, item(int64_t(0)), item(at)}); };
    Item upper = call("mul", {word(1), item(int64_t(1) << 32)});
    Item::List parts{call("add", {upper, word(0)}), {step, {}}};
    draw = {call("stack", {{parts, {}}, item(int64_t(0))}), 0};
  }
  return failed ? std::nullopt : std::optional(draw);
}

Item NodeImport::randomBits(const Draw &draw, ArrayRef<AffineExpr> dims, int64_t word) {
  return call("random_bits", {draw.generator, dimItems(dims), item(draw.number), item(word)});
}

} // namespace dlc::onnx
