//===- CommandGraph.h - A plan's commands as a CUDA graph -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_GRAPHS_COMMANDGRAPH_H
#define DLC_RUNTIME_CUDA_GRAPHS_COMMANDGRAPH_H

#include "runtime/cuda/CudaProgram.h"

#include <functional>
#include <vector>

namespace dlc::cuda {

/// Which commands of a graph are given other numbers.
enum class Patched { all, interface };

/// A graph replays in one call what takes one call a command. Its functions, the destructor too,
/// need the device's context to be current.
class CommandGraph {
public:
  explicit CommandGraph(GpuDevice &device) : device(device) {}
  ~CommandGraph() { forget(); }
  CommandGraph(const CommandGraph &) = delete;
  CommandGraph &operator=(const CommandGraph &) = delete;

  /// There is a graph that can be launched.
  bool isMade() const { return exec != nullptr; }
  /// It shall not be made: that failed, or does not pay.
  bool isGivenUp() const { return givenUp; }

  /// Records what `enqueue`, which calls note() after each command, puts into `stream`, which is
  /// the runtime's own. A graph that there is takes over what is new. Where that fails for want of
  /// something (memory, a function of an old driver) it is given up: only an error after which the
  /// device is lost is a failure. `finish` waits for the runs in flight, which a graph outlives.
  rt::Status record(Stream stream, const std::function<rt::Status()> &enqueue,
                    const std::function<rt::Status()> &finish);
  /// Remembers the newest node of what `stream` captures as the command's.
  void note(size_t command, Stream stream);

  /// Gives the nodes of the commands, all of them or those that use inputs or outputs, what `plan`
  /// and `addresses` say: arguments and grid of a launch, ends and size of a copy. A graph in
  /// flight may be given them: CUDA has launches that are enqueued or running keep theirs. False
  /// where it cannot be done; then some nodes may have been changed, and the graph is recorded anew
  /// or given up.
  bool patch(const CudaProgram &program, const rt::Plan &plan,
             const std::vector<DevicePtr> &addresses, Patched which);

  Result launch(Stream stream) const { return device.driver().graphLaunch(exec, stream); }

  /// Gives the graph back: of no use any more. No run of it is in flight.
  void forget();
  void giveUp() {
    forget();
    givenUp = true;
  }

private:
  struct Node {
    GraphNode node = nullptr; ///< null: the command has none, or the driver does not tell
    LaunchParameters last;    ///< what it was given last
  };
  rt::Status capture(Stream stream, const std::function<rt::Status()> &enqueue, Graph &graph);

  GpuDevice &device;
  GraphExec exec = nullptr;
  Graph recorded = nullptr; ///< kept while there are `nodes`
  std::vector<Node> nodes;  ///< by command, of `recorded`
  bool givenUp = false;
};

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_GRAPHS_COMMANDGRAPH_H
