//===- SourcePlaces.h - What a location says about the model ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The locations of ops come in two forms. Those of a .dl model are places of the file, with the
// path of the layer that was called around them: NameLoc("encoder.fc", FileLineColLoc). Those of an
// ONNX model describe the node, with its name, if it has one, in them: NameLoc("node '/l/GRU'
// (GRU)", NameLoc("/l/GRU")).
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_ANALYSIS_SOURCEPLACES_H
#define DLC_IR_ANALYSIS_SOURCEPLACES_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Location.h"

#include <string>
#include <vector>

namespace dlc {

/// Where the ops of a kernel come from: each string once, in the order of the ops.
struct SourcePlaces {
  /// "model.dl:14:9" without the folder of the file; of an ONNX model "/l/GRU", or "node of 'y'
  /// (Relu)" if it has no name.
  std::vector<std::string> lines;
  /// The paths of layers of a .dl model.
  std::vector<std::string> layers;
  /// The names of ops without the dialect's: "conv2d".
  std::vector<std::string> ops;
};
/// Reads the ops of a kernel's body, the terminator excepted.
SourcePlaces sourcePlacesOf(mlir::Block &body);
SourcePlaces sourcePlacesOf(mlir::Operation &op);
/// Those of a location alone, such as that of a fusion: `ops` is empty.
SourcePlaces sourcePlacesOf(mlir::Location loc);
/// The name by which a table shows `op`: its layer, else its ONNX node or place; empty where its
/// location says none.
std::string shownNameOf(mlir::Operation &op);

/// The description of the node of an ONNX model that `loc` names; empty for all other locations.
llvm::StringRef describedNode(mlir::Location loc);

} // namespace dlc

#endif // DLC_IR_ANALYSIS_SOURCEPLACES_H
