//===- Plan.h - A program under bound shapes: places, sizes, launches -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What CPU and CUDA share of running a program. A plan holds numbers only; the device turns offsets
// into addresses and launches into calls.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_PACKAGE_PLAN_H
#define DLC_RUNTIME_CORE_PACKAGE_PLAN_H

#include "runtime/core/Status.h"
#include "runtime/core/package/Module.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace dlc::rt {

struct PlannedBuffer {
  schema::Storage storage; ///< of the root: never `view`
  uint32_t root;           ///< the buffer whose bytes these are; itself where it is no view
  uint32_t index; ///< of the root: in the module's list of inputs, outputs, states or weights
  int64_t bytes;
  /// Of the root in the arena (arena), the persistent block (persistent) or that of states (state)
  int64_t offset = 0;
  /// A weight or persistent buffer that commands of the init program use and those of the main
  /// program do not: it may go once the former have run. The offset of a persistent one is in the
  /// block of temporaries.
  bool isTemporary = false;
  uint32_t lastUse = 0; ///< of a temporary: the last init command that uses it
};

struct PlannedArg {
  bool isBuffer;
  int64_t value; ///< index of the buffer, or the dim itself
};

/// One matrix as a product walks it: steps are in elements.
struct PlannedMatrix {
  uint32_t buffer;
  int64_t row, column, batch; ///< from one row, column, matrix to the next
};

/// A launch that is a plain matrix product: schema::Product under bound shapes.
struct PlannedProduct {
  schema::DType dtype;
  bool tf32;
  int64_t rows, columns, depth, batch;
  PlannedMatrix a, b, target; ///< rows x depth, depth x columns, rows x columns
  /// Architectures of GPUs where the library is estimated to be faster under these shapes; 0: all.
  std::vector<uint32_t> gpus;
};

/// schema::TensorMap under bound shapes.
struct PlannedMap {
  uint32_t buffer;
  schema::DType dtype;
  int64_t columns, rows, step; ///< elements
  uint32_t box[2];             ///< columns, rows
};

struct PlannedCommand {
  const schema::Launch *launch = nullptr; ///< null: a copy
  bool skip = false;                      ///< nothing to do under these shapes
  bool isInChain = false;                 ///< and skipped: a launch before it does its work
  std::vector<PlannedArg> args;
  std::vector<PlannedMap> maps;    ///< behind the arguments
  int64_t grid[3] = {1, 1, 1};     ///< cpu: tiles of a phase, phases, 1
  int64_t scratchBytes = 0;        ///< cpu: for each thread. cuda: dynamic shared memory
  uint32_t source = 0, target = 0; ///< copy
  int64_t flops = 0, bytes = 0;
  std::optional<PlannedProduct> product; ///< what a matrix library may compute instead
};

struct Plan {
  std::vector<PlannedBuffer> buffers;
  std::vector<PlannedCommand> commands;
  int64_t arenaBytes = 0, persistentBytes = 0, scratchBytes = 0;
  int64_t stateBytes = 0;     ///< of all states, one behind another
  int64_t exchangeBytes = 0;  ///< of the launch that exchanges most
  int64_t temporaryBytes = 0; ///< init: of the block of temporaries
};

enum class Phase { init, main };

/// Where inputs and outputs live while a program runs.
enum class Interface { callerMemory, arena };

/// Which variants of launches are taken, of those that hold for the shapes.
struct VariantUse {
  bool any = true;     ///< false: none
  bool chains = false; ///< also launches in the place of several (schema::Chain)
  int gpu = 0;         ///< also those whose code is for this GPU alone: 90 for sm_90a
  /// By kernel: whether it may be launched. Null: each may.
  const std::vector<bool> *usable = nullptr;

  bool allows(const schema::Variant &variant) const {
    return any && allows(*variant.launch(), variant.gpu());
  }
  bool allows(const schema::Chain &chain) const {
    return chains && allows(*chain.launch(), chain.gpu());
  }
  /// The first chain that takes the launch's place; null where none does.
  const schema::Chain *chainOf(const schema::Launch &launch) const;

private:
  bool allows(const schema::Launch &launch, uint32_t ofGpu) const;
};
/// Whether `values`, of the module's expressions, lie within the limits.
bool areWithin(const flatbuffers::Vector<const schema::Limits *> *limits,
               const std::vector<int64_t> &values);

/// Evaluates `program` under `values` (of the module's expressions; for `init` under any values)
/// and places its buffers. DLC_INCOMPATIBLE where the file contradicts itself under these shapes.
Expected<Plan> planProgram(const schema::Program &program, const std::vector<int64_t> &values,
                           Phase phase, Interface interface, const VariantUse &variants = {});

/// "kernel 'conv1' (model.dl:14:9)", for messages.
std::string describeKernel(const schema::Kernel &kernel);
/// "buffer 3 (input 'x', f32[8,1,28,28], 25088 bytes)", for messages.
std::string describeBuffer(const Module &module, const schema::Program &program,
                           const std::vector<int64_t> &values, uint32_t index);

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_PACKAGE_PLAN_H
