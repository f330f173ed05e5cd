//===- SelectSchedulesCuda.cpp - How every kernel of module @cuda runs --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/Passes.h"
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/Workspace.h"
#include "codegen/cuda/schedule/attention/AttentionPlans.h"
#include "codegen/cuda/schedule/chain/ChainChoice.h"
#include "codegen/cuda/schedule/contraction/ContractionParts.h"
#include "codegen/cuda/schedule/contraction/ContractionPlans.h"
#include "codegen/cuda/schedule/contraction/LibraryChoice.h"
#include "codegen/cuda/schedule/variants/PlanParts.h"
#include "codegen/plan/ExpandAttention.h"
#include "codegen/plan/PlanChoice.h"
#include "codegen/plan/TargetModule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringSwitch.h"

#define DEBUG_TYPE "dl-select-schedules-cuda"

using namespace mlir;

namespace dlc::codegen {

#define GEN_PASS_DEF_SELECTSCHEDULESCUDAPASS
#include "codegen/Passes.h.inc"

static std::optional<ChainUse> useNamed(StringRef name) {
  return llvm::StringSwitch<std::optional<ChainUse>>(name)
      .Case("auto", ChainUse::asEstimated)
      .Case("always", ChainUse::always)
      .Case("never", ChainUse::never)
      .Default(std::nullopt);
}

namespace {
struct SelectSchedulesCuda : impl::SelectSchedulesCudaPassBase<SelectSchedulesCuda> {
  using SelectSchedulesCudaPassBase::SelectSchedulesCudaPassBase;

  void runOnOperation() override {
    if (hopper != "auto" && hopper != "always" && hopper != "never") {
      getOperation().emitError("hopper is auto, always or never, got '") << hopper << "'";
      return signalPassFailure();
    }
    if (!useNamed(chains)) {
      getOperation().emitError("chains are auto, always or never, got '") << chains << "'";
      return signalPassFailure();
    }
    ModuleOp target = targetModule(getOperation(), "cuda");
    if (target && failed(selectAll(target)))
      signalPassFailure();
  }

  LogicalResult selectAll(ModuleOp target);
  dlx::PlanAttr bestWanted(dlx::KernelOp kernel, ArrayRef<dlx::PlanAttr> plans) const;
  FailureOr<const Schedule *> select(dlx::KernelOp kernel, PlanQuestion &question);
  LogicalResult require(dlx::KernelOp kernel);
  LogicalResult decide(dlx::KernelOp kernel);
  void addVariants(dlx::KernelOp kernel, ArrayRef<PlannedPart> parts, int64_t gpu);

