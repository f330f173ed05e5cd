//===- ValidatePasses.h - Runs the model before and after each pass -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference interpreter computes the outputs for small integers, random numbers and special
// values (NaN, infinities, zeros of both signs, denormals). A pass that moves a result further than
// its MovesResults record in the *Passes.td of its phase allows is found here, by name. In the fuse
// phase each target has a function of its own, and from the outline phase on there is none to run.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_COMPILER_VALIDATEPASSES_H
#define DLC_TOOLS_DRIVER_COMPILER_VALIDATEPASSES_H

#include "ir/interpreter/Tensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <vector>

namespace dlc {

class PassValidator {
public:
  /// Graphs of more arithmetic are run once round all passes instead of round each.
  static constexpr int64_t kMaxFlopsForEach = 2'000'000'000;

  /// Runs `module` as it is: what all that follows is held against.
  mlir::LogicalResult begin(mlir::ModuleOp module);
  /// Runs it again and compares. Fails, and `getFinding` says what differs, where a result moved by
  /// more than `allowed` times the largest magnitude of its output.
  mlir::LogicalResult compare(mlir::ModuleOp module, llvm::StringRef pass, double allowed);
  /// Compares `module` with what begin() saw, by the bounds of all passes that ran since.
  mlir::LogicalResult compareAll(mlir::ModuleOp module);
  /// compare() after each pass that leaves a function; a pass manager owns it.
  std::unique_ptr<mlir::PassInstrumentation> makeInstrumentation();

  bool runsEachPass() const { return eachPass; }
  /// `pass` has run; each pass counts once, on whatever it ran.
  void note(llvm::StringRef pass) { ran.insert(pass); }
  /// The first difference; empty while there is none.
  const std::string &getFinding() const { return finding; }
  unsigned getNumRuns() const { return numRuns; }

private:
  struct Sample {
    const char *name;
    llvm::SmallVector<Tensor> inputs;
    /// By the name of the target's module; "" before there are any.
    llvm::StringMap<llvm::SmallVector<Tensor>> outputs;
  };
  mlir::FailureOr<llvm::SmallVector<Tensor>> run(mlir::ModuleOp module,
                                                 llvm::ArrayRef<Tensor> inputs);

  std::vector<Sample> samples;
  llvm::SmallVector<int64_t> symbols;
  llvm::StringSet<> ran;
  std::string finding;
  bool eachPass = true;
  unsigned numRuns = 0;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPILER_VALIDATEPASSES_H
