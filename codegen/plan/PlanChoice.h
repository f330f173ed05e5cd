//===- PlanChoice.h - Which plan a kernel gets --------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_PLAN_PLANCHOICE_H
#define DLC_CODEGEN_PLAN_PLANCHOICE_H

#include "ir/dlx/DLXOps.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace dlc::codegen {

/// The plan that is estimated to be the fastest of some in the order of the table, which lists
/// first what is meant for a kernel: a later one takes its place by EstimateMargins::change.
const dlx::PlanAttr *bestOf(llvm::ArrayRef<dlx::PlanAttr> plans);

/// Whether `diagnostic` is an error of ForcedPlans: the user asked for a plan that cannot be, and
/// the module is fine.
bool isAboutForcedPlans(mlir::Diagnostic &diagnostic);

/// How the user names a plan: its schedule and, each after a colon, its numbers:
/// "tensor_cores:tile_m=64:tile_n=128".
std::string nameOf(dlx::PlanAttr plan);

/// The attribute of kernels, an array of PlanAttr, with the plans that they could run by, that with
/// the smallest estimate first, where that is asked for.
inline constexpr llvm::StringLiteral kCandidatesAttr = "dlc.candidates";
/// Writes them, each once.
void recordCandidates(dlx::KernelOp kernel, llvm::SmallVector<dlx::PlanAttr> plans);

/// The user's choice of plans: entries KERNEL=PLAN, or *=PLAN for every kernel that this plan can
/// run. A plan may have some of its numbers alone, or none.
class ForcedPlans {
public:
  explicit ForcedPlans(std::vector<std::string> entries) : entries(std::move(entries)) {}

  /// Fails, with an error at `target`, where an entry names none of the schedules `names` or no
  /// kernel of the module.
  llvm::LogicalResult check(mlir::ModuleOp target, llvm::ArrayRef<llvm::StringRef> names) const;
  /// Whether some entry is about `kernel`.
  bool concern(dlx::KernelOp kernel) const;
  /// Whether `kernel` shall run by this schedule where it can.
  bool wants(dlx::KernelOp kernel, llvm::StringRef schedule) const;
  /// Whether it shall run by this plan.
  bool wants(dlx::KernelOp kernel, dlx::PlanAttr plan) const;
  /// Whether some entry says numbers of the plan of `kernel`.
  bool sayNumbers(dlx::KernelOp kernel) const;
  /// Chooses among `plans`, which are in the order of the table: the wanted plan, else the one with
  /// the smallest estimate. Writes it and the others on the kernel, those of `calls` too, which may
  /// take the place of any. Fails where the user named the kernel with a schedule that cannot run
  /// it, and where `plans` is empty.
  llvm::FailureOr<dlx::PlanAttr> choose(dlx::KernelOp kernel, llvm::ArrayRef<dlx::PlanAttr> plans,
                                        llvm::ArrayRef<dlx::PlanAttr> calls = {}) const;

private:
  struct Wanted {
    llvm::StringRef plan;
    bool isNamed = false; // no other will do
    llvm::StringRef schedule() const { return plan.split(':').first; }
    /// Whether `other` is that schedule with these numbers.
    bool is(dlx::PlanAttr other) const;
  };
  Wanted wantedFor(dlx::KernelOp kernel) const;

  std::vector<std::string> entries;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PLAN_PLANCHOICE_H
