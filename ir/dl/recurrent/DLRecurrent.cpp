//===- DLRecurrent.cpp - Types of recurrent ops, and what networks become -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/DLOps.h"
#include "ir/dl/base/DLBuilder.h"

using namespace mlir;

namespace dlc::dl {

static Type elementOf(Value tensor) { return typeOf(tensor).getElementType(); }

/// Fails unless `tensor` (which may be absent) has the dims `expected`; `what` names it.
static LogicalResult checkDims(std::optional<Location> location, StringRef op, const Twine &what,
                               Value tensor, ArrayRef<AffineExpr> expected, Type element = {}) {
  if (!tensor || (ArrayRef<AffineExpr>(dimsOf(tensor)) == expected &&
                  (!element || elementOf(tensor) == element)))
    return success();
  if (!element)
    element = elementOf(tensor);
  return emitOptionalError(location, "'", op, "' needs ", what, " of ",
                           text(makeTensor(expected, element), tensor), ", got ", text(tensor));
}

//===- Steps ----------------------------------------------------------------------------------===//

LogicalResult inferSteps(StringRef op, std::optional<Location> location, const StepsParts &parts,
                         SmallVectorImpl<Type> &types) {
  Type element = elementOf(parts.gates);
  Dims gates = dimsOf(parts.gates), weight = dimsOf(parts.weight);
  if (gates.size() != 3 || weight.size() != 3 || !isConstant(weight[0], parts.numGates) ||
      !asConstant(weight[1]) || !asConstant(weight[2]))
    return emitOptionalError(location, "'", op, "' needs gates [T, N, ", parts.numGates,
                             " H] and a static weight [", parts.numGates, ", H, P], got ",
                             text(parts.gates), " and ", text(parts.weight));
  int64_t units = *asConstant(weight[1]), outputs = *asConstant(weight[2]);
  if (units < 1 || outputs < 1)
    return emitOptionalError(location, "'", op, "' needs at least one hidden unit, got ",
                             text(parts.weight));
  if (!isConstant(gates[2], parts.numGates * units))
    return emitOptionalError(location, "'", op, "' has ", units,
                             " hidden units; it needs gates of ", parts.numGates * units,
                             " columns, got ", text(parts.gates));
  Dim hidden = weight[1], width = weight[2], rows = gates[!parts.batchFirst];
  if (failed(checkDims(location, op, "a weight", parts.weight, weight, element)) ||
      failed(checkDims(location, op, "a bias", parts.bias, {weight[0], hidden}, element)) ||
      failed(checkDims(location, op, "a projection", parts.projection, {width, hidden}, element)) ||
      failed(checkDims(location, op, "lengths", parts.lengths, {rows})))
    return failure();
  if (!parts.projection && units != outputs)
    return emitOptionalError(location, "'", op, "' needs a projection from ", units,
                             " hidden units to ", outputs, " outputs");
  if (parts.projection && parts.numStates < 2)
    return emitOptionalError(location, "'", op, "' has no projection; LSTM alone has one");
  if (!parts.initial.empty() && parts.initial.size() != parts.numStates)
    return emitOptionalError(location, "'", op, "' needs ", parts.numStates,
                             " initial states or none, got ", parts.initial.size());
  types.push_back(makeTensor({gates[0], gates[1], width}, element));
  for (unsigned state = 0; state < parts.numStates; ++state)
    types.push_back(makeTensor({rows, state == 0 ? width : hidden}, element));
  for (auto [state, initial] : llvm::enumerate(parts.initial))
    if (failed(checkDims(location, op, "an initial state", initial,
                         {rows, state == 0 ? width : hidden}, element)))
      return failure();
  return success();
}

Recurrence recurrenceOf(const StepsParts &parts, bool reverse) {
  Recurrence result;
  unsigned next = 2;
  if (parts.bias)
    result.bias = next++;
  if (parts.projection)
    result.projection = next++;
  for (size_t state = 0; state < parts.initial.size(); ++state)
    result.initial.push_back(next++);
  if (parts.lengths)
    result.lengths = next++;
  Dims gates = dimsOf(parts.gates), weight = dimsOf(parts.weight);
  result.numGates = parts.numGates;
  result.numStates = parts.numStates;
  result.steps = gates[parts.batchFirst];
  result.rows = gates[!parts.batchFirst];
  result.units = *asConstant(weight[1]);
  result.outputs = *asConstant(weight[2]);
  result.reverse = reverse;
  result.rowsFirst = parts.batchFirst;
  result.elementType = elementOf(parts.gates);
  return result;
}

//===- Networks -------------------------------------------------------------------------------===//

namespace {
/// What the number and the shapes of a network's weights say.
struct Network {
  unsigned directions, perCell; // weights of one layer in one direction
  bool hasBias, projects;
  Dim hidden, outputs;
  Dim steps, rows; // rows is 1 where x has no batch
  bool isBatched;

