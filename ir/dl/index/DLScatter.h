//===- DLScatter.h - What the two forms of scatters share ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_INDEX_DLSCATTER_H
#define DLC_IR_DL_INDEX_DLSCATTER_H

#include "ir/dl/DLOps.h"

namespace dlc::dl {

/// Index fits x, and src index: equal ranks, no larger sizes. `src` is null where there is none.
llvm::LogicalResult checkScatter(llvm::StringRef op, std::optional<mlir::Location> location,
                                 mlir::Value x, int64_t dim, mlir::Value index, mlir::Value src);
/// The type of x combined with updates by `reduce`: sum, prod, mean, amax or amin.
llvm::LogicalResult inferReduced(llvm::StringRef op, std::optional<mlir::Location> location,
                                 mlir::Value x, int64_t dim, mlir::Value index, mlir::Value src,
                                 llvm::StringRef reduce, llvm::SmallVectorImpl<mlir::Type> &types);
/// How `reduce` combines; sums for mean.
Combiner scatterCombiner(llvm::StringRef reduce);

} // namespace dlc::dl

#endif // DLC_IR_DL_INDEX_DLSCATTER_H
