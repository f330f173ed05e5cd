//===- FewChannelsKernel.cpp - Convolutions of images of few channels ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls contract_few_channels (dlc_few_channels.cuh): the first layer of a network, whose image
// lies row after row as it comes from outside.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/contraction/ContractionPlans.h"
#include "codegen/cuda/schedule/contraction/ContractionTemplate.h"
#include "codegen/cuda/schedule/contraction/window/FewChannelsChoice.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;

namespace dlc::codegen {

/// Channels of an image that other kernels copy element by element.
static constexpr int64_t kMostChannels = 4;
/// Results of a symbolic number of images are chosen for so many.
static constexpr int64_t kUsualImages = 32;

namespace {
class FewChannelsSchedule : ContractionTemplate {
public:
  FewChannelsSchedule(KernelBuilder &k, Contraction &c)
      : ContractionTemplate(k, c, c.storesAlongM()) {}

  /// The convolution; nullopt where it is another one.
  std::optional<FewChannelsShape> find();
  void run(const FewChannelsTile &tile);

private:
  /// Where the window of a result begins along one dim of the image.
  struct Slide {
    int64_t stride, padding;
  };
  std::optional<Slide> slideOf(unsigned dim, unsigned tap) const;
  /// The input that term `term` reads as it lies, in its own type or, with `mayRound`, in f32.
  std::optional<unsigned> inputOf(unsigned term, bool mayRound) const;
  RankedTensorType typeOfTerm(unsigned term) const {
    return cast<RankedTensorType>(
        k.body.getRoot()->getOperand(c.nest.terms[term].operand).getType());
  }