  explicit Network(const RecurrentParts &parts)
      : directions(parts.bidirectional ? 2 : 1),
        perCell(parts.params.size() / (directions * std::max<uint64_t>(1, parts.numLayers))),
        hasBias(perCell >= 4), projects(perCell % 2 == 1) {
    Dims x = dimsOf(parts.x);
    isBatched = x.size() == 3;
    bool rowsFirst = isBatched && parts.batchFirst;
    steps = x[rowsFirst];
    rows = isBatched ? x[!rowsFirst] : constantDim(1, x[0].getContext());
  }
};
} // namespace

/// The weights of each cell, against what the layer below gives.
static LogicalResult checkParams(StringRef op, std::optional<Location> location,
                                 const RecurrentParts &parts, Network &network) {
  unsigned cells = parts.numLayers * network.directions;
  if (parts.numLayers < 1 || parts.numLayers > 1024 || parts.params.size() % cells != 0 ||
      network.perCell < 2 || network.perCell > 5 || (network.projects && parts.numStates < 2))
    return emitOptionalError(
        location, "'", op, "' needs for each of ", cells,
        " layers and directions the weights w_ih and w_hh, or w_ih, w_hh, b_ih and b_hh",
        parts.numStates < 2 ? "" : ", and w_hr where it projects", "; got ", parts.params.size());
  Type element = elementOf(parts.x);
  Value first = parts.params[1];
  if (typeOf(first).getRank() != 2)
    return emitOptionalError(location, "'", op, "' needs weights [", parts.numGates, " H, I], got ",
                             text(first));
  auto gateRows = asConstant(dimsOf(first)[0]), outputs = asConstant(dimsOf(first)[1]);
  if (!gateRows || !outputs || *gateRows < parts.numGates || *gateRows % parts.numGates ||
      *outputs < 1)
    return emitOptionalError(location, "'", op, "' needs a static weight w_hh [", parts.numGates,
                             " H, ", network.projects ? "P" : "H", "] with H of at least 1, got ",
                             text(first));
  MLIRContext *context = element.getContext();
  network.hidden = constantDim(*gateRows / parts.numGates, context);
  network.outputs = network.projects ? constantDim(*outputs, context) : network.hidden;
  Dim gates = constantDim(*gateRows, context), input = dimsOf(parts.x).back();
  for (unsigned cell = 0; cell < cells; ++cell) {
    if (cell == network.directions) // the layers above the first read all directions
      input = normalize(network.outputs * network.directions);
    ValueRange own = parts.params.slice(cell * network.perCell, network.perCell);
    std::string where = " in layer " + std::to_string(cell / network.directions) +
                        (cell % network.directions ? " backwards" : "");
    auto check = [&](const char *name, Value tensor, ArrayRef<AffineExpr> dims) {
      return checkDims(location, op, Twine("a weight ") + name + where, tensor, dims, element);
    };
    if (failed(check("w_ih", own[0], {gates, input})) ||
        failed(check("w_hh", own[1], {gates, network.outputs})))
      return failure();
    if (network.hasBias &&
        (failed(check("b_ih", own[2], {gates})) || failed(check("b_hh", own[3], {gates}))))
      return failure();
    if (network.projects && failed(check("w_hr", own.back(), {network.outputs, network.hidden})))
      return failure();
  }
  return success();
}

LogicalResult inferRecurrent(StringRef op, std::optional<Location> location,
                             const RecurrentParts &parts, SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(parts.x);
  if (x.getRank() != 2 && x.getRank() != 3)
    return emitOptionalError(location, "'", op, "' needs x ",
                             parts.batchFirst ? "[N, T, I]" : "[T, N, I]", " or [T, I], got ",
                             text(parts.x));
  Network network(parts);
  if (failed(checkParams(op, location, parts, network)))
    return failure();
  if (!network.isBatched && parts.lengths)
    return emitOptionalError(location, "'", op, "' takes lengths with a batch, got x ",
                             text(parts.x));
  if (failed(checkDims(location, op, "lengths", parts.lengths, {network.rows})))
    return failure();
  if (isConstant(network.steps, 0))
    return emitOptionalError(location, "'", op, "' needs at least one step, got x ", text(parts.x));
  if (!parts.hx.empty() && parts.hx.size() != parts.numStates)
    return emitOptionalError(location, "'", op, "' needs ",
                             parts.numStates == 1 ? "the initial state h0"
                                                  : "the initial states (h0, c0)",
                             " or none, got ", parts.hx.size(), " tensors");
  MLIRContext *context = x.getContext();
  Dims dims = dimsOf(parts.x);
  dims.back() = normalize(network.outputs * network.directions);
  types.push_back(makeTensor(dims, x.getElementType()));
  for (unsigned state = 0; state < parts.numStates; ++state) {
    Dims stateDims = {constantDim(parts.numLayers * network.directions, context)};
    if (network.isBatched)
      stateDims.push_back(network.rows);
    stateDims.push_back(state == 0 ? network.outputs : network.hidden);
    if (!parts.hx.empty() && failed(checkDims(location, op, state == 0 ? "h0" : "c0",
                                              parts.hx[state], stateDims, x.getElementType())))
      return failure();
    types.push_back(makeTensor(stateDims, x.getElementType()));
  }
  return success();
}

namespace {
/// Builds a network layer by layer.
class NetworkBuilder {
public:
  NetworkBuilder(Builder &builder, StringRef steps, const RecurrentParts &parts)
      : b(builder), stepsName(steps), parts(parts), network(parts) {
    int64_t gateRows = *asConstant(dimsOf(parts.params[1])[0]);
    network.hidden = constantDim(gateRows / parts.numGates, b.getContext());
    network.outputs = dimsOf(parts.params[1])[1];
    batchFirst = network.isBatched && parts.batchFirst;
  }

