//===- Places.h - Elements as places in memory --------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A template copies many elements at once where it is told where they lie instead of what they are.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_PLACES_H
#define DLC_CODEGEN_CUDA_SCHEDULE_PLACES_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace dlc::codegen {

/// Returns the load that `value` comes from, if `value` is an element of the type `stored`, or such
/// an element widened for arithmetic. Returns null otherwise: a copy of the element would differ.
mlir::memref::LoadOp loadOf(mlir::Value value, mlir::Type stored);
/// How the load of an element is found from its value; null where there is none.
using FindLoad = llvm::function_ref<mlir::memref::LoadOp(mlir::Value)>;
/// True where `value` is an element of a buffer, or 0 behind bounds checks.
bool isPlace(mlir::Value value, FindLoad find);
/// The offset of the element that `value` is, -1 where it is 0: the code that reads it becomes code
/// that finds it.
mlir::Value placeOf(mlir::Value value, FindLoad find);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_PLACES_H
