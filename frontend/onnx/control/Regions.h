//===- Regions.h - Branches and steps that the running model takes -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_REGIONS_H
#define DLC_FRONTEND_ONNX_REGIONS_H

#include "frontend/onnx/Importer.h"
#include "frontend/onnx/read/NodeOrder.h"

namespace dlc::onnx {

/// The graph that the attribute `name` of a node holds; null where it has none.
const Graph *graphOf(NodeImport &node, llvm::StringRef name);

/// Takes a value that has the kind of `like` from the front of `tensors`: one, or the two of a sequence.
Value unflatten(const Value &like, llvm::ArrayRef<mlir::Value> &tensors);
/// Whether an op of ONNX takes or gives sequences or optionals.
bool isSequenceOp(llvm::StringRef op);

/// The values that a tuple of references refers to.
template <typename... Parts> std::tuple<Parts...> copied(const std::tuple<Parts &...> &parts) {
  return parts;
}

/// While it lives, ops go into another block: what was made for sizes before serves in it, and what
/// is made for sizes in it is forgotten.
class RegionScope {
public:
  /// `depth`: how many of them there are.
  RegionScope(frontend::OpEmitter &emitter, mlir::OpBuilder &builder, mlir::Block *block,
              unsigned &depth)
      : emitter(emitter), guard(builder), depth(depth), made(copied(emitter.madeForSizes())),
        readsCounts(emitter.readsCounts) {
    emitter.readsCounts = true;
    ++depth;
    builder.setInsertionPointToEnd(block);
  }
  ~RegionScope() {
    emitter.madeForSizes() = made;
    emitter.readsCounts = readsCounts;
    --depth;
  }

private:
  frontend::OpEmitter &emitter;
  mlir::OpBuilder::InsertionGuard guard;
  unsigned &depth;
  decltype(copied(std::declval<frontend::OpEmitter &>().madeForSizes())) made;
  bool readsCounts;
};

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_REGIONS_H