  SmallVector<Value> build() {
    Value x = parts.x;
    if (!network.isBatched)
      x = b.reshape(x, {network.steps, network.rows, dimsOf(x)[1]});
    SmallVector<SmallVector<Value>> finals(parts.numStates);
    for (unsigned layer = 0; layer < parts.numLayers; ++layer) {
      SmallVector<Value> directions;
      for (unsigned direction = 0; direction < network.directions; ++direction) {
        SmallVector<Value> results =
            buildCell(x, layer * network.directions + direction, direction == 1);
        directions.push_back(results.front());
        for (unsigned state = 0; state < parts.numStates; ++state)
          finals[state].push_back(b.unsqueeze(results[1 + state], 0));
      }
      x = concatenate(directions, 2);
    }
    SmallVector<Value> results = {x};
    for (ArrayRef<Value> list : finals)
      results.push_back(concatenate(list, 0));
    if (!network.isBatched) {
      results[0] = b.reshape(x, {network.steps, dimsOf(x)[2]});
      for (Value &state : MutableArrayRef(results).drop_front())
        state = b.squeeze(state, 1);
    }
    return results;
  }

private:
  Value concatenate(ArrayRef<Value> list, uint64_t dim) {
    return list.size() == 1 ? list.front() : b.make<CatOp>(list, dim);
  }

