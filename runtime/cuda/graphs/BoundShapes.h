//===- BoundShapes.h - Programs under bound shapes, and their graphs ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A server meets the same few shapes again and again. For each of the last ones, and for those that were prepared, the plan is kept,
// and a CUDA graph of its commands, which replays in one call what takes one call a kernel: from the second run on, or ahead.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_BOUNDSHAPES_H
#define DLC_RUNTIME_CUDA_BOUNDSHAPES_H

#include "runtime/core/package/Plan.h"
#include "runtime/cuda/driver/Device.h"
#include "runtime/cuda/kernels/LibraryProduct.h"

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <vector>

namespace dlc::cuda {

/// The program under one value of each symbol.
struct BoundShape {
  std::vector<int64_t> symbols;
  rt::Plan plan;
  std::vector<DevicePtr> addresses; ///< by buffer; of the arena at `arena`
  DevicePtr arena = 0, exchange = 0, states = 0;
  /// By command: what the matrix library computes in the kernel's place, in the workspace at `workspace`. Empty: not
  /// decided yet.
  std::vector<std::unique_ptr<LibraryProduct>> products;
  DevicePtr workspace = 0;
  unsigned runs = 0;         ///< at these addresses
  GraphExec graph = nullptr; ///< of the commands, once captured
  bool isStale = false;      ///< the graph is of other inputs and outputs than `addresses` has
  /// The graph's launches that read or write inputs and outputs, by command, where nothing else does: they can be given other
  /// addresses one by one. Nodes of `recorded`, which is kept for that.
  std::vector<std::pair<size_t, GraphNode>> movable;
  Graph recorded = nullptr;
  bool withoutGraph = false; ///< capturing failed, or does not pay
  bool isPrepared = false;   ///< it stays, and has its graph before its first run
};

/// The shapes bound last, the newest first. Destroyed with the device's context current.
class BoundShapes {
public:
  /// How many are kept that are not prepared.
  static constexpr size_t kLimit = 16;

  explicit BoundShapes(GpuDevice &device) : device(device) {}
  ~BoundShapes() { clear(); }
  BoundShapes(const BoundShapes &) = delete;
  BoundShapes &operator=(const BoundShapes &) = delete;

  /// The entry of these symbols, which becomes the newest; null where there is none.
  BoundShape *find(const std::vector<int64_t> &symbols);
  /// Adds an entry as the newest; the oldest that is not prepared may go.
  BoundShape &add(std::vector<int64_t> symbols, rt::Plan plan);
  void clear();
  std::list<BoundShape>::iterator begin() { return shapes.begin(); }
  std::list<BoundShape>::iterator end() { return shapes.end(); }

  /// The newest node of what `stream` captures; null where the driver does not tell.
  GraphNode newestNode(Stream stream) const;

  /// Addresses have changed: the graph is of no use any more.
  void forgetGraph(BoundShape &shape) const;

  /// Records what `enqueue`, which may fill `movable`, puts into `stream`, which is the runtime's own, as the shape's graph; one that
  /// it has already takes over what is new. Where
  /// that fails for want of something (memory, a function of an old driver) the shape goes on without one:
  /// only an error after which the device is lost is a failure. `finish` waits for the runs in flight, which a graph outlives.
  rt::Status capture(BoundShape &shape, Stream stream, const std::function<rt::Status()> &enqueue,
                     const std::function<rt::Status()> &finish) const;

private:
  void forgetNodes(BoundShape &shape) const;

  GpuDevice &device;
  std::list<BoundShape> shapes;
};

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_BOUNDSHAPES_H
