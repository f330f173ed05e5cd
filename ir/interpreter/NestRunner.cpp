//===- NestRunner.cpp - The loops of one op, run on host tensors --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/interpreter/NestRunner.h"

#include "ir/interpreter/ScalarTape.h"
#include "ir/interpreter/TensorReader.h"
#include "ir/scalar/Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace dlc {

int64_t evaluateDim(AffineExpr dim, ArrayRef<int64_t> symbols) {
  SmallVector<AffineExpr> values;
  for (int64_t symbol : symbols)
    values.push_back(getAffineConstantExpr(symbol, dim.getContext()));
  AffineExpr value = simplifyAffineExpr(dim.replaceSymbols(values), 0, 0);
  assert(isa<AffineConstantExpr>(value) && "every symbol of a dim is bound");
  return cast<AffineConstantExpr>(value).getValue();
}

namespace {

int64_t product(ArrayRef<int64_t> extents) {
  int64_t count = 1;
  for (int64_t extent : extents)
    count *= extent;
  return count;
}

/// One accumulator for each place of a block, and the same for all places once they are done.
struct Accumulator {
  Combiner combiner;
  bool isFloat = false; // of the terms
  bool isUnsigned = false;
  unsigned width = 0; // of integer terms
  Lanes lanes;        // argmax: positions
  Lanes best;         // argmax: the largest term so far
  std::vector<double> floats;
  std::vector<int64_t> ints;

  bool givesFloat() const { return isFloat && !givesPosition(combiner); }
  /// The accumulator over no terms.
  void clear(int64_t count);
  /// Folds in term number `position`.
  void fold(const Lanes &terms, int64_t position, int64_t count);
};

void Accumulator::clear(int64_t count) {
  if (givesPosition(combiner)) {
    std::fill_n(lanes.ints, count, 0);
    return;
  }
  if (isFloat) {
    double infinity = std::numeric_limits<double>::infinity();
    std::fill_n(lanes.floats, count,
                combiner == Combiner::add   ? 0.0
                : combiner == Combiner::mul ? 1.0
                : combiner == Combiner::max ? -infinity
                                            : infinity);
    return;
  }
  int64_t lowest = isUnsigned ? 0 : llvm::minIntN(width);
  int64_t highest =
      isUnsigned ? llvm::SignExtend64(llvm::maxUIntN(width), width) : llvm::maxIntN(width);
  std::fill_n(lanes.ints, count,
              combiner == Combiner::add   ? 0
              : combiner == Combiner::mul ? 1
              : combiner == Combiner::max ? lowest
                                          : highest);
}

/// b takes the place of a: NaN wins, and +0 is larger than -0.
bool isLarger(double b, double a) {
  if (std::isnan(a) || std::isnan(b))
    return !std::isnan(a);
  return b > a || (b == a && std::signbit(a) && !std::signbit(b));
}

void Accumulator::fold(const Lanes &terms, int64_t position, int64_t count) {
  auto larger = [&](int64_t b, int64_t a) {
    return isUnsigned ? static_cast<uint64_t>(b) > static_cast<uint64_t>(a) : b > a;
  };
  switch (combiner) {
  case Combiner::add:
    if (isFloat)
      for (int64_t i = 0; i < count; ++i)
        lanes.floats[i] += terms.floats[i];
    else
      for (int64_t i = 0; i < count; ++i)
        lanes.ints[i] =
            llvm::SignExtend64(static_cast<uint64_t>(lanes.ints[i]) + terms.ints[i], width);
    return;
  case Combiner::mul:
    if (isFloat)
      for (int64_t i = 0; i < count; ++i)
        lanes.floats[i] *= terms.floats[i];
    else
      for (int64_t i = 0; i < count; ++i)
        lanes.ints[i] =
            llvm::SignExtend64(static_cast<uint64_t>(lanes.ints[i]) * terms.ints[i], width);
    return;
  case Combiner::max:
  case Combiner::min: {
    bool isMax = combiner == Combiner::max;
    for (int64_t i = 0; i < count; ++i)
      if (isFloat) {
        double a = lanes.floats[i], b = terms.floats[i];
        if (isMax ? isLarger(b, a) : isLarger(-b, -a))
          lanes.floats[i] = b;
      } else if (isMax ? larger(terms.ints[i], lanes.ints[i])
                       : larger(lanes.ints[i], terms.ints[i])) {
        lanes.ints[i] = terms.ints[i];
      }
    return;
  }
  case Combiner::argmax:
  case Combiner::argmin: {
    bool isMax = combiner == Combiner::argmax;
    for (int64_t i = 0; i < count; ++i) {
      // -0 and +0 are equal here: the first of them stays.
      bool wins = position == 0;
      if (isFloat)
        wins |= (isMax ? terms.floats[i] > best.floats[i] : terms.floats[i] < best.floats[i]) ||
                (std::isnan(terms.floats[i]) && !std::isnan(best.floats[i]));
      else
        wins |= isMax ? larger(terms.ints[i], best.ints[i]) : larger(best.ints[i], terms.ints[i]);
      if (!wins)
        continue;
      lanes.ints[i] = position;
      if (isFloat)
        best.floats[i] = terms.floats[i];
      else
        best.ints[i] = terms.ints[i];
    }
    return;
  }
  }
}

/// Runs the loops of one op.
class NestRunner {
public:
  NestRunner(LoopNestOpInterface op, ArrayRef<Tensor> operands, ArrayRef<int64_t> symbols)
      : op(op), operands(operands), symbols(symbols), nest(op.getLoopNest()),
        resultType(cast<RankedTensorType>(op->getResult(0).getType())) {
    for (AffineExpr dim : nest.parallel)
      extents.push_back(evaluateDim(dim, symbols));
    for (AffineExpr dim : nest.reduction)
      reductionExtents.push_back(evaluateDim(dim, symbols));
    outerExtents = extents;
    llvm::SmallBitVector inner = nest.innerDims();
    for (unsigned dim : inner.set_bits())
      outerExtents[dim] = 1;
    numTerms = product(reductionExtents);
    nest.indexDims.resize(nest.numLoops());
  }

