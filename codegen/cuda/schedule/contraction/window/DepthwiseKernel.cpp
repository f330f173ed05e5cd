//===- DepthwiseKernel.cpp - Convolutions of few channels each ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls depthwise (dlc_depthwise.cuh): where groups are as small as a channel or a few, each thread
// computes a strip of neighbouring results.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/KernelTemplate.h"
#include "codegen/cuda/schedule/Lanes.h"
#include "codegen/cuda/schedule/Places.h"
#include "codegen/cuda/schedule/contraction/ContractionPlans.h"
#include "codegen/cuda/schedule/contraction/window/DepthwiseChoice.h"
#include "ir/kernel/Sides.h"
#include "ir/scalar/ScalarFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace dlc::codegen {

/// Groups of more channels are left to one thread a result: the strip would read every filter
/// alone.
static constexpr int64_t kMostDepth = 64;
/// What an unbounded or changing extent is taken for.
static constexpr int64_t kUsualExtent = 64;
/// Instructions of an epilogue, over a whole strip, beyond which it is called from one place.
static constexpr int64_t kMostEpilogue = 512, kOfMathFunction = 20;

namespace {
class DepthwiseSchedule {
public:
  explicit DepthwiseSchedule(KernelBuilder &k) : k(k), nest(k.body.getNest()) {}

  /// False where the loops are no such convolution, and nothing has been done.
  bool find();
  void run();
  /// Clocks that the strips are estimated to take.
  double clocks();

private:
  /// A dim of the result along which the window slides, and the reduction over its taps.
  struct Slide {
    unsigned dim, tap;
    int64_t taps, stride, dilation;
    int64_t padding; // before the image's first element; negative where some of these are not read
    unsigned imageDim; // of the image
  };
  bool findSlides(const Sides &sides);
  /// What the term reads, if that is one element.
  struct Read {
    unsigned input;
    AffineExpr offset;
  };
  std::optional<Read> readOf(unsigned term) const;
  Value tensorOf(unsigned term) const {
    return k.body.getRoot()->getOperand(nest.terms[term].operand);
  }
  bool isPlain(unsigned term);
  bool liesTogether(AffineExpr offset, AffineExpr variable, int64_t count) const;
  /// `count` neighbours along a row of the image are one aligned vector in memory that is inside
  /// the image or outside, from the tap that reads the first element of a row on.
  bool liesAlong(int64_t count) const;
  WindowShape windowOf(const std::optional<Slide> &slide) const;
  DepthwiseShape shape();
  void bindTaps(ValueRange at);
  void give(unsigned term, bool isPlainTerm);
  void finish(dlk::CallOp call, bool across);
  int64_t costOfEpilogue(dlk::CallOp call) const;

  KernelBuilder &k;
  const LoopNest &nest;
  unsigned channel = 0;
  std::optional<Slide> rows, columns;
  std::optional<unsigned> depth;
  SmallVector<AffineExpr> variables; // of all loops
  SmallVector<unsigned> order;       // of the result's dims, outermost in memory first
  Strip strip;
  Value first[3]; // row, column and channel of the thread's strip
};
} // namespace

static Type elementOf(Value tensor) { return getElementTypeOrSelf(tensor.getType()); }

