//===- Regions.h - Branches and steps that the running model takes ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_CONTROL_REGIONS_H
#define DLC_FRONTEND_ONNX_CONTROL_REGIONS_H

#include "frontend/dl/lower/control/Regions.h"
#include "frontend/onnx/Importer.h"
#include "frontend/onnx/read/NodeOrder.h"

namespace dlc::onnx {

/// The graph that the attribute `name` of a node holds; null where it has none.
const Graph *graphOf(NodeImport &node, llvm::StringRef name);

/// Takes a value that has the kind of `like` from the front of `tensors`: one, or those of a
/// sequence in tensors.
Value unflatten(const Value &like, llvm::ArrayRef<mlir::Value> &tensors);
/// Whether an op of ONNX takes or gives sequences or optionals.
bool isSequenceOp(llvm::StringRef op);
/// Whether a sequence tells what its elements are; one of empty lists does not.
bool hasKind(const Sequence &sequence);
/// The types of the tensors that hold no elements of the kind of `like`, which is in tensors.
llvm::SmallVector<mlir::RankedTensorType> typesOfNone(const Sequence &like);
/// The dims of a tensor: i64[1, rank].
Item rowOfDims(NodeImport &node, Item x);
/// The elements of a tensor as one dim.
Item flat(NodeImport &node, Item x);
/// The sequence in tensors of the elements of all `parts`, which are in tensors, one after another.
/// Null after an error.
std::shared_ptr<Sequence> joinedSequences(NodeImport &node,
                                          llvm::ArrayRef<std::shared_ptr<Sequence>> parts);
/// Makes a sequence result 0 of a node. False after an error.
bool setSequence(NodeImport &node, Sequence sequence);
/// How many elements a sequence has.
mlir::AffineExpr countOf(const Sequence &sequence, mlir::MLIRContext *context);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_CONTROL_REGIONS_H
