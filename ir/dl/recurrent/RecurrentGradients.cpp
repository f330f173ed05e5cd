//===- RecurrentGradients.cpp - Derivatives of recurrent layers, back through time --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gates of all steps are computed at once, from the hidden states in the layer's result. Only
// the cell of an LSTM and the gradients that pass from step to step are computed one after the
// other. Unless rows have lengths, an LSTM may be replaced by its steps, which keep the gates. The
// steps of a reversed layer are flipped first, so that time runs forward. After the last step of a
// row, its state keeps its value.
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/gradient/Derivation.h"
#include "ir/interfaces/Recurrent.h"

#include <optional>

using namespace mlir;

namespace dlc::dl {

namespace {
/// A layer with its tensors as [T, N, ...], in the order of the steps.
class BackThroughTime {
public:
  explicit BackThroughTime(Derivation &d);
  /// Returns true if the rule covers this form of the op. Otherwise refuses it.
  bool isKnown() const;

  /// Calls `step` for each step, from the last one to the first, with its number and the gradients
  /// of the new states. It returns the gradients of the gates' input part, of the gates' product,
  /// and of the states before the step, without the part that passes through the product.
  template <typename Step> void run(Step step);

  Term select(const Term &x, int64_t t) const { return {d.b.select(x.value(), 0, t), d.b}; }
  /// Gate `g` of [T, N, G H].
  Term gate(const Term &all, int64_t g) const {
    return all.narrowed(2, d.dim(g * units), d.dim(units));
  }
  Term before(const Term &first, const Term &states) const;
  Term stacked(ArrayRef<Value> steps) const { return {d.b.make<StackOp>(steps, 0), d.b}; }
  Term joined(ArrayRef<Term> gates) const;
  /// Returns `inside` for the rows that have step `t`, and `outside` for the others.
  Term kept(int64_t t, const Term &inside, const Term &outside) const {
    return mask ? where(select(*mask, t), inside, outside) : inside;
  }

  /// Returns the product of the hidden states before all steps by the weight, with the bias.
  Term product() const { return times(matrix(hidden)).reshape(x.dims()); }
  /// Returns the product of the hidden states `rows`, [M, H], by the weight, with the bias.
  Term times(const Term &rows) const;
  /// Builds the layer itself, before the op, from `step`, which takes the number of a step and the
  /// states before it and returns the states after it. These replace the results of the op.
  template <typename Step> void runForward(Step step);