/// The filter's dims and the image's tell the roles of the loops.
bool DepthwiseSchedule::findSlides(const Sides &sides) {
  unsigned numParallel = nest.parallel.size();
  AffineMap image = nest.terms[0].map;
  if (sides.columns.any() || sides.batch.count() != 1)
    return false;
  channel = sides.batch.find_first();

  SmallVector<Slide> slides;
  llvm::SmallBitVector taken(nest.reduction.size());
  for (auto [imageDim, expr] : llvm::enumerate(image.getResults())) {
    if (expr.isFunctionOfDim(channel))
      continue;
    for (unsigned dim = 0; dim < numParallel; ++dim)
      for (unsigned tap = 0; tap < nest.reduction.size(); ++tap) {
        if (!expr.isFunctionOfDim(dim) || !expr.isFunctionOfDim(numParallel + tap))
          continue;
        SmallVector<AffineExpr> loops(variables);
        AffineExpr at = k.math.simplify(expr.replaceDims(loops));
        auto stride = k.math.stepAlong(at, variables[dim]),
             dilation = k.math.stepAlong(at, variables[numParallel + tap]);
        auto taps = dl::asConstant(nest.reduction[tap]);
        AffineExpr zero = k.math.constant(0);
        llvm::DenseMap<AffineExpr, AffineExpr> atZero = {{variables[dim], zero},
                                                         {variables[numParallel + tap], zero}};
        auto first = dl::asConstant(k.math.simplify(at.replace(atZero)));
        if (!stride || !dilation || !taps || *stride < 1 || *dilation < 1 || *taps < 1 ||
            taken.test(tap))
          return false;
        taken.set(tap);
        slides.push_back(
            {dim, tap, *taps, *stride, *dilation, first ? -*first : -1, unsigned(imageDim)});
      }
  }
  if (slides.empty() || slides.size() > 2)
    return false;
  columns = slides.back();
  if (slides.size() == 2)
    rows = slides.front();
  for (unsigned loop = 0; loop < nest.reduction.size(); ++loop) {
    if (taken.test(loop))
      continue;
    if (dl::isConstant(nest.reduction[loop], 1)) {
      variables[numParallel + loop] = k.math.constant(0);
      continue;
    }
    auto extent = dl::asConstant(nest.reduction[loop]);
    if (depth || !extent || *extent > kMostDepth)
      return false;
    depth = loop;
  }
  return true;
}

bool DepthwiseSchedule::find() {
  auto sides = findSides(nest);
  if (!sides || !nest.isWindow())
    return false;
  Type type = elementOf(tensorOf(0));
  if (!(type.isF32() || type.isF16() || type.isBF16()) || elementOf(tensorOf(1)) != type ||
      !k.body.accumulatorType(0).isF32() || nest.terms[0].isComputed() ||
      nest.terms[1].isComputed())
    return false;
  for (AffineExpr extent : nest.parallel)
    variables.push_back(k.math.addLoop(extent));
  for (AffineExpr extent : nest.reduction)
    variables.push_back(k.math.addLoop(extent));
  order = k.body.memoryOrder();
  return findSlides(*sides);
}

std::optional<DepthwiseSchedule::Read> DepthwiseSchedule::readOf(unsigned term) const {
  SmallVector<AffineExpr> at;
  for (AffineExpr expr : nest.terms[term].map.getResults())
    at.push_back(k.math.simplify(expr.replaceDims(variables)));
  SmallVector<Read> reads;
  k.body.visitReads(tensorOf(term), at, [&](unsigned input, AffineExpr offset, bool) {
    reads.push_back({input, offset});
    return true;
  });
  return reads.size() == 1 ? std::optional(reads.front()) : std::nullopt;
}

/// The term is an element of an input, or 0, and not computed from it.
bool DepthwiseSchedule::isPlain(unsigned term) {
  if (!readOf(term))
    return false;
  // Emitted to be looked at.
  Block scratch;
  OpBuilder::InsertionGuard guard(k.b);
  k.b.setInsertionPointToStart(&scratch);
  for (AffineExpr variable : variables)
    if (isa<AffineDimExpr>(variable))
      k.math.bindLoop(variable, scratch.addArgument(k.b.getIndexType(), k.loc));
  Type stored = storageType(elementOf(tensorOf(term)));
  bool plain = isPlace(k.body.emitTermRead(k.b, term, variables),
                       [&](Value element) { return loadOf(element, stored); });
  scratch.dropAllDefinedValueUses();
  return plain;
}

/// `count` neighbours along `variable`, from a multiple of that on, are one aligned vector in
/// memory.
bool DepthwiseSchedule::liesTogether(AffineExpr offset, AffineExpr variable, int64_t count) const {
  llvm::DenseMap<AffineExpr, AffineExpr> toWhole = {{variable, variable * count}};
  return k.math.strideAlong(offset, variable) == Stride::unit &&
         k.math.simplify(offset.replace(toWhole)).isMultipleOf(count);
}

