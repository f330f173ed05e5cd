//===- ProductStatistics.h - What the products of a model read, on a user's data ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_CALIBRATE_PRODUCTSTATISTICS_H
#define DLC_TOOLS_DRIVER_CALIBRATE_PRODUCTSTATISTICS_H

#include "codegen/package/Package.h"
#include "tools/driver/base/CompileOptions.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <string>
#include <vector>

namespace dlc {

/// A matrix product or convolution, and which of its operands (0 or 1) is no weight.
struct TappedProduct {
  mlir::Operation *op;
  unsigned activation = 0;
};

/// Sums over all rows of x, the matrix that a product reads (passes/compress/prune/SecondMoment.h):
/// of a convolution each row is a window of the input. All in f64, added up batch after batch.
struct InputMoment {
  int64_t groups = 0, columns = 0;
  double rows = 0;              // how many rows of x each group has seen
  std::vector<double> products; // groups * columns * columns: x^T x of each group
  std::vector<double> sums;     // groups * columns: the sum of each column
  /// With a reference: x^T z and the sums of z, what the same product reads in the reference.
  std::vector<double> cross, referenceSums;

  /// Adds the rows of another product of the same shape.
  void add(const InputMoment &other);

  /// x^T x of one group, row-major and symmetric.
  llvm::ArrayRef<double> productsOf(int64_t group) const {
    return llvm::ArrayRef(products).slice(group * columns * columns, columns * columns);
  }
  llvm::ArrayRef<double> sumsOf(int64_t group) const {
    return llvm::ArrayRef(sums).slice(group * columns, columns);
  }
};

struct ProductStatistics {
  std::vector<InputMoment> moments; // in the order of the products
  int64_t samples = 0;              // that were run
};

/// Runs a copy of `module`, a model as it was imported or as phase `simplify` left it, on the data
/// of `calibration`, batch after batch in f32 on the CPU, and adds up the moments of `products`,
/// ops of its function that have a ProductShape and whose dims the data do not count. Of the model
/// only what these products read is computed. `readPacked` gives the weights whose offset is -1.
/// Unless `reference` is empty the model is computed a second time on the same data, with weights
/// of which `readPacked` is told the name and this behind it. An ExitCode, reported unless it is
/// kOk: kUsage where the data do not fit the model, kModelError where a product reads NaN or
/// infinities.
int measureProducts(mlir::ModuleOp module, llvm::ArrayRef<TappedProduct> products,
                    const CalibrationOptions &calibration, codegen::ReadPacked readPacked,
                    llvm::StringRef reference, ProductStatistics &statistics);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_CALIBRATE_PRODUCTSTATISTICS_H
