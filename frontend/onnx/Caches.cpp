//===- Caches.cpp - States that grow with each run ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which they are, and how many positions they shall hold. CacheRewrite makes caches of them.
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/CacheRewrite.h"
#include "frontend/onnx/Importer.h"
#include "ir/dl/base/DimNeeds.h"

using namespace mlir;

namespace dlc::onnx {

using frontend::quote;

std::optional<Importer::Growth> Importer::growthOf(const State &state,
                                                   RankedTensorType next) const {
  dl::Dims from = dl::getDims(state.type), to = dl::getDims(next);
  if (from.size() != to.size() || state.type.getElementType() != next.getElementType())
    return std::nullopt;
  std::optional<Growth> growth;
  for (auto [position, dims] : llvm::enumerate(llvm::zip(from, to))) {
    auto [before, after] = dims;
    if (before == after)
      continue;
    auto symbol = dyn_cast<AffineSymbolExpr>(before);
    AffineExpr step = dl::normalize(after - before);
    if (growth || !symbol || step.isFunctionOfSymbol(symbol.getPosition()))
      return std::nullopt;
    growth = {symbol.getPosition(), static_cast<int64_t>(position), step};
  }
  return growth;
}

std::optional<int64_t> Importer::capacityOf(func::FuncOp function, AffineExpr past,
                                            AffineExpr whole) {
  // The places of the model that take as many positions as there are, as a table of them.
  std::optional<int64_t> most;
  std::string why;
  function.walk([&](Operation *op) {
    for (const dl::DimNeed &need : dl::needsOf(op))
      if (auto room = dl::asConstant(dl::normalize(need.size + whole));
          room && !need.left && (!most || *room - need.least < *most)) {
        most = *room - need.least;
        auto node = dyn_cast<NameLoc>(op->getLoc());
        why = (node ? node.getName().str() + ": " : std::string()) + dl::describe(op, need);
      }
  });
  std::optional<int64_t> asked;
  for (const State &state : states)
    if (state.capacity && asked && *asked != *state.capacity) {
      error(ImportFault::ofCall, "--state asks for caches of " + llvm::Twine(*asked) + " and of " +
                                     llvm::Twine(*state.capacity) +
                                     " positions; expected one size for all");
      return std::nullopt;
    } else if (state.capacity) {
      asked = state.capacity;
    }
  if (asked && most && *asked > *most) {
    error(ImportFault::ofCall, "--state asks for a cache of " + llvm::Twine(*asked) +
                                   " positions, and the model takes " + llvm::Twine(*most) +
                                   " at most: " + why);
    return std::nullopt;
  }
  const frontend::Symbol &symbol = symbols[cast<AffineSymbolExpr>(past).getPosition()];
  if (!asked && bounds[cast<AffineSymbolExpr>(past).getPosition()].isMaxGiven)
    most = std::min(most.value_or(INT64_MAX), symbol.max + 1);
  if (!asked && !most)
    error(ImportFault::ofCall, "nothing in the model says how many positions its past " +
                                   quote(symbol.name) +
                                   " has; give the size of the cache: --state " +
                                   quote(options.states.front() + "[1024]"));
  return asked ? asked : most;
}

bool Importer::makeCaches(func::FuncOp function) {
  if (growing.empty())
    return true;
  const Growth &first = growing.front().second;
  AffineExpr past = getAffineSymbolExpr(first.past, context),
             whole = dl::normalize(past + first.step);
  llvm::DenseMap<Operation *, BlockArgument> updates;
  unsigned inputs = function.getNumArguments() - states.size();
  Operation *ret = function.front().getTerminator();
  for (const auto &[number, growth] : growing) {
    const State &state = states[number];
    BlockArgument argument = function.getArgument(inputs + number);
    mlir::Value next = ret->getOperand(ret->getNumOperands() - states.size() + number);
    if (growth.past != first.past || growth.step != first.step) {
      error("states " + quote(states[growing.front().first].input) + " and " + quote(state.input) +
            " grow from " + dl::text(past, module) + " to " + dl::text(whole, module) +
            " and from " + dl::text(state.type, module) + " to " + dl::text(next) +
            "; expected caches that grow alike");
      return false;
    }
    auto joined = next.getDefiningOp<dl::CatOp>();
    if (!joined || joined.getTensors().front() != argument || joined.getTensors().size() < 2 ||
        dl::wrapDim(std::nullopt, "", joined.getDim(), state.type.getRank()) != growth.dim) {
      error("state " + quote(state.input) + " grows to " + dl::text(next) + ", and " +
            quote(state.output) +
            " is not the state with the new part joined after it; expected a Concat of both");
      return false;
    }
    updates[joined] = argument;
  }
  auto capacity = capacityOf(function, past, whole);
  if (!capacity)
    return false;
  std::string size = std::to_string(*capacity);
  narrow(dl::normalize(dl::constantDim(*capacity, context) - first.step), 0,
         "the cache holds " + size + " positions");
  CacheRewrite rewrite(function, first.past, first.step, *capacity);
  rewrite.plan(updates, [&](Operation *op, const llvm::Twine &sentence) {
    auto node = op ? dyn_cast<NameLoc>(op->getLoc()) : NameLoc();
    unsupported.push_back((node ? node.getName().str() + ": " : std::string()) + sentence.str());
  });
  if (!unsupported.empty())
    return false;
  std::vector<std::string> taken;
  for (const ValueInfo &info : file.model().graph.inputs)
    taken.push_back(info.name.str());
  rewrite.apply(taken);
  symbols.erase(symbols.begin() + first.past);
  symbolNames.erase(symbolNames.begin() + first.past);
  bounds.erase(bounds.begin() + first.past);
  declareSymbols();
  emitRemark(UnknownLoc::get(context))
      << file.path() << ": the states are caches of " << size << " positions";
  return true;
}

} // namespace dlc::onnx