bool DepthwiseSchedule::liesAlong(int64_t count) const {
  AffineExpr tap = variables[nest.parallel.size() + columns->tap], column = variables[columns->dim];
  AffineExpr row = dl::getDims(cast<RankedTensorType>(tensorOf(0).getType()))[columns->imageDim];
  auto read = readOf(0);
  if (!read || columns->dilation != 1 || columns->padding < 0 ||
      columns->padding >= columns->taps || !row.isMultipleOf(count) ||
      k.math.strideAlong(read->offset, tap) != Stride::unit)
    return false;
  llvm::DenseMap<AffineExpr, AffineExpr> atVector = {{tap, k.math.constant(columns->padding)},
                                                     {column, column * count}};
  return k.math.simplify(read->offset.replace(atVector)).isMultipleOf(count);
}

WindowShape DepthwiseSchedule::windowOf(const std::optional<Slide> &slide) const {
  if (!slide)
    return {1, 1, 1, 1};
  auto usual = k.math.usual(nest.parallel[slide->dim]);
  int64_t extent = usual ? *usual : k.largest(nest.parallel[slide->dim]).value_or(kUsualExtent);
  return {std::min<int64_t>(extent, 4096), slide->taps, slide->stride, slide->dilation};
}

DepthwiseShape DepthwiseSchedule::shape() {
  auto of = [&](bool largest) {
    int64_t images = 1;
    for (unsigned dim = 0; dim < nest.parallel.size(); ++dim) {
      if (dim == channel || dim == columns->dim || (rows && dim == rows->dim))
        continue;
      auto extent = k.math.usual(nest.parallel[dim]);
      if (!extent)
        extent = largest ? k.largest(nest.parallel[dim]) : k.smallest(nest.parallel[dim]);
      images *= std::clamp<int64_t>(extent.value_or(kUsualExtent), 1, 4096);
    }
    return images;
  };
  AffineExpr channels = nest.parallel[channel];
  int64_t elementBytes = elementOf(tensorOf(0)).getIntOrFloatBitWidth() / 8;
  // The image's and the result's channels, which a thread takes together, must lie together.
  int64_t lanes = 1;
  if (isPlain(0))
    for (int64_t count = 16 / elementBytes; count > 1 && lanes == 1; count /= 2)
      if (channels.isMultipleOf(count) &&
          liesTogether(readOf(0)->offset, variables[channel], count) &&
          liesTogether(k.resultOffset(ArrayRef(variables).take_front(nest.parallel.size())),
                       variables[channel], count) &&
          !k.body.termNeedsScalarAlong(variables[channel], 0, variables))
        lanes = count;
  int64_t along = lanes == 1 && isPlain(0) ? 16 / elementBytes : 1;
  while (along > 1 && !liesAlong(along))
    along /= 2;
  return {windowOf(rows),
          windowOf(columns),
          k.largest(channels).value_or(kUsualExtent),
          depth ? *dl::asConstant(nest.reduction[*depth]) : 1,
          of(false),
          of(true),
          elementBytes,
          lanes,
          order.back() == channel,
          along};
}

/// Binds the reduction loops and the window's dims: `at` is rc, rh, rw, then th and tw where the
/// image is read.
void DepthwiseSchedule::bindTaps(ValueRange at) {
  unsigned numParallel = nest.parallel.size();
  auto bind = [&](unsigned loop, Value value) {
    k.math.bindLoop(variables[numParallel + loop], value);
  };
  if (depth)
    bind(*depth, at[0]);
  if (rows)
    bind(rows->tap, at[1]);
  bind(columns->tap, at[2]);
  if (at.size() < 5)
    return;
  if (rows)
    k.math.bindLoop(variables[rows->dim], k.named(k.add(first[0], at[3]), "h"));
  k.math.bindLoop(variables[columns->dim], k.named(k.add(first[1], at[4]), "w"));
}

void DepthwiseSchedule::give(unsigned term, bool isPlainTerm) {
  Value value = k.body.emitTermRead(k.b, term, variables);
  Type stored = storageType(elementOf(tensorOf(term)));
  if (isPlainTerm)
    value = placeOf(value, [&](Value element) { return loadOf(element, stored); });
  dlk::GiveOp::create(k.b, k.loc, value);
}

