//===- ChainChoice.cpp - Which launches one launch takes the place of ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/chain/ChainChoice.h"

#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/contraction/RowsChoice.h"
#include "codegen/cuda/schedule/map/MapLoops.h"
#include "codegen/cuda/schedule/reduce/RowPlan.h"
#include "ir/machine/EstimateMargins.h"
#include "ir/machine/GpuModel.h"

#include "mlir/IR/IRMapping.h"

#include <array>
#include <cmath>

using namespace mlir;

namespace dlc::codegen {

/// Blocks of a chain. Eight and sixteen are a cluster: no GPU has larger ones, and some have none
/// of more than eight.
static constexpr std::array<int64_t, 3> kBlocks = {1, 8, 16};
/// Stages of a chain, and arguments: the parameters of a launch have 4096 bytes.
static constexpr size_t kMostStages = 64, kMostArguments = 400;
/// Launches of a program that gets chains: a network of more is not small, and the compiler would
/// take as long for its chains as for all of its kernels.
static constexpr size_t kMostLaunches = 128;

namespace {
/// A launch that can be a stage of a chain.
struct Stage {
  dlx::LaunchOp launch;
  dlx::KernelOp kernel;
  double ns;                                  ///< as a launch of its own, the way to it included
  std::array<double, kBlocks.size()> inChain; ///< nanoseconds in a chain of so many blocks
};

/// Neighbouring stages, and the fastest way to run them.
struct Run {
  double ns;
  size_t begin;                  ///< the first of them
  std::optional<size_t> variant; ///< of kBlocks; none where each is launched
};

class ChainFormer {
public:
  ChainFormer(ModuleOp target, ArrayRef<dl::Range> symbols, ChainUse use)
      : target(target), symbols(symbols), use(use) {}

  void form(dlx::ProgramOp program);

private:
  /// Nanoseconds from the kernel before to the one that is launched.
  double way(const GpuModel &gpu) const {
    constexpr double kNotWanted = 1e9; // fewest launches: chains wherever they can be
    return use == ChainUse::always ? kNotWanted : gpu.nextLaunch * 1000;
  }
  std::optional<Stage> stageOf(dlx::LaunchOp launch);
  double nanoseconds(PlanQuestion &question, dlx::PlanAttr plan, const GpuModel &gpu,
                     int64_t blocks) const;
  Run bestRun(ArrayRef<Stage> stages, ArrayRef<double> before) const;
  void divide(ArrayRef<Stage> stages);
  void create(ArrayRef<Stage> stages, int64_t blocks, double ns);

  ModuleOp target;
  ArrayRef<dl::Range> symbols;
  ChainUse use;
};
} // namespace

/// Whether the threads of a chain can run the blocks of `plan`: all of them one, or a part of them
/// one whose threads do not wait for each other. buildChain() refuses what else there is.
static bool fitsChain(dlx::PlanAttr plan) {
  StringRef schedule = plan.getSchedule();
  if (schedule == kMapSchedule.name || schedule == kJoinedSchedule.name ||
      schedule == kDirectSchedule.name)
    return true;
  if (schedule == kRowsSchedule.name)
    return plan.number("parts") <= 1;
  if (schedule != kReduceSchedule.name)
    return false;
  RowPlan rows = RowPlan::of(plan);
  return rows.isAcross || rows.threads <= 32 || rows.threads == kThreads;
}

/// Whether all tensors of the kernel have one shape, also those that no launch passes: a constant
/// may be repeated as often as a symbol says.
static bool isStatic(dlx::KernelOp kernel) {
  auto hasStaticShape = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || tensor.hasStaticShape();
  };
  auto isOfStaticShapes = [&](Operation *op) {
    return llvm::all_of(op->getResultTypes(), hasStaticShape) ? WalkResult::advance()
                                                              : WalkResult::interrupt();
  };
  return llvm::all_of(kernel.getBodyBlock().getArgumentTypes(), hasStaticShape) &&
         !kernel.getBodyBlock().walk(isOfStaticShapes).wasInterrupted();
}

