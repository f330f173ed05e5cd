//===- NodeOrder.h - Nodes after those whose results they use -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_READ_NODEORDER_H
#define DLC_FRONTEND_ONNX_READ_NODEORDER_H

#include "frontend/onnx/read/Model.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"

namespace dlc::onnx {

/// Positions of `nodes`, each after those that compute its inputs, what its attributes name and
/// what its subgraphs use, otherwise as they stand in the file. `isKnown` tells the names that
/// stand before all nodes. An error names a value that two nodes compute, all that none does, or
/// the nodes of a cycle.
llvm::Expected<std::vector<size_t>> orderNodes(llvm::ArrayRef<Node> nodes,
                                               llvm::function_ref<bool(llvm::StringRef)> isKnown);

/// Calls `use` for each name that a Gradient says in its attributes: xs, zs and y. Nothing for
/// other nodes.
void eachNamed(const Node &node, llvm::function_ref<void(llvm::StringRef)> use);

/// Adds the names that nodes take: their inputs, those that a Gradient names, and the names that
/// nodes of their subgraphs take or subgraphs return.
void addNamesRead(llvm::ArrayRef<Node> nodes, llvm::StringSet<> &names);

/// "node 'conv1' (Conv)"; a node without a name is called by its first result.
std::string describe(const Node &node);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_READ_NODEORDER_H