void DepthwiseSchedule::finish(dlk::CallOp call, bool across) {
  OpBuilder::InsertionGuard guard(k.b);
  Type index = k.b.getIndexType();
  int64_t width = across ? strip.columns : strip.lanes;
  Block &block =
      dlk::beginBody(k.b, call, 2, {index, index, VectorType::get({width}, k.b.getF32Type())});
  if (rows)
    k.math.bindLoop(variables[rows->dim], k.named(k.add(first[0], block.getArgument(0)), "h"));
  Value column = k.named(k.add(first[1], block.getArgument(1)), "w");
  k.math.bindLoop(variables[columns->dim], column);
  k.math.bindLoop(variables[channel], first[2]);
  ArrayRef<AffineExpr> indices = ArrayRef(variables).take_front(nest.parallel.size());
  auto total = [&](OpFoldResult lane) -> Value {
    return vector::ExtractOp::create(k.b, k.loc, block.getArgument(2), lane);
  };
  if (width == 1) {
    Value value = k.body.emitResult(k.b, indices, total(k.b.getIndexAttr(0)));
    k.store(k.resultOffset(indices), value);
  } else {
    unsigned dim = across ? columns->dim : channel;
    storeLanes(k, width, variables[dim], nest.parallel[dim], across ? column : first[2], indices,
               [&](Value lane) { return k.body.emitResult(k.b, indices, total(lane)); });
  }
  dlk::GiveOp::create(k.b, k.loc, Value());
}

int64_t DepthwiseSchedule::costOfEpilogue(dlk::CallOp call) const {
  int64_t cost = 0;
  call.getBodies()[2].walk([&](Operation *op) {
    bool isFloat = op->getNumResults() == 1 && isa<FloatType>(op->getResult(0).getType());
    bool isMath = isa_and_nonnull<math::MathDialect, dls::DLSDialect>(op->getDialect());
    cost += isMath ? kOfMathFunction : isFloat;
  });
  return cost * strip.results();
}

