//===- ColumnFit.h - The other columns of a weight take over what some gave ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In y = x w^T, the columns of w that belong to removed channels become zero, and those that stay
// the least squares of the change of y, as in He, Zhang and Sun 2017. H is x^T x.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_COLUMNFIT_H
#define DLC_PASSES_COMPRESS_COLUMNFIT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"

#include <cstdint>
#include <vector>

namespace dlc {

/// Zeros in the removed columns of `weights`, rows x columns, and the least squares in the others.
/// `dampening` times the mean of H's diagonal is added to the diagonal, and pulls what stays to
/// what it was.
void fitColumns(llvm::MutableArrayRef<double> weights, llvm::ArrayRef<double> moment,
                const llvm::BitVector &removed, double dampening);

/// A weight and what its columns cost: the squares of the change of y that is left when some of
/// them are removed and the others have taken over.
class ColumnCosts {
public:
  ColumnCosts(std::vector<double> weights, llvm::ArrayRef<double> moment, int64_t columns,
              double dampening);
  double costOf(llvm::ArrayRef<int64_t> columns) const;
  /// From now on these columns are gone.
  void remove(llvm::ArrayRef<int64_t> columns);

private:
  /// The factor L of the inverse's part at `columns`.
  std::vector<double> factorAt(llvm::ArrayRef<int64_t> columns) const;

  std::vector<double> weights, inverse;
  int64_t columns;
};

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_COLUMNFIT_H
