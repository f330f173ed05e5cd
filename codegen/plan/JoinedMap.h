//===- JoinedMap.h - Maps over tensors that are joined ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A map over a dl.cat chooses among all of its tensors for each element. Where all that follows
// reads the joined tensor at its own index, an element of the result lies in one part alone.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_PLAN_JOINEDMAP_H
#define DLC_CODEGEN_PLAN_JOINEDMAP_H

#include "ir/dl/DLOps.h"
#include "ir/dlx/DLXOps.h"

namespace dlc::codegen {

/// A joined tensor of a map whose elements are read at the result's own indices.
struct JoinedMap {
  dl::CatOp cat;
  int64_t dim; // of the result, along which its parts follow each other
  llvm::SmallVector<mlir::AffineExpr> bounds; // of the parts, from 0 to the extent of the result

  unsigned parts() const { return bounds.size() - 1; }
  mlir::Value part(unsigned number) const { return dl::CatOp(cat).getTensors()[number]; }
  mlir::Value result() const { return dl::CatOp(cat).getY(); }
};

/// Returns the joined maps of `kernel` in body order.
llvm::SmallVector<JoinedMap> joinedMapsOf(dlx::KernelOp kernel);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PLAN_JOINEDMAP_H