  Tensor run() {
    if (!nest.isMap())
      runStages();
    return formResults();
  }

private:
  /// Which body to compile: the term of a stage, or the result.
  static constexpr int kResult = -1;
  ScalarTape compile(int stage);
  using Body = llvm::function_ref<Value(BodyContext &, ValueRange args, ValueRange accs)>;
  /// Of the values of the first `numAccesses` accesses and the first `numAccs` accumulators.
  ScalarTape compile(bool isTerm, unsigned numAccesses, unsigned numAccs, Body emit);
  /// The computed indices of one access.
  struct Coordinate {
    unsigned dim;
    ScalarTape tape;
  };
  using Coordinates = std::vector<SmallVector<Coordinate, 0>>;
  Coordinates coordinatesOf(bool isTerm);
  /// Reads all accesses into the first arguments of `tape`.
  void readAll(std::vector<TensorReader> &readers, Coordinates &coordinates, int64_t term,
               int64_t count, ScalarTape &tape);
  void runStages();
  void runStage(unsigned stage, std::vector<TensorReader> &readers, int64_t count);
  Tensor formResults();
  std::vector<TensorReader> readersOf(ArrayRef<Access> accesses) {
    std::vector<TensorReader> readers;
    for (const Access &access : accesses)
      readers.emplace_back(access, operands[access.operand], extents.size(), symbols);
    return readers;
  }
  /// Puts the index values that bodies read behind the other arguments of the tape.
  void setIndexArguments(ScalarTape &tape, unsigned first, int64_t count) {
    for (unsigned loop : nest.indexDims.set_bits())
      if (loop < extents.size())
        std::copy_n(places[loop].begin(), count, tape.argument(first++).ints);
  }
  /// The same for those of reduction dims, which stand behind them.
  void setTermArguments(ScalarTape &tape, unsigned first, int64_t term, int64_t count) {
    for (unsigned loop : nest.indexDims.set_bits())
      if (loop < extents.size())
        ++first;
      else
        std::fill_n(tape.argument(first++).ints, count, terms[loop - extents.size()][term]);
  }

