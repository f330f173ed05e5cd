//===- DLRecurrent.h - What the records of recurrent ops share ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_RECURRENT_DLRECURRENT_H
#define DLC_IR_DL_RECURRENT_DLRECURRENT_H

#include "ir/interfaces/Recurrent.h"

namespace dlc::dl {
class Builder;

/// The operands and attributes of the steps of any cell; absent ones are null.
struct StepsParts {
  mlir::Value gates, weight, bias, projection;
  mlir::ValueRange initial;
  mlir::Value lengths;
  unsigned numGates, numStates;
  bool batchFirst;
};
llvm::LogicalResult inferSteps(llvm::StringRef op, std::optional<mlir::Location> location,
                               const StepsParts &parts, llvm::SmallVectorImpl<mlir::Type> &types);
/// Of an op that has been verified.
Recurrence recurrenceOf(const StepsParts &parts, bool reverse);

/// The same of a network. Gates and states are those of its steps, which two phases have more of
/// than it shows.
struct RecurrentParts {
  RecurrentParts(mlir::Value x, mlir::ValueRange hx, mlir::ValueRange params, mlir::Value lengths,
                 uint64_t numLayers, bool bidirectional, bool batchFirst, unsigned stepGates,
                 unsigned stepStates, unsigned phases)
      : x(x), hx(hx), params(params), lengths(lengths), numLayers(numLayers),
        bidirectional(bidirectional), batchFirst(batchFirst),
        numGates(phases == 2 ? stepGates - 1 : stepGates),
        numStates(phases == 2 ? stepStates - 2 : stepStates), phases(phases) {}

  mlir::Value x;
  mlir::ValueRange hx, params;
  mlir::Value lengths;
  uint64_t numLayers;
  bool bidirectional, batchFirst;
  unsigned numGates, numStates, phases;
};
llvm::LogicalResult inferRecurrent(llvm::StringRef op, std::optional<mlir::Location> location,
                                   const RecurrentParts &parts,
                                   llvm::SmallVectorImpl<mlir::Type> &types);
/// The network as, for each layer and direction, one dl.linear over all steps and one op named
/// `steps`.
llvm::SmallVector<mlir::Value> decomposeRecurrent(Builder &builder, llvm::StringRef steps,
                                                  const RecurrentParts &parts);

} // namespace dlc::dl

#endif // DLC_IR_DL_RECURRENT_DLRECURRENT_H
