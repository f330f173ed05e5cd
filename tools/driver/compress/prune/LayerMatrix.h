//===- LayerMatrix.h - The weights of a layer beside what they are multiplied with --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPRESS_PRUNE_LAYERMATRIX_H
#define DLC_TOOLS_DRIVER_COMPRESS_PRUNE_LAYERMATRIX_H

#include "tools/driver/calibrate/ProductStatistics.h"
#include "tools/driver/compress/prune/PrunedModel.h"

#include <map>

namespace dlc {

/// A vector that is added to each row of what a layer gives, one number for each row of its weight:
/// the bias, or the running mean of the batch norm after it, which is subtracted.
struct LayerShift {
  const PrunedModel::Place *place = nullptr;
  double sign = 1;

  explicit operator bool() const { return place != nullptr; }
};

/// The shift after the products of `weight`, an op of a module of plain products. None where the
/// layer has none of its own, or where several products read the weight.
LayerShift shiftOf(const PrunableWeight &weight, PrunedModel &model);

/// One matrix of a weight, and x^T x of all products that read it so.
struct LayerMatrix {
  const PrunedModel::Place *place;
  const WeightReading *reading;
  InputMoment moment;

  int64_t rows() const { return static_cast<int64_t>(reading->rows.size()) / reading->groups; }
  int64_t columns() const { return static_cast<int64_t>(reading->columns.size()); }
  /// The number of the file at a row and column of a group.
  uint64_t position(int64_t group, int64_t row, int64_t column) const {
    return PrunedModel::positionInFile(*place, reading->rows[group * rows() + row] +
                                                   reading->columns[column]);
  }
  /// rows x columns numbers of a group, its columns in this order.
  std::vector<double> weightsOf(PrunedModel &model, int64_t group,
                                llvm::ArrayRef<int64_t> order) const;
  /// The weights that give, of what the layer reads now, the least squares of the change of what it
  /// gave before the layers before it changed. `moment` is momentOf().
  std::vector<double> targetOf(PrunedModel &model, int64_t group, llvm::ArrayRef<int64_t> order,
                               llvm::ArrayRef<double> moment, bool isCentred,
                               double dampening) const;
  /// Writes them back. What the change takes from the mean of each row goes to `shift`, if any.
  void replace(PrunedModel &model, int64_t group, llvm::ArrayRef<int64_t> order,
               llvm::ArrayRef<double> weights, const LayerShift &shift) const;
  /// x^T x of a group, its columns in this order; around their means where `isCentred`, as a shift
  /// can give any mean. Columns that are constant then are 0.
  std::vector<double> momentOf(int64_t group, llvm::ArrayRef<int64_t> order, bool isCentred) const;
};

/// The sum of squares of w x^T over all rows of `weights`, for `moment` = x^T x, columns x columns.
double squaresOf(llvm::ArrayRef<double> weights, llvm::ArrayRef<double> moment, int64_t columns);

/// 0, 1, 2 ...
std::vector<int64_t> inOrder(int64_t size);

/// The indices of `weights` by the number of layers among them that come before, so that each layer
/// can see what those before it give when they have changed.
std::map<unsigned, std::vector<size_t>> layerStages(mlir::ModuleOp plain,
                                                    llvm::ArrayRef<const PrunableWeight *> weights);

/// The matrices of each of `weights`, ops of `plain`, with the numbers that the model has now, and
/// had before (PrunedModel::keepBefore). An ExitCode, reported unless it is kOk.
int measureLayers(PrunedModel &model, mlir::ModuleOp plain,
                  llvm::ArrayRef<const PrunableWeight *> weights,
                  const CalibrationOptions &calibration,
                  std::vector<std::vector<LayerMatrix>> &matrices);

/// Reports a weight with NaN or infinities; an ExitCode.
int checkFinite(PrunedModel &model, const PrunedModel::Place &place);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPRESS_PRUNE_LAYERMATRIX_H
