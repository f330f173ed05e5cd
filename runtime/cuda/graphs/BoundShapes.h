//===- BoundShapes.h - Programs under bound shapes, and their graphs ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A server meets the same few shapes again and again. For each of the last ones, and for those that
// were prepared, the plan is kept, and a CUDA graph of its commands: from the second run on, or
// ahead.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_GRAPHS_BOUNDSHAPES_H
#define DLC_RUNTIME_CUDA_GRAPHS_BOUNDSHAPES_H

#include "runtime/core/package/Plan.h"
#include "runtime/cuda/graphs/CommandGraph.h"
#include "runtime/cuda/kernels/LibraryProduct.h"

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

namespace dlc::cuda {

/// The program under one value of each symbol.
struct BoundShape {
  explicit BoundShape(GpuDevice &device) : graph(device) {}

  std::vector<int64_t> symbols;
  rt::Plan plan;
  std::vector<DevicePtr> addresses; ///< by buffer; of the arena at `arena`
  DevicePtr arena = 0, exchange = 0, states = 0;
  /// By command: what the matrix library computes in the kernel's place, in the workspace at
  /// `workspace`. Empty: not decided yet.
  std::vector<std::unique_ptr<LibraryProduct>> products;
  DevicePtr workspace = 0;
  unsigned runs = 0;       ///< at these addresses
  CommandGraph graph;      ///< of this shape alone
  bool isStale = false;    ///< the graph is of other inputs and outputs than `addresses` has
  bool isPrepared = false; ///< it stays, and has its graph before its first run
};

/// The shapes bound last, the newest first. Destroyed with the device's context current.
class BoundShapes {
public:
  /// How many are kept that are not prepared.
  static constexpr size_t kLimit = 16;

  explicit BoundShapes(GpuDevice &device) : device(device) {}
  BoundShapes(const BoundShapes &) = delete;
  BoundShapes &operator=(const BoundShapes &) = delete;

  /// The entry of these symbols, which becomes the newest; null where there is none.
  BoundShape *find(const std::vector<int64_t> &symbols);
  /// Adds an entry as the newest; the oldest that is not prepared may go.
  BoundShape &add(std::vector<int64_t> symbols, rt::Plan plan);
  void clear() { shapes.clear(); }
  std::list<BoundShape>::iterator begin() { return shapes.begin(); }
  std::list<BoundShape>::iterator end() { return shapes.end(); }

private:
  GpuDevice &device;
  std::list<BoundShape> shapes;
};

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_GRAPHS_BOUNDSHAPES_H
