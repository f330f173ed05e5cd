//===- ScheduleOracle.h - What the schedules of a target can run --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes decide what shares a kernel, code generators know which kernels they can schedule, and
// neither includes the other. A code generator registers an oracle for its target; a pass asks the
// one of the target whose module it works in.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_INTERFACES_SCHEDULEORACLE_H
#define DLC_IR_INTERFACES_SCHEDULEORACLE_H

#include "ir/dl/DLOps.h"

#include "mlir/IR/DialectInterface.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <string>

namespace dlc {

/// Answers which kernels the schedules of one target can run.
class ScheduleOracle {
public:
  virtual ~ScheduleOracle();

  /// Why no kernel computes `op` as a whole, the end of a sentence; empty where one does.
  virtual std::string whyNoKernel(dl::AttentionOp op) const = 0;
  /// Returns true if one kernel computes a convolution and pools its results
  /// (ir/analysis/PooledProduct.h).
  virtual bool poolsProducts() const = 0;
  /// Returns true if a kernel of `ops`, the ops of a fusion in program order, may store several of
  /// their results, all at the place of an element of the last one's.
  virtual bool storesSeveral(llvm::ArrayRef<mlir::Operation *> ops) const = 0;
  /// Rows of `terms` elements, which lie together in memory or each beside those of other rows.
  struct RowShape {
    double rows, terms;
    bool areTogether;
    bool storesElements; ///< the kernel stores tensors of the elements
  };
  /// Why a kernel with several reductions of such rows would leave much of the machine idle that
  /// the module around `op` is for, since each row is the work of one thread, warp or block;
  /// nullopt where it would not.
  virtual std::optional<dl::NotFused> whyNotWholeRows(mlir::Operation *op,
                                                      const RowShape &shape) const = 0;
  /// Returns true if a kernel of maps may write a result to the memory of an operand that it reads
  /// only at the element that it computes.
  virtual bool overwritesOperands() const = 0;
  /// Bytes at whose multiples a part of a buffer, and each row of the buffer, have to begin if a
  /// kernel that writes the part is to use the widest stores.
  virtual int64_t alignmentOfParts() const = 0;
  /// Returns true if kernels with a reduction, a window or a contraction read the tensors that a
  /// dl.cat joins about as fast as one that holds them all, also where it is chosen along their
  /// rows.
  virtual bool reducesJoined() const = 0;
  /// Returns true if one kernel runs `ops`, recurrences that do not read each other, and is
  /// estimated to take less time than one for each.
  virtual bool runsSideBySide(llvm::ArrayRef<RecurrentOpInterface> ops) const = 0;
  /// Returns true if a kernel of `product`, both of whose operands are cast from e4m3, multiplies
  /// these as they are stored: then they are stored in it.
  virtual bool multipliesFloat8(LoopNestOpInterface product) const = 0;
  /// Returns true if there are kernels that multiply by weights without their blocks of zeros
  /// (dl.block_sparse_linear).
  virtual bool multipliesStoredBlocks() const = 0;
  /// Returns true if there are kernels that multiply by matrices of which two of each four
  /// neighbours are stored (dl.expand_two_of_four).
  virtual bool multipliesTwoOfFour() const = 0;
  /// Microseconds that `rows` rows times a matrix of 16-bit numbers whose `columns` sums have
  /// `depth` terms are estimated to take on the machine that the module around `op` is for: where
  /// the matrix is whole, and where it is stored so; 0 as the latter where no kernel multiplies it.
  virtual std::pair<double, double> microsecondsOfTwoOfFour(mlir::Operation *op, double rows,
                                                            int64_t columns,
                                                            int64_t depth) const = 0;
  /// Returns true if a launch has blocks of threads, whose size its kernel says.
  virtual bool hasThreadBlocks() const = 0;
  /// Returns true if there are kernels that run the layers of a stack in waves.
  virtual bool hasWaves() const = 0;
  /// Returns true if one kernel runs `layers`, a stack from the lowest layer on with the products
  /// between them (ir/analysis/StackedLayers.h), and is estimated to take less time than one kernel
  /// for all but the highest layer, one for the last product and one for that layer.
  virtual bool runsInWaves(llvm::ArrayRef<RecurrentOpInterface> layers) const = 0;

  /// Returns true if a kernel of `window`, whose channels are summed in groups that vectors of
  /// neighbouring channels do not fit, reads several whole groups at once: then it is faster over
  /// images that lie channels last.
  virtual bool hasVectorsOfGroups(LoopNestOpInterface window) const = 0;
  /// Returns true if a kernel of `window` reads and writes images that are row-major about as fast
  /// as images that lie channels last.
  virtual bool slidesAlongRows(LoopNestOpInterface window) const = 0;
  /// Microseconds that a kernel takes that does nothing but read a tensor of so many bytes and
  /// write it in another order, on the machine that the module around `op` is for.
  virtual double microsecondsToMove(mlir::Operation *op, int64_t bytes) const = 0;
  /// The same of a kernel that reads and writes so many bytes, which caches may hold, and computes
  /// so many operations (ir/analysis/CostModel.h).
  virtual double microsecondsToCompute(mlir::Operation *op, double bytes,
                                       double operations) const = 0;
  /// Microseconds that a run of the program in `target`, a module of the target after
  /// outline-kernels, is estimated to take; nullopt where some kernel has no schedule. Plans are
  /// written into `target`: it is made to be asked about.
  virtual std::optional<double> microsecondsOfRun(mlir::ModuleOp target) const = 0;

  /// The oracle of the target whose module `op` is in. Emits an error and returns null if there is
  /// none.
  static const ScheduleOracle *of(mlir::Operation *op);
};

/// The oracles of all targets by the names of their modules, attached to the dl dialect.
class ScheduleOracles : public mlir::DialectInterface::Base<ScheduleOracles> {
public:
  explicit ScheduleOracles(mlir::Dialect *dialect) : Base(dialect) {}

  void add(llvm::StringRef target, std::unique_ptr<ScheduleOracle> oracle) {
    oracles[target] = std::move(oracle);
  }
  /// Null if the target has none.
  const ScheduleOracle *find(llvm::StringRef target) const;
  /// The oracles of the context's dl dialect; null if this tool has no code generator.
  static const ScheduleOracles *of(mlir::MLIRContext *context);
  /// "'module @cpu' or 'module @cuda'": the modules that targets have.
  std::string modules() const;

private:
  llvm::StringMap<std::unique_ptr<ScheduleOracle>> oracles;
};

} // namespace dlc

#endif // DLC_IR_INTERFACES_SCHEDULEORACLE_H