  SmallVector<dl::Range> symbols;
  ForcedPlans forced{{}};
};
} // namespace

/// All plans by which the kernel could run.
static SmallVector<dlx::PlanAttr> candidatesOf(PlanQuestion &question) {
  SmallVector<dlx::PlanAttr> all;
  for (const Schedule *schedule : schedules()) {
    dlx::PlanAttr plan = schedule->match(question);
    if (!plan)
      continue;
    all.push_back(plan);
    if (schedule->all)
      llvm::append_range(all, schedule->all(question));
  }
  return all;
}

/// Asks all schedules, and writes the plan on `kernel`.
FailureOr<const Schedule *> SelectSchedulesCuda::select(dlx::KernelOp kernel,
                                                        PlanQuestion &question) {
  // A plan for one GPU alone takes the place of the kernel's plan there, as a call may.
  SmallVector<dlx::PlanAttr> plans, inItsPlace;
  for (const Schedule *schedule : schedules())
    if (schedule->gpu == 0 || forced.wants(kernel, schedule->name)) {
      auto &list = schedule->build && schedule->gpu == 0 ? plans : inItsPlace;
      if (dlx::PlanAttr plan = schedule->match(question))
        list.push_back(plan);
      if (schedule->all && forced.wants(kernel, schedule->name) && forced.sayNumbers(kernel))
        llvm::append_range(list, schedule->all(question));
    }
  if (candidates)
    recordCandidates(kernel, candidatesOf(question));
  FailureOr<dlx::PlanAttr> plan = forced.choose(kernel, plans, inItsPlace);
  if (failed(plan))
    return failure();
  return scheduleNamed(plan->getSchedule());
}

/// Gives the program around the kernel what its plan needs: the operands of products, which all
/// plans of one read alike, the weights of recurrences and the memory of whole lines, whose plans
/// are written.
LogicalResult SelectSchedulesCuda::require(dlx::KernelOp kernel) {
  bool isProduct = kernel.getKind() == dlx::KernelKind::contraction;
  if (!isProduct && kernel.getKind() != dlx::KernelKind::lines &&
      kernel.getKind() != dlx::KernelKind::recurrent)
    return success();
  Requirements needs;
  {
    PlanQuestion question(kernel, symbols);
    if (isProduct) {
      needs = operandsOfProduct(question, {});
    } else {
      FailureOr<const Schedule *> schedule = select(kernel, question);
      if (failed(schedule))
        return failure();
      if ((*schedule)->requirements)
        needs = (*schedule)->requirements(question, *kernel.getPlan());
    }
  }
  for (const PackedOperand &operand : needs.operands)
    packOperand(kernel, operand);
  for (RankedTensorType type : needs.workspaces)
    addWorkspace(kernel, type);
  return success();
}

/// The one of `plans` with the smallest estimate that the user's entry for the kernel names; null
/// where it names none, which select() refuses.
dlx::PlanAttr SelectSchedulesCuda::bestWanted(dlx::KernelOp kernel,
                                              ArrayRef<dlx::PlanAttr> plans) const {
  SmallVector<dlx::PlanAttr> wanted =
      llvm::filter_to_vector(plans, [&](dlx::PlanAttr plan) { return forced.wants(kernel, plan); });
  const auto *best = llvm::min_element(
      wanted, [](dlx::PlanAttr a, dlx::PlanAttr b) { return a.getNs() < b.getNs(); });
  return best == wanted.end() ? dlx::PlanAttr() : *best;
}

/// Whether `part` has all shapes, as far as the ranges of the symbols tell.
static bool isWhole(const ShapePart &part, ArrayRef<dl::Range> symbols) {
  auto all = dl::rangeOf(part.extent, symbols);
  return all && part.range.min <= all->min && all->max <= part.range.max;
}

/// Makes `plan` the kernel's, and the one that it had one of the others.
static void replacePlan(dlx::KernelOp kernel, dlx::PlanAttr plan) {
  dlx::PlanAttr before = *kernel.getPlan();
  SmallVector<Attribute> others = {before};
  if (kernel.getOtherPlans())
    for (auto other : kernel.getOtherPlans()->getAsRange<dlx::PlanAttr>())
      if (other.getSchedule() != plan.getSchedule())
        others.push_back(other);
  if (before.getSchedule() == plan.getSchedule())
    others.erase(others.begin()); // the same schedule with other numbers
  kernel.setPlanAttr(plan);
  if (others.empty())
    kernel.removeOtherPlansAttr();
  else
    kernel.setOtherPlansAttr(ArrayAttr::get(kernel.getContext(), others));
}

/// Gives `kernel` a variant for each part. A plan for all shapes becomes that of the kernel.
void SelectSchedulesCuda::addVariants(dlx::KernelOp kernel, ArrayRef<PlannedPart> parts,
                                      int64_t gpu) {
  for (const PlannedPart &part : parts) {
    if (gpu == 0 && part.shapes && isWhole(*part.shapes, symbols)) {
      replacePlan(kernel, part.plan);
      continue;
    }
    dlx::KernelOp other = addVariant(kernel, part.shapes, gpu);
    other.setPlanAttr(part.plan);
    recordVariant(kernel, other, part.shapes, gpu);
  }
}

/// Writes the plan, and the kernels that take this one's place for a part of the shapes or on a
/// Hopper.
LogicalResult SelectSchedulesCuda::decide(dlx::KernelOp kernel) {
  bool isAttention = kernel.getKind() == dlx::KernelKind::attention,
       isContraction = kernel.getKind() == dlx::KernelKind::contraction,
       hasParts = kernel.getKind() == dlx::KernelKind::reduce ||
                  kernel.getKind() == dlx::KernelKind::recurrent;
  bool isPlanned = static_cast<bool>(kernel.getPlan()); // by require
  if (isPlanned && !hasParts)
    return success();
  // An attention is asked about with its parts in place of the op; the kernel keeps that.
  OwningOpRef<dlx::KernelOp> expanded;
  std::optional<dl::AttentionParts> attention;
  if (isAttention) {
    OpBuilder builder(kernel);
    expanded = cast<dlx::KernelOp>(builder.clone(*kernel));
    FailureOr<dl::AttentionParts> found = expandAttention(*expanded);
    if (failed(found))
      return failure();
    attention = *found;
  }
  PlanQuestion question(expanded ? *expanded : kernel, symbols);
  question.k.attention = attention;
  bool isForced = forced.concern(kernel),
       isForcedOnHopper = forced.wants(kernel, kWgmmaSchedule.name) ||
                          forced.wants(kernel, kSparseWgmmaSchedule.name) ||
                          forced.wants(kernel, kAttentionWgmmaSchedule.name),
       always = hopper == "always" || isForcedOnHopper;
  // A general kernel beside one for Hopper cuts no tile among blocks: that one comes first.
  if (isContraction && hopper != "never" && (!isForced || isForcedOnHopper)) {
    SmallVector<PlannedPart> ofHopper = wgmmaPartsOfProduct(question, always);
    if (!ofHopper.empty() && isForcedOnHopper && forced.sayNumbers(kernel)) {
      const Schedule *schedule = scheduleNamed(ofHopper.front().plan.getSchedule());
      if (dlx::PlanAttr plan = bestWanted(kernel, schedule->all(question)))
        ofHopper.front().plan = plan;
    }
    addVariants(kernel, ofHopper, 90);
  }
  if (isAttention && hopper != "never" && (!isForced || isForcedOnHopper))
    addVariants(kernel, wgmmaPartsOfAttention(question, always), 90);
  if (!isPlanned && failed(select(kernel, question)))
    return failure();
  // The rows of a first layer are no tiles of a product.
  bool isOfRows = kernel.getPlan()->getSchedule() == kFewChannelsSchedule.name;
  if (parts && !isForced && isContraction && !isOfRows)
    addVariants(kernel, partsOfProduct(question), 0);
  if (parts && !isForced && isAttention)
    addVariants(kernel, partsOfAttention(question, *kernel.getPlan()), 0);
  if (parts && !isForced && (hasParts || isOfRows))
    addVariants(kernel, partsByPlan(question, *kernel.getPlan()), 0);
  if (isContraction) {
    bool isAsked = forced.wants(kernel, kLibrarySchedule.name),
         isOther = isForcedOnHopper || forced.wants(kernel, kernel.getPlan()->getSchedule());
    recordLibraryCall(kernel, question,
                      isAsked   ? LibraryUse::always
                      : isOther ? LibraryUse::never
                                : LibraryUse::asEstimated);
  }
  return success();
}

LogicalResult SelectSchedulesCuda::selectAll(ModuleOp target) {
  symbols = symbolsOf(target);
  forced = ForcedPlans(std::vector<std::string>(force.begin(), force.end()));
  SmallVector<StringRef> names;
  for (const Schedule *schedule : schedules())
    names.push_back(schedule->name);
  if (failed(forced.check(target, names)))
    return failure();
  for (auto kernel : llvm::make_early_inc_range(target.getOps<dlx::KernelOp>())) {
    if (kernel.getEntry())
      continue;
    auto result = cast<RankedTensorType>(kernel.getResultTensors().front().getType());
    if (dl::getLayout(result).isTiled())
      return kernel.emitOpError("writes ")
             << dl::text(result, kernel)
             << " in tiles; cuda kernels write plain layouts and read any";
    if (failed(require(kernel)))
      return failure();
  }
  for (dlx::KernelOp kernel : llvm::to_vector(target.getOps<dlx::KernelOp>()))
    if (!kernel.getEntry() && failed(decide(kernel)))
      return failure();
  formChains(target, symbols, *useNamed(chains));
  return success();
}

} // namespace dlc::codegen