  LoopNestOpInterface op;
  ArrayRef<Tensor> operands;
  ArrayRef<int64_t> symbols;
  LoopNest nest;
  RankedTensorType resultType;
  SmallVector<int64_t> extents, reductionExtents, outerExtents;
  int64_t numTerms = 1;
  SmallVector<ScalarTape, 2> termTapes;
  Coordinates termCoordinates;
  std::vector<Accumulator> accumulators;
  Indices places, terms;
};

ScalarTape NestRunner::compile(bool isTerm, unsigned numAccesses, unsigned numAccs, Body emit) {
  MLIRContext *context = op->getContext();
  ArrayRef<Access> accesses = ArrayRef(isTerm ? nest.terms : nest.results).take_front(numAccesses);
  Block body;
  for (const Access &access : accesses) {
    // Constants of a body take the type of the values that it gets, so f64 makes them exact to
    // double as well.
    Type element = computeType(operands[access.operand].getElementType());
    body.addArgument(isa<FloatType>(element) ? Float64Type::get(context) : element, op.getLoc());
  }
  for (const Accumulator &accumulator : ArrayRef(accumulators).take_front(numAccs)) {
    Type type = accumulator.givesFloat() ? Type(Float64Type::get(context))
                : givesPosition(accumulator.combiner)
                    ? Type(IntegerType::get(context, 64))
                    : Type(IntegerType::get(context, accumulator.width));
    body.addArgument(type, op.getLoc());
  }
  SmallVector<Value> indices(isTerm ? nest.numLoops() : nest.parallel.size());
  for (unsigned loop : nest.indexDims.set_bits())
    if (loop < indices.size())
      indices[loop] = body.addArgument(IndexType::get(context), op.getLoc());
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(&body);
  auto extent = [&](AffineExpr dim) -> Value {
    return arith::ConstantIndexOp::create(builder, op.getLoc(), evaluateDim(dim, symbols));
  };
  ArrayRef<Value> loops(indices);
  BodyContext bodyContext{builder, op.getLoc(), loops.take_front(nest.parallel.size()), extent,
                          loops.drop_front(nest.parallel.size())};
  ValueRange values = body.getArguments();
  return ScalarTape(
      body, emit(bodyContext, values.take_front(numAccesses), values.slice(numAccesses, numAccs)));
}

ScalarTape NestRunner::compile(int stage) {
  if (stage == kResult)
    return compile(/*isTerm=*/false, nest.results.size(), nest.stages.size(),
                   [&](BodyContext &context, ValueRange args, ValueRange accs) {
                     return op.emitResult(context, args, accs);
                   });
  return compile(/*isTerm=*/true, nest.terms.size(), stage,
                 [&](BodyContext &context, ValueRange args, ValueRange accs) {
                   Value term = op.emitTerm(context, stage, args, accs);
                   Accumulator &accumulator = accumulators[stage];
                   accumulator.isFloat = isa<FloatType>(term.getType());
                   if (!accumulator.isFloat) {
                     accumulator.width = term.getType().getIntOrFloatBitWidth();
                     Type element = operands[nest.terms.front().operand].getElementType();
                     accumulator.isUnsigned = scalarKind(element) != ScalarKind::signedInt;
                   }
                   return term;
                 });
}

NestRunner::Coordinates NestRunner::coordinatesOf(bool isTerm) {
  Coordinates all;
  for (auto [number, access] : llvm::enumerate(isTerm ? nest.terms : nest.results)) {
    all.emplace_back();
    for (unsigned dim : access.computed.set_bits())
      all.back().push_back(
          {dim,
           compile(isTerm, number, 0, [&](BodyContext &context, ValueRange earlier, ValueRange) {
             return op.emitCoordinate(context, isTerm, number, dim, earlier);
           })});
  }
  return all;
}

void NestRunner::readAll(std::vector<TensorReader> &readers, Coordinates &coordinates, int64_t term,
                         int64_t count, ScalarTape &tape) {
  for (auto [number, reader] : llvm::enumerate(readers)) {
    for (Coordinate &coordinate : coordinates[number]) {
      for (unsigned earlier = 0; earlier < number; ++earlier)
        coordinate.tape.argument(earlier) = tape.argument(earlier);
      setIndexArguments(coordinate.tape, number, count);
      if (&coordinates == &termCoordinates)
        setTermArguments(coordinate.tape, number, term, count);
      reader.setCoordinates(coordinate.dim, coordinate.tape.run(count).ints);
    }
    reader.read(term, tape.argument(number));
  }
}

void NestRunner::runStages() {
  accumulators.resize(nest.stages.size());
  for (unsigned stage = 0; stage < nest.stages.size(); ++stage) {
    accumulators[stage].combiner = nest.stages[stage];
    termTapes.push_back(compile(stage));
  }
  int64_t total = product(outerExtents);
  for (Accumulator &accumulator : accumulators)
    if (accumulator.givesFloat())
      accumulator.floats.resize(total);
    else
      accumulator.ints.resize(total);
  std::vector<TensorReader> readers = readersOf(nest.terms);
  termCoordinates = coordinatesOf(/*isTerm=*/true);
  for (int64_t first = 0; first < total; first += kBlock) {
    int64_t count = std::min(kBlock, total - first);
    unravel(first, count, outerExtents, places);
    for (TensorReader &reader : readers)
      reader.setPlaces(places, count);
    for (unsigned stage = 0; stage < nest.stages.size(); ++stage) {
      runStage(stage, readers, count);
      Accumulator &accumulator = accumulators[stage];
      if (accumulator.givesFloat())
        std::copy_n(accumulator.lanes.floats, count, accumulator.floats.begin() + first);
      else
        std::copy_n(accumulator.lanes.ints, count, accumulator.ints.begin() + first);
    }
  }
}

void NestRunner::runStage(unsigned stage, std::vector<TensorReader> &readers, int64_t count) {
  Accumulator &accumulator = accumulators[stage];
  ScalarTape &tape = termTapes[stage];
  accumulator.clear(count);
  for (unsigned before = 0; before < stage; ++before)
    tape.argument(readers.size() + before) = accumulators[before].lanes;
  unsigned firstIndex = readers.size() + stage;
  setIndexArguments(tape, firstIndex, count);
  bool isProduct = nest.isProduct && accumulator.isFloat;
  for (int64_t first = 0; first < numTerms; first += kBlock) {
    int64_t chunk = std::min(kBlock, numTerms - first);
    // One chunk of terms stays as it is for all blocks of places.
    if (numTerms > kBlock || terms.empty()) {
      unravel(first, chunk, reductionExtents, terms);
      for (TensorReader &reader : readers)
        reader.setTerms(terms, chunk);
    }
    for (int64_t term = 0; term < chunk; ++term) {
      if (isProduct) {
        TensorReader::multiplyAdd(readers[0], readers[1], term, accumulator.lanes.floats);
        continue;
      }
      readAll(readers, termCoordinates, term, count, tape);
      setTermArguments(tape, firstIndex, term, count);
      accumulator.fold(tape.run(count), first + term, count);
    }
  }
}

Tensor NestRunner::formResults() {
  Type element = resultType.getElementType();
  Tensor result(element, extents);
  ScalarTape tape = compile(kResult);
  std::vector<TensorReader> readers = readersOf(nest.results);
  Coordinates coordinates = coordinatesOf(/*isTerm=*/false);
  const Indices noTerms;
  SmallVector<int64_t> outerStrides(extents.size(), 0);
  int64_t stride = 1;
  for (int64_t dim = static_cast<int64_t>(extents.size()) - 1; dim >= 0; --dim) {
    outerStrides[dim] = outerExtents[dim] == extents[dim] ? stride : 0;
    stride *= outerExtents[dim];
  }
  int64_t total = result.size(), outer[kBlock];
  for (int64_t first = 0; first < total; first += kBlock) {
    int64_t count = std::min(kBlock, total - first);
    unravel(first, count, extents, places);
    for (TensorReader &reader : readers) {
      reader.setPlaces(places, count);
      reader.setTerms(noTerms, 1);
    }
    readAll(readers, coordinates, 0, count, tape);
    if (!accumulators.empty()) {
      std::fill_n(outer, count, 0);
      for (size_t dim = 0; dim < extents.size(); ++dim)
        for (int64_t i = 0; i < count; ++i)
          outer[i] += places[dim][i] * outerStrides[dim];
    }
    for (auto [position, accumulator] : llvm::enumerate(accumulators)) {
      Lanes &argument = tape.argument(readers.size() + position);
      for (int64_t i = 0; i < count; ++i)
        if (accumulator.givesFloat())
          argument.floats[i] = accumulator.floats[outer[i]];
        else
          argument.ints[i] = accumulator.ints[outer[i]];
    }
    setIndexArguments(tape, readers.size() + accumulators.size(), count);
    const Lanes &lanes = tape.run(count);
    if (result.isFloat())
      std::copy_n(lanes.floats, count, result.floats().begin() + first);
    else
      for (int64_t i = 0; i < count; ++i)
        result.ints()[first + i] = wrapTo(cast<IntegerType>(element), lanes.ints[i]);
  }
  return result;
}

} // namespace

Tensor runLoopNest(LoopNestOpInterface op, ArrayRef<Tensor> operands, ArrayRef<int64_t> symbols) {
  return NestRunner(op, operands, symbols).run();
}

} // namespace dlc