void DepthwiseSchedule::run() {
  DepthwiseShape all = shape();
  strip = chooseStrip(all, k.gpu(kAmpere));
  bool isPlainImage = isPlain(0), isPlainFilter = isPlain(1);
  bool together = strip.lanes > 1 && isPlainFilter &&
                  liesTogether(readOf(1)->offset, variables[channel], strip.lanes);
  ArrayRef<AffineExpr> indices = ArrayRef(variables).take_front(nest.parallel.size());
  bool across = strip.lanes == 1 && strip.columns > 1 && order.back() == columns->dim &&
                nest.parallel[columns->dim].isMultipleOf(strip.columns) &&
                liesTogether(k.resultOffset(indices), variables[columns->dim], strip.columns);

  // The threads walk strips as the result lies in memory.
  SmallVector<DimGroup> groups;
  SmallVector<std::string> roles = resultRoles(nest.parallel.size());
  auto perThread = [&](unsigned dim) {
    return dim == channel             ? strip.lanes
           : dim == columns->dim      ? strip.columns
           : rows && dim == rows->dim ? strip.rows
                                      : int64_t(1);
  };
  for (unsigned dim : order) {
    int64_t count = perThread(dim);
    AffineExpr extent = count > 1 ? k.ceilDiv(nest.parallel[dim], count) : nest.parallel[dim];
    if (dl::isConstant(extent, 1))
      continue;
    AffineExpr variable = count > 1 ? k.math.addLoop(extent) : variables[dim];
    groups.push_back({{dim}, extent, variable, roles[dim] + (count > 1 ? "_strip" : "")});
  }
  AffineExpr total = totalExtent(k.math, groups);
  Value block = k.block(gpu::Dimension::x, "block");
  Value position = k.named(k.add(k.mul(block, Strip::threads), k.thread()), "i");
  k.when(k.less(position, k.index(total)), [&] {
    for (unsigned dim = 0; dim < nest.parallel.size(); ++dim)
      k.math.bindLoop(variables[dim], k.index(0));
    k.bindFlat(position, groups);
    for (const DimGroup &group : groups)
      if (int64_t count = perThread(group.dims.front()); count > 1)
        k.math.bindLoop(
            variables[group.dims.front()],
            k.named(k.mul(k.index(group.variable), count), roles[group.dims.front()] + "0"));
    first[0] = rows ? k.index(variables[rows->dim]) : k.index(0);
    first[1] = k.index(variables[columns->dim]);
    first[2] = k.index(variables[channel]);
    auto left = [&](unsigned dim) -> Value {
      return arith::SubIOp::create(k.b, k.loc, k.index(nest.parallel[dim]),
                                   k.index(variables[dim]));
    };
    auto buffer = [&](unsigned term, bool isPlainTerm) -> Value {
      if (isPlainTerm)
        return k.input(readOf(term)->input);
      return ub::PoisonOp::create(
          k.b, k.loc,
          MemRefType::get({ShapedType::kDynamic}, storageType(elementOf(tensorOf(term)))));
    };
    SmallVector<Value> values = {rows ? left(rows->dim) : k.index(1), left(columns->dim),
                                 buffer(0, isPlainImage), buffer(1, isPlainFilter)};
    auto names = [&](ArrayRef<StringRef> list) -> Attribute { return k.b.getStrArrayAttr(list); };
    auto call = dlk::CallOp::create(
        k.b, k.loc, "depthwise", "dlc_depthwise.cuh", storageType(elementOf(tensorOf(0))),
        k.b.getDictionaryAttr({}),
        k.b.getArrayAttr({names({"rc", "rh", "rw", "th", "tw"}), names({"rc", "rh", "rw", "e"}),
                          names({"th", "tw", "total"})}),
        values, /*exchange=*/Value(), /*bodiesCount=*/3);
    Type index = k.b.getIndexType();
    {
      OpBuilder::InsertionGuard guard(k.b);
      Block &body = dlk::beginBody(k.b, call, 0, SmallVector<Type>(5, index));
      bindTaps(body.getArguments());
      give(0, isPlainImage);
    }
    {
      OpBuilder::InsertionGuard guard(k.b);
      Block &body = dlk::beginBody(k.b, call, 1, SmallVector<Type>(4, index));
      bindTaps(body.getArguments());
      k.math.bindLoop(variables[channel], k.add(first[2], body.getArgument(3)));
      give(1, isPlainFilter);
    }
    finish(call, across);
    SmallVector<NamedAttribute> config;
    auto number = [&](StringRef name, int64_t value) {
      config.push_back(k.b.getNamedAttr(name, k.b.getI64IntegerAttr(value)));
    };
    auto isWhole = [&](const std::optional<Slide> &slide, int64_t count) {
      return !slide || nest.parallel[slide->dim].isMultipleOf(count);
    };
    number("threads", Strip::threads);
    number("rows", strip.rows);
    number("columns", strip.columns);
    number("lanes", strip.lanes);
    number("depth", all.depth);
    number("taps_h", all.rows.taps);
    number("taps_w", all.columns.taps);
    number("stride_h", all.rows.stride);
    number("stride_w", all.columns.stride);
    number("dilation_h", all.rows.dilation);
    number("dilation_w", all.columns.dilation);
    number("whole_h", isWhole(rows, strip.rows));
    number("whole_w", isWhole(columns, strip.columns));
    number("across", across);
    number("along_x", isPlainImage ? alongOf(strip, all) : 1);
    number("first_x", columns->padding);
    number("staged", costOfEpilogue(call) > kMostEpilogue);
    number("width_x", isPlainImage ? strip.lanes : 0);
    number("width_w", !isPlainFilter ? 0 : together ? strip.lanes : 1);
    call.setConfigAttr(k.b.getDictionaryAttr(config));
  });
  k.finish(Strip::threads, {k.ceilDiv(total, Strip::threads)});
}

double DepthwiseSchedule::clocks() {
  const GpuModel &gpu = k.gpu();
  DepthwiseShape all = shape();
  return estimatedClocks(chooseStrip(all, k.gpu(kAmpere)), all, all.most, gpu);
}

static dlx::PlanAttr match(PlanQuestion &question) {
  if (question.kind() != dlx::KernelKind::contraction || question.product() ||
      question.hasSeveralResults())
    return {};
  DepthwiseSchedule schedule(question.k);
  if (!schedule.find())
    return {};
  double ns = std::max(question.nanoseconds(schedule.clocks()), question.nanosecondsOnce(1));
  return dlx::PlanAttr::get(question.kernel().getContext(), kDepthwiseSchedule.name,
                            ns * question.timeFactor(), {});
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr) {
  DepthwiseSchedule schedule(k);
  bool isFound = schedule.find();
  assert(isFound && "the plan was made where it is");
  (void)isFound;
  schedule.run();
  return success();
}

constinit const Schedule kDepthwiseSchedule = {"depthwise", match, build, operandsOfProduct};

} // namespace dlc::codegen
