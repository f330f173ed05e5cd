//===- StepBuilder.h - From a model to its loss, gradients and update ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes the module of a model in place: the loss and the metrics are added behind the model, then
// the gradients of the loss, then the update of the weights.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_TRAIN_STEP_STEPBUILDER_H
#define DLC_TOOLS_DRIVER_TRAIN_STEP_STEPBUILDER_H

#include "ir/dl/gradient/Term.h"
#include "tools/driver/train/step/TrainingStep.h"

namespace dlc {

class StepBuilder {
public:
  StepBuilder(ImportedModel &model, const TrainingOptions &options, TrainingStep &step)
      : model(model), options(options), step(step),
        function(*model.module->getOps<mlir::func::FuncOp>().begin()),
        end(function.front().getTerminator()) {}
  int build();
  int buildGradients();
  int buildUpdate();
  int buildEvaluation();

private:
  void shareWeights();
  int chooseWeights(bool withStatistics);
  bool isTrained(mlir::Value weight) const { return llvm::is_contained(trained, weight); }
  int useBatchStatistics();
  int keepAverages(dl::BatchNormOp norm);
  int dropElements();
  int addLoss();
  int addGradients();
  void takeWeights();
  mlir::Value scaled(dl::Builder &builder, mlir::Value loss);
  int differentiate();
  void useStates(llvm::ArrayRef<mlir::Value> states, llvm::ArrayRef<std::string> names);
  int addUpdate();
  int finish();
  int eraseUnused();
  int dropSymbolsOfData();
  void noteFirst(dl::WeightOp weight);
  /// A state of the step.
  mlir::Value addState(llvm::StringRef name, mlir::Type type);
  void setNext(mlir::Value state, mlir::Value next) { nexts.push_back({state, next}); }

  ImportedModel &model;
  const TrainingOptions &options;
  TrainingStep &step;
  mlir::func::FuncOp function;
  mlir::Operation *end;
  llvm::SmallVector<mlir::Value> trained;   // dl.weight ops
  llvm::SmallVector<mlir::Value> gradients; // of them
  llvm::SmallVector<mlir::Value> outputs;   // the loss, then the metrics
  llvm::SmallVector<std::string> outputNames;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> nexts; // states with their next values
  mlir::Value exponent; // the state of the scale, if there is one
  bool canRead = true;  // the bytes of all stored weights
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TRAIN_STEP_STEPBUILDER_H