  Derivation &d;
  const Recurrence parts;
  int64_t steps = 0, units = 0, outputs = 0, numGates = 0;
  bool isReversed, isBatchFirst;
  std::optional<Term> mask;  // [T, N, 1]
  SmallVector<Term> initial; // the states before the first step
  Term x, hidden, y, dy;     // x: [T, N, G H]; hidden: h before each step

private:
  void setResult(const Term &result);
  Term turned(const Term &of) const;
  Term turnedBack(const Term &of) const;
  Term matrix(const Term &x) const;
};
} // namespace

Term BackThroughTime::turned(const Term &of) const {
  Term byTime = isBatchFirst ? of.permute({1, 0, 2}) : of;
  return isReversed ? byTime.make<FlipOp>(ArrayRef<int64_t>(int64_t(0))) : byTime;
}

Term BackThroughTime::turnedBack(const Term &of) const {
  Term byStep = isReversed ? of.make<FlipOp>(ArrayRef<int64_t>(int64_t(0))) : of;
  return isBatchFirst ? byStep.permute({1, 0, 2}) : byStep;
}

/// Reshapes [T, N, K] to the matrix [T N, K].
Term BackThroughTime::matrix(const Term &of) const {
  Dims dims = of.dims();
  return of.reshape({normalize(dims[0] * dims[1]), dims[2]});
}

/// Returns the states before each step. Those before the first step are `first`.
Term BackThroughTime::before(const Term &first, const Term &states) const {
  Dims one = first.dims();
  one.insert(one.begin(), d.dim(1));
  Term start = first.reshape(one);
  if (steps == 1)
    return start;
  Term rest = states.narrowed(0, d.dim(0), d.dim(steps - 1));
  if (mask) // in a reversed layer the row begins behind steps that are not its own
    rest = where(mask->narrowed(0, d.dim(0), d.dim(steps - 1)), rest, start);
  return {d.b.make<CatOp>(ValueRange{start.value(), rest.value()}, 0), d.b};
}

Term BackThroughTime::joined(ArrayRef<Term> gates) const {
  SmallVector<Value> values;
  for (const Term &gate : gates)
    values.push_back(gate.value());
  return {d.b.make<CatOp>(values, -1), d.b};
}

bool BackThroughTime::isKnown() const {
  if (parts.projection)
    d.refuse("'" + d.op->getName().stripDialect() + "' with a projection",
             "; dlc knows those without");
  else if (steps == 0)
    d.refuse("'" + d.op->getName().stripDialect() + "' over " + text(d.op->getOperand(0)),
             "; give the number of steps by --shapes");
  return !d.refusal();
}

BackThroughTime::BackThroughTime(Derivation &d)
    : d(d), parts(cast<RecurrentOpInterface>(d.op).getRecurrence()), isReversed(parts.reverse),
      isBatchFirst(parts.rowsFirst), x(0.0), hidden(0.0), y(0.0), dy(0.0) {
  steps = asConstant(parts.steps).value_or(0);
  if (!isKnown())
    return;
  units = parts.units;
  outputs = parts.outputs;
  numGates = parts.numGates;
  OpBuilder::InsertPoint end = d.b.saveInsertionPoint();
  d.b.setInsertionPoint(d.op);
  for (unsigned state = 0; state < parts.numStates; ++state)
    initial.push_back(parts.initial.empty() ? d.zeros({parts.rows, d.dim(parts.width(state))})
                                            : d.x(parts.initial[state]));
  x = turned(d.x(0));
  d.b.restoreInsertionPoint(end);
  dy = turned(d.dy(0));
  if (parts.lengths) {
    Term lengths = d.x(*parts.lengths).cast(d.b.getI64Type()).reshape({d.dim(1), parts.rows});
    Term own = d.arange(d.dim(steps)).reshape({d.dim(steps), d.dim(1)}) < lengths;
    Term turn = own.reshape({d.dim(steps), parts.rows, d.dim(1)});
    mask = isReversed ? turn.make<FlipOp>(ArrayRef<int64_t>(int64_t(0))) : turn;
  }
  setResult(turned(d.y()));
}

void BackThroughTime::setResult(const Term &result) {
  y = result;
  hidden = before(initial[0], y);
}

Term BackThroughTime::times(const Term &rows) const {
  Dims flat{d.dim(numGates * units), d.dim(outputs)};
  Term product = rows.make<MatmulOp>(d.x(parts.weight).reshape(flat).transposed());
  return parts.bias ? product + d.x(*parts.bias).reshape({d.dim(numGates * units)}) : product;
}

template <typename Step> void BackThroughTime::runForward(Step step) {
  OpBuilder::InsertPoint end = d.b.saveInsertionPoint();
  d.b.setInsertionPoint(d.op);
  SmallVector<Term> states = initial;
  SmallVector<Value> shown;
  for (int64_t t = 0; t < steps; ++t) {
    states = step(t, states);
    shown.push_back(states[0].value());
  }
  Term made = stacked(shown);
  SmallVector<Value> results = {turnedBack(made).value()};
  for (const Term &state : states)
    results.push_back(state.value());
  d.op->replaceAllUsesWith(results);
  d.b.restoreInsertionPoint(end);
  setResult(made);
}

template <typename Step> void BackThroughTime::run(Step step) {
  SmallVector<Term> worth; // of the states behind the step
  for (unsigned state = 0; state < parts.numStates; ++state)
    worth.push_back(d.dy(1 + state));
  SmallVector<Value> ofX(steps), ofProduct(steps);
  Dims flat{d.dim(numGates * units), d.dim(outputs)};
  Term weight = d.x(parts.weight).reshape(flat);
  for (int64_t t = steps; t-- > 0;) {
    SmallVector<Term> now = worth;
    now[0] = now[0] + select(dy, t);
    SmallVector<Term> made = step(t, now); // gates of x, of the product, then the states before
    Term zeros = d.zeros(made[0].dims());
    Term gatesOfX = kept(t, made[0], zeros), gates = kept(t, made[1], zeros);
    ofX[t] = gatesOfX.value();
    ofProduct[t] = gates.value();
    made[2] = made[2] + gates.make<MatmulOp>(weight);
    for (auto [state, before] : llvm::enumerate(ArrayRef(made).drop_front(2)))
      worth[state] = kept(t, before, worth[state]);
  }
  Term dx = stacked(ofX), dProduct = stacked(ofProduct);
  d.add(0, turnedBack(dx));
  if (d.wants(parts.weight))
    d.add(
        parts.weight,
        matrix(dProduct).transposed().make<MatmulOp>(matrix(hidden)).reshape(d.dims(parts.weight)));
  if (parts.bias && d.wants(*parts.bias))
    d.add(*parts.bias, dProduct.sum({0, 1}, /*keepsDims=*/false).reshape(d.dims(*parts.bias)));
  for (auto [state, operand] : llvm::enumerate(parts.initial))
    d.add(operand, worth[state]);
}

/// Derives an LSTM whose rows have all steps. The forward pass runs step by step and keeps gates
/// and cells: nothing is computed again, and each step finds its tensors in caches.
static void deriveLstm(Derivation &d, BackThroughTime &time) {
  struct Gates {
    Term input, forget, fresh, output, shown, before;
  };
  SmallVector<Gates> kept;
  time.runForward([&](int64_t t, ArrayRef<Term> states) {
    Term all = time.select(time.x, t) + time.times(states[0]);
    auto part = [&](int64_t gate) {
      return all.narrowed(1, d.dim(gate * time.units), d.dim(time.units));
    };
    Term input = part(0).make<SigmoidOp>(), forget = part(1).make<SigmoidOp>(),
         fresh = part(2).make<TanhOp>(), output = part(3).make<SigmoidOp>();
    Term cell = forget * states[1] + input * fresh, shown = cell.make<TanhOp>();
    kept.push_back({input, forget, fresh, output, shown, states[1]});
    return SmallVector<Term>{output * shown, cell};
  });
  time.run([&](int64_t t, ArrayRef<Term> worth) {
    auto &[input, forget, fresh, output, shown, before] = kept[t];
    Term dCell = worth[0] * output * (1.0 - shown * shown) + worth[1];
    Term gates = time.joined(
        {dCell * fresh * input * (1.0 - input), dCell * before * forget * (1.0 - forget),
         dCell * input * (1.0 - fresh * fresh), worth[0] * shown * output * (1.0 - output)});
    return SmallVector<Term>{gates, gates, d.zeros(worth[0].dims()), dCell * forget};
  });
}

static void derive(Derivation &d, LstmStepsOp) {
  BackThroughTime time(d);
  if (!time.isKnown())
    return;
  if (d.choices.keepsGates && !time.mask && (d.dtype().isF32() || d.dtype().isF64()))
    return deriveLstm(d, time);
  Term all = time.x + time.product();
  auto squashed = [&](int64_t gate) { return time.gate(all, gate).make<SigmoidOp>(); };
  Term input = squashed(0), forget = squashed(1), output = squashed(3);
  Term fresh = time.gate(all, 2).make<TanhOp>(), added = input * fresh;
  SmallVector<Value> cells, cellsBefore;
  Term cell = time.initial[1];
  for (int64_t t = 0; t < time.steps; ++t) {
    cellsBefore.push_back(cell.value());
    Term next = time.select(forget, t) * cell + time.select(added, t);
    cell = time.kept(t, next, cell);
    cells.push_back(cell.value());
  }
  Term shown = time.stacked(cells).make<TanhOp>();
  Term ofOutput = shown * output * (1.0 - output), ofCell = output * (1.0 - shown * shown);
  Term ofInput = fresh * input * (1.0 - input), ofFresh = input * (1.0 - fresh * fresh);
  Term ofForget = time.stacked(cellsBefore) * forget * (1.0 - forget);
  time.run([&](int64_t t, ArrayRef<Term> worth) {
    auto at = [&](const Term &of) { return time.select(of, t); };
    Term dCell = worth[0] * at(ofCell) + worth[1];
    Term gates = time.joined(
        {dCell * at(ofInput), dCell * at(ofForget), dCell * at(ofFresh), worth[0] * at(ofOutput)});
    return SmallVector<Term>{gates, gates, d.zeros(worth[0].dims()), dCell * at(forget)};
  });
}

static void derive(Derivation &d, GruStepsOp) {
  BackThroughTime time(d);
  if (!time.isKnown())
    return;
  Term all = time.product();
  auto squashed = [&](int64_t gate) {
    return (time.gate(time.x, gate) + time.gate(all, gate)).make<SigmoidOp>();
  };
  Term reset = squashed(0), update = squashed(1), product = time.gate(all, 2);
  Term fresh = (time.gate(time.x, 2) + reset * product).make<TanhOp>();
  Term ofFresh = (1.0 - update) * (1.0 - fresh * fresh);
  Term ofUpdate = (time.hidden - fresh) * update * (1.0 - update);
  Term ofReset = product * reset * (1.0 - reset);
  time.run([&](int64_t t, ArrayRef<Term> worth) {
    auto at = [&](const Term &of) { return time.select(of, t); };
    Term dFresh = worth[0] * at(ofFresh), dUpdate = worth[0] * at(ofUpdate);
    Term dReset = dFresh * at(ofReset);
    return SmallVector<Term>{time.joined({dReset, dUpdate, dFresh}),
                             time.joined({dReset, dUpdate, dFresh * at(reset)}),
                             worth[0] * at(update)};
  });
}

/// Derives a cell of one gate. `slope` returns the gradient of the gate.
static void deriveRnn(Derivation &d, function_ref<Term(const Term &y, const Term &dy)> slope) {
  BackThroughTime time(d);
  if (!time.isKnown())
    return;
  time.run([&](int64_t t, ArrayRef<Term> worth) {
    Term gate = slope(time.select(time.y, t), worth[0]);
    return SmallVector<Term>{gate, gate, d.zeros(worth[0].dims())};
  });
}
static void derive(Derivation &d, RnnTanhStepsOp) {
  deriveRnn(d, [](const Term &y, const Term &dy) { return dy * (1.0 - y * y); });
}
static void derive(Derivation &d, RnnReluStepsOp) {
  deriveRnn(d, [](const Term &y, const Term &dy) { return where(y <= 0.0, 0.0, dy); });
}

ArrayRef<GradientRule> recurrentGradients() {
  return rulesOf<LstmStepsOp, GruStepsOp, RnnTanhStepsOp, RnnReluStepsOp>();
}

} // namespace dlc::dl