/// The part of `gpu` that so many blocks, each alone on its multiprocessor, have.
static GpuModel partOf(const GpuModel &gpu, int64_t blocks) {
  GpuModel part = gpu;
  part.multiprocessors = blocks;
  // Bytes arrive from L2 as fast as those of a ring's copies.
  double bytes = double(blocks) * (gpu.wgmma.bytes > 0 ? gpu.wgmma.bytes : gpu.mma.bytes);
  part.bytesOnce = std::min(gpu.bytesOnce, bytes);
  part.memoryBytes = std::min(gpu.memoryBytes, bytes * gpu.gigahertz);
  return part;
}

/// Blocks of kThreads threads that `plan` has at the usual sizes, or somewhat more.
static double tilesOf(PlanQuestion &question, dlx::PlanAttr plan) {
  double results = question.results();
  StringRef schedule = plan.getSchedule();
  if (schedule == kDirectSchedule.name)
    return results / kThreads;
  if (schedule == kRowsSchedule.name) {
    Contraction *c = question.product();
    double columns = std::max(question.usualOf(c->m), question.usualOf(c->n));
    RowsTile tile = {.columns = plan.number("columns"),
                     .lanesN = plan.number("lanes_n"),
                     .warpsK = plan.number("warps_k")};
    return std::ceil(columns / double(tile.blockColumns())) * question.usualOf(c->batch);
  }
  if (schedule == kReduceSchedule.name) {
    RowPlan row = RowPlan::of(plan);
    return rowsOf(question) * (row.isAcross ? 1 : double(std::max<int64_t>(row.threads, 32))) /
           kThreads;
  }
  return results / double(kThreads * MapLoops::lanesOf(question.k));
}

/// Nanoseconds of a stage in a chain of so many blocks, which take its tiles in turn: no turn is
/// faster than the way of what it reads. Weights that come early are on their way while the blocks
/// meet. The schedule answers for so many multiprocessors, for which it might choose other numbers.
double ChainFormer::nanoseconds(PlanQuestion &question, dlx::PlanAttr plan, const GpuModel &gpu,
                                int64_t blocks) const {
  GpuModel part = partOf(gpu, blocks);
  question.k.askedGpu = &part;
  double ns = nanosecondsBy(plan, question),
         turns = std::ceil(tilesOf(question, plan) / double(blocks));
  question.k.askedGpu = nullptr;
  double latency = gpu.clocksOfLatency / gpu.gigahertz;
  if (plan.number("early"))
    ns -= latency;
  return std::max(ns, latency) + std::max(0.0, turns - 1) * latency;
}

std::optional<Stage> ChainFormer::stageOf(dlx::LaunchOp launch) {
  auto kernel = target.lookupSymbol<dlx::KernelOp>(launch.getKernel());
  if (!kernel.getPlan() || !fitsChain(*kernel.getPlan()) || !isStatic(kernel) ||
      kernel.getVariants() || kernel.getProductCalls())
    return std::nullopt;
  PlanQuestion question(kernel, symbols);
  const GpuModel gpu = question.k.gpu();
  dlx::PlanAttr plan = *kernel.getPlan();
  if (plan.getSchedule() == kRowsSchedule.name && question.usualOf(question.product()->batch) > 1)
    return std::nullopt;
  double alone = std::max(nanosecondsBy(plan, question), gpu.clocksOfLatency / gpu.gigahertz);
  Stage stage = {launch, kernel, alone + way(gpu), {}};
  for (auto [i, blocks] : llvm::enumerate(kBlocks)) {
    bool hasClusters = gpu.wgmma.products > 0;
    stage.inChain[i] =
        blocks == 1 || hasClusters ? nanoseconds(question, plan, gpu, blocks) : kNeverServes;
  }
  return stage;
}

/// How to run the last of `stages` and those before it that share its launch; `before[i]` is the
/// least time of the first i stages.
Run ChainFormer::bestRun(ArrayRef<Stage> stages, ArrayRef<double> before) const {
  size_t end = stages.size();
  dlx::LaunchOp last = stages.back().launch;
  const GpuModel &gpu = gpuOf(last);
  Run best = {before[end - 1] + stages.back().ns, end - 1, std::nullopt};
  double launches = stages.back().ns;
  std::array<double, kBlocks.size()> chained = stages.back().inChain;
  size_t arguments = last->getNumOperands();
  for (size_t begin = end - 1; begin-- > 0 && end - begin <= kMostStages;) {
    Stage stage = stages[begin];
    launches += stage.ns;
    arguments += stage.launch->getNumOperands();
    if (arguments > kMostArguments)
      break;
    for (auto [i, blocks] : llvm::enumerate(kBlocks)) {
      double meeting =
          blocks == 1 ? gpu.schedules.blockMeeting : gpu.schedules.clusterMeeting; // clocks
      chained[i] += stage.inChain[i] + meeting / gpu.gigahertz;
      double ns = chained[i] + way(gpu);
      bool isWorthIt = use == ChainUse::always || ns < kMargins.chain * launches;
      if (isWorthIt && before[begin] + ns < best.ns)
        best = {before[begin] + ns, begin, i};
    }
  }
  return best;
}