  FewChannelsShape shape = {};
  int64_t deep = 1, outDeep = 1, strideDeep = 1, padFront = 0; // of a video
  int64_t high = 0, padTop = 0;
};
} // namespace

std::optional<unsigned> FewChannelsSchedule::inputOf(unsigned term, bool mayRound) const {
  Value tensor = k.body.getRoot()->getOperand(c.nest.terms[term].operand);
  if (auto cast = tensor.getDefiningOp<dl::CastOp>();
      cast && mayRound && getElementTypeOrSelf(cast.getX().getType()).isF32())
    tensor = cast.getX();
  auto argument = dyn_cast<BlockArgument>(tensor);
  if (!argument || !dl::getLayout(cast<RankedTensorType>(tensor.getType())).isRowMajor())
    return std::nullopt;
  return argument.getArgNumber();
}

/// The image is read at dim * stride + tap - padding.
std::optional<FewChannelsSchedule::Slide> FewChannelsSchedule::slideOf(unsigned dim,
                                                                       unsigned tap) const {
  MLIRContext *context = k.b.getContext();
  AffineExpr at = c.nest.terms[0].map.getResult(dim), zero = getAffineConstantExpr(0, context);
  unsigned loops = c.nest.numLoops();
  auto value = [&](int64_t ofDim, int64_t ofTap) -> std::optional<int64_t> {
    SmallVector<AffineExpr> loopsAt(loops, zero);
    loopsAt[dim] = getAffineConstantExpr(ofDim, context);
    loopsAt[c.nest.parallel.size() + tap] = getAffineConstantExpr(ofTap, context);
    return dl::asConstant(dl::normalize(at.replaceDims(loopsAt)));
  };
  auto origin = value(0, 0), next = value(1, 0), nextTap = value(0, 1);
  if (!origin || !next || !nextTap || *nextTap - *origin != 1 || *next <= *origin || *origin > 0)
    return std::nullopt;
  return Slide{*next - *origin, -*origin};
}

std::optional<FewChannelsShape> FewChannelsSchedule::find() {
  const LoopNest &nest = c.nest;
  MLIRContext *context = k.b.getContext();
  auto loops = [&](ArrayRef<unsigned> numbers) {
    return llvm::map_to_vector(numbers, [&](unsigned n) { return getAffineDimExpr(n, context); });
  };
  unsigned rank = nest.parallel.size();
  bool isVideo = rank == 5;
  if (!nest.isWindow() || (rank != 4 && !isVideo) || nest.reduction.size() != rank - 1 ||
      !c.batch.groups.empty() || nest.hasComputed() || c.m.groups.empty() || c.n.groups.empty() ||
      (!elementType().isF16() && !elementType().isBF16()) ||
      getElementTypeOrSelf(typeOfTerm(1)) != elementType() || !k.body.accumulatorType(0).isF32())
    return std::nullopt;
  // [image, channel, frame, row, column] and [filter, channel, frame, row, column].
  AffineMap image = nest.terms[0].map, filter = nest.terms[1].map;
  SmallVector<unsigned> ofFilter = {1};
  for (unsigned reduced = 0; reduced < rank - 1; ++reduced)
    ofFilter.push_back(rank + reduced);
  if (image.getNumResults() != rank ||
      filter.getResults() != ArrayRef<AffineExpr>(loops(ofFilter)) ||
      image.getResults().take_front(2) != ArrayRef<AffineExpr>(loops({0, rank})))
    return std::nullopt;
  unsigned rows = rank - 2;
  auto down = slideOf(rows, rows - 1), along = slideOf(rows + 1, rows);
  auto through = isVideo ? slideOf(2, 1) : Slide{1, 0};
  auto size = [](AffineExpr dim) { return dl::asConstant(dim).value_or(0); };
  dl::Dims dims = dl::getDims(typeOfTerm(0));
  if (!through || !down || !along || !inputOf(0, /*mayRound=*/true) ||
      !inputOf(1, /*mayRound=*/false))
    return std::nullopt;
  high = size(dims[rows]);
  padTop = down->padding;
  if (isVideo) {
    deep = size(dims[2]);
    outDeep = size(nest.parallel[2]);
    strideDeep = through->stride;
    padFront = through->padding;
  }
  shape = {size(dims[1]),
           size(dims[rows + 1]),
           size(nest.parallel[1]),
           size(nest.parallel[rows]),
           size(nest.parallel[rows + 1]),
           size(nest.reduction[rows - 1]),
           size(nest.reduction[rows]),
           down->stride,
           along->stride,
           along->padding,
           k.usual(nest.parallel[0], kUsualImages) * outDeep,
           isVideo ? size(nest.reduction[1]) : 1};
  shape.finishing = ContractionTemplate::shape().finishing;
  shape.isAcross = swapped;
  bool isKnown = deep > 0 && high > 0 && shape.wide > 0 && shape.filters > 0 && outDeep > 0 &&
                 shape.outHigh > 0 && shape.outWide > 0;
  if (!isKnown || shape.channels > kMostChannels || shape.wide % 8 != 0 || shape.padLeft >= 8 ||
      shape.tapsWide + shape.padLeft % 2 > 8 || fewChannelsTiles(shape).empty())
    return std::nullopt;
  return shape;
}

void FewChannelsSchedule::run(const FewChannelsTile &tile) {
  auto roles = [&](ArrayRef<StringRef> names) -> Attribute { return k.b.getStrArrayAttr(names); };
  int64_t width = lanes();
  SmallVector<std::pair<StringRef, int64_t>> numbers = {{"across", swapped},
                                                        {"channels", shape.channels},
                                                        {"deep", deep},
                                                        {"high", high},
                                                        {"wide", shape.wide},
                                                        {"out_deep", outDeep},
                                                        {"out_high", shape.outHigh},
                                                        {"out_wide", shape.outWide},
                                                        {"taps_d", shape.tapsDeep},
                                                        {"taps_h", shape.tapsHigh},
                                                        {"taps_w", shape.tapsWide},
                                                        {"stride_d", strideDeep},
                                                        {"stride_h", shape.strideHigh},
                                                        {"stride_w", shape.strideWide},
                                                        {"pad_front", padFront},
                                                        {"pad_top", padTop},
                                                        {"pad_left", shape.padLeft},
                                                        {"filters", shape.filters},
                                                        {"rows", tile.rows},
                                                        {"turns", tile.turns},
                                                        {"tile_n", tile.filters},
                                                        {"vector", std::max<int64_t>(width, 1)}};
  SmallVector<NamedAttribute> config;
  for (auto [name, value] : numbers)
    config.push_back(k.b.getNamedAttr(name, k.b.getI64IntegerAttr(value)));
  auto image = inputOf(0, /*mayRound=*/true), filter = inputOf(1, /*mayRound=*/false);
  assert(image && filter && "the plan was made where they are");
  auto call = dlk::CallOp::create(
      k.b, k.loc, "contract_few_channels", "dlc_few_channels.cuh", storageType(elementType()),
      k.b.getDictionaryAttr(config),
      k.b.getArrayAttr({swapped ? roles({"n", "m", "total"}) : roles({"m", "n", "total"})}),
      ValueRange{k.input(image.value_or(0)), k.input(filter.value_or(0))},
      /*exchange=*/Value(), /*bodiesCount=*/1);
  finish(call, 0, width);
  // Else ptxas spills to let blocks in that shared memory has no room for.
  call->getParentOfType<gpu::GPUFuncOp>()->setAttr("dlc.resident_blocks", k.b.getI32IntegerAttr(3));
  k.finish(FewChannelsTile::threads,
           {dl::normalize(c.nest.parallel[0] * (outDeep * tile.spans(shape))),
            k.math.constant(llvm::divideCeilSigned(shape.filters, tile.filters))},
           tile.sharedBytes(shape));
}

static FewChannelsTile tileOf(dlx::PlanAttr plan) {
  return {plan.number("rows"), plan.number("turns"), plan.number("filters")};
}

/// The convolution that the kernel is; nullopt where it is another one.
static std::optional<FewChannelsShape> shapeOf(PlanQuestion &question) {
  Contraction *c = question.product();
  if (question.kind() != dlx::KernelKind::contraction || !c || question.k.body.getPool() ||
      question.hasSeveralResults())
    return std::nullopt;
  return FewChannelsSchedule(question.k, *c).find();
}

static dlx::PlanAttr planOf(PlanQuestion &question, const FewChannelsShape &shape,
                            const FewChannelsTile &tile) {
  return dlx::PlanAttr::get(
      question.kernel().getContext(), kFewChannelsSchedule.name,
      question.nanoseconds(estimatedClocks(tile, shape, question.k.gpu())),
      {{"rows", tile.rows}, {"turns", tile.turns}, {"filters", tile.filters}});
}

static dlx::PlanAttr match(PlanQuestion &question) {
  auto shape = shapeOf(question);
  return shape ? planOf(question, *shape, chooseFewChannelsTile(*shape, question.k.gpu()))
               : dlx::PlanAttr();
}

static double cost(PlanQuestion &question, dlx::PlanAttr plan) {
  auto shape = shapeOf(question);
  return shape ? double(planOf(question, *shape, tileOf(plan)).getNs()) : kNeverServes;
}

static SmallVector<dlx::PlanAttr> all(PlanQuestion &question) {
  SmallVector<dlx::PlanAttr> plans;
  if (auto shape = shapeOf(question))
    for (const FewChannelsTile &tile : fewChannelsTiles(*shape))
      plans.push_back(planOf(question, *shape, tile));
  return plans;
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr plan) {
  auto c = Contraction::of(k);
  if (!c)
    return failure();
  FewChannelsSchedule schedule(k, *c);
  if (!schedule.find())
    return failure();
  schedule.run(tileOf(plan));
  return success();
}

constinit const Schedule kFewChannelsSchedule = {"few_channels",    match, build,
                                                 operandsOfProduct, cost,  all};

} // namespace dlc::codegen