  /// Each step's gates twice: with a last gate of -1 for the first phase of a step, and 1 for the
  /// second.
  Value inPhases(Value gates, bool reverse) {
    int64_t at = batchFirst ? 2 : 1;
    Value step = b.unsqueeze(gates, at);
    Dims dims = dimsOf(step);
    dims.back() = network.hidden;
    SmallVector<Value> phases;
    for (double sign : {-1.0, 1.0})
      phases.push_back(
          concatenate({step, b.full(dims, typeOf(gates).getElementType(), sign)}, dims.size() - 1));
    if (reverse)
      std::swap(phases[0], phases[1]);
    Dims doubled = dimsOf(gates);
    doubled[at - 1] = normalize(doubled[at - 1] * 2);
    doubled.back() = normalize(network.hidden * (parts.numGates + 1));
    return b.reshape(concatenate(phases, at), doubled);
  }
  /// What the second phases gave.
  Value ofSecondPhases(Value y, bool reverse) {
    int64_t at = batchFirst ? 2 : 1;
    Dims dims = dimsOf(y);
    dims[at - 1] = network.steps;
    dims.insert(dims.begin() + at, constantDim(2, b.getContext()));
    return b.select(b.reshape(y, dims), at, reverse ? 0 : 1);
  }

  /// y and the final states.
  SmallVector<Value> buildCell(Value x, unsigned cell, bool reverse) {
    ValueRange own = parts.params.slice(cell * network.perCell, network.perCell);
    Type element = typeOf(x).getElementType();
    Dim gates = constantDim(parts.numGates, b.getContext());
    bool isDouble = parts.phases == 2;
    // The gate that tells the phases has no weights.
    auto withPhase = [&](Value weight) {
      Dims dims = dimsOf(weight);
      dims[0] = constantDim(1, b.getContext());
      return isDouble ? concatenate({weight, b.full(dims, element, 0)}, 0) : weight;
    };
    SmallVector<Value> operands = {
        b.make<LinearOp>(x, own[0], network.hasBias ? own[2] : Value()),
        withPhase(b.reshape(own[1], {gates, network.hidden, network.outputs}))};
    if (isDouble)
      operands[0] = inPhases(operands[0], reverse);
    if (network.hasBias)
      operands.push_back(withPhase(b.reshape(own[3], {gates, network.hidden})));
    if (network.projects)
      operands.push_back(own.back());
    for (auto [state, initial] : llvm::enumerate(parts.hx))
      operands.push_back(b.reshape(b.slice(initial, 0, cell, cell + 1),
                                   {network.rows, state == 0 ? network.outputs : network.hidden}));
    if (isDouble && !parts.hx.empty())
      operands.append({operands.back(), b.fullLike(operands.back(), 0)});
    if (parts.lengths)
      operands.push_back(isDouble ? b.make<MulOp>(parts.lengths, b.fullLike(parts.lengths, 2))
                                  : parts.lengths);
    unsigned numStates = parts.numStates + (isDouble ? 2 : 0);
    int32_t numInitial = parts.hx.empty() ? 0 : numStates;
    OperationState state(b.getLoc(), stepsName);
    state.addOperands(operands);
    state.addAttribute("operandSegmentSizes",
                       b.getDenseI32ArrayAttr({1, 1, network.hasBias, network.projects, numInitial,
                                               parts.lengths ? 1 : 0}));
    state.addAttribute("reverse", b.getBoolAttr(reverse));
    state.addAttribute("batch_first", b.getBoolAttr(batchFirst));
    Dims dims = dimsOf(operands[0]);
    dims.back() = network.outputs;
    state.addTypes(makeTensor(dims, element));
    for (unsigned i = 0; i < numStates; ++i)
      state.addTypes(
          makeTensor({network.rows, i == 0 ? network.outputs : network.hidden}, element));
    Operation *steps = b.create(state);
    SmallVector<Value> results(steps->getResults());
    if (isDouble)
      results[0] = ofSecondPhases(results[0], reverse);
    results.truncate(1 + parts.numStates);
    return results;
  }

  Builder &b;
  StringRef stepsName;
  const RecurrentParts &parts;
  Network network;
  bool batchFirst;
};
} // namespace

SmallVector<Value> decomposeRecurrent(Builder &builder, StringRef steps,
                                      const RecurrentParts &parts) {
  return NetworkBuilder(builder, steps, parts).build();
}

} // namespace dlc::dl