/// Makes one launch of runs of `stages`, which follow each other.
void ChainFormer::divide(ArrayRef<Stage> stages) {
  SmallVector<double> before = {0};
  SmallVector<Run> runs;
  for (size_t end = 1; end <= stages.size(); ++end) {
    runs.push_back(bestRun(stages.take_front(end), before));
    before.push_back(runs.back().ns);
  }
  for (size_t end = stages.size(); end > 0; end = runs[end - 1].begin) {
    const Run &run = runs[end - 1];
    if (run.variant)
      create(stages.slice(run.begin, end - run.begin), kBlocks[*run.variant],
             run.ns - before[run.begin] - way(gpuOf(stages[run.begin].launch)));
  }
}

/// Adds the kernel of a chain, whose body is those of its stages side by side.
void ChainFormer::create(ArrayRef<Stage> stages, int64_t blocks, double ns) {
  OpBuilder builder = OpBuilder::atBlockEnd(target.getBody());
  MLIRContext *context = target.getContext();
  std::string name = "chain";
  for (int number = 1; target.lookupSymbol(name); ++number)
    name = "chain_" + std::to_string(number);
  dlx::LaunchOp first = stages.front().launch;
  auto chain = dlx::KernelOp::create(builder, first.getLoc(), name, dlx::KernelKind::chain);
  Block &body = chain.getBody().emplaceBlock();
  builder.setInsertionPointToStart(&body);
  SmallVector<Attribute> names;
  SmallVector<Value> results;
  for (Stage stage : stages) {
    names.push_back(FlatSymbolRefAttr::get(context, stage.kernel.getSymName()));
    Block &part = stage.kernel.getBodyBlock();
    IRMapping mapping;
    for (BlockArgument argument : part.getArguments())
      mapping.map(argument, body.addArgument(argument.getType(), argument.getLoc()));
    for (Operation &op : part.without_terminator())
      builder.clone(op, mapping);
    for (Value result : stage.kernel.getResultTensors())
      results.push_back(mapping.lookup(result));
  }
  dl::YieldOp::create(builder, chain.getLoc(), results);
  chain.setStagesAttr(ArrayAttr::get(context, names));
  chain.setPlanAttr(dlx::PlanAttr::get(context, kChainSchedule, ns, {{"blocks", blocks}}));
  // A cluster is for GPUs that have any.
  first.setChainAttr(dlx::ChainAttr::get(context, FlatSymbolRefAttr::get(context, name),
                                         int64_t(stages.size()), blocks > 1 ? 90 : 0));
}

void ChainFormer::form(dlx::ProgramOp program) {
  auto launches = program.getBodyBlock().getOps<dlx::LaunchOp>();
  if (llvm::count_if(launches, [](dlx::LaunchOp launch) { return !launch.getInit(); }) >
      ptrdiff_t(kMostLaunches))
    return;
  SmallVector<Stage> stages;
  for (Operation &command : llvm::make_early_inc_range(program.getBodyBlock())) {
    auto launch = dyn_cast<dlx::LaunchOp>(command);
    if (launch && launch.getInit())
      continue;
    if (launch)
      if (std::optional<Stage> stage = stageOf(launch)) {
        stages.push_back(*stage);
        continue;
      }
    if (launch || isa<dlx::CopyOp, dlx::ReturnOp>(command)) {
      divide(stages);
      stages.clear();
    }
  }
}

void formChains(ModuleOp target, ArrayRef<dl::Range> symbols, ChainUse use) {
  if (use == ChainUse::never)
    return;
  ChainFormer former(target, symbols, use);
  for (auto program : target.getOps<dlx::ProgramOp>())
    former.form(program);
}

} // namespace dlc::codegen
