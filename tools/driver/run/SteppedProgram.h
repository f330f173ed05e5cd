//===- SteppedProgram.h - A program that is run one command at a time ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The commands are those of any run, so that looking at values changes no fusion. But each buffer
// has memory of its own, in which a caller may read and replace what the commands before have left.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_RUN_STEPPEDPROGRAM_H
#define DLC_TOOLS_DRIVER_RUN_STEPPEDPROGRAM_H

#include "runtime/core/bind/ShapeBinder.h"
#include "runtime/core/package/Module.h"
#include "runtime/core/package/Plan.h"
#include "runtime/cpu/HostBlock.h"
#include "tools/driver/run/Session.h"

#include <memory>
#include <string>
#include <vector>

namespace dlc {

class SteppedProgram {
public:
  virtual ~SteppedProgram() = default;
  /// Loads the file for `device`, which is what dlc_context_device says of a context. An ExitCode,
  /// reported unless it is kOk: kUnsupported where data say how large values are, whose commands
  /// cannot be told from their padding.
  static int open(const std::string &path, const std::string &device, const DeviceOptions &options,
                  std::unique_ptr<SteppedProgram> &made);

  /// Binds the shapes of these inputs, which have these names, and takes their values. States are
  /// zero, and nothing has run.
  rt::Status begin(const std::vector<dlc_tensor> &inputs, const std::vector<std::string> &names);
  size_t numCommands() const { return plan.commands.size(); }
  /// Runs a command. `written` becomes the buffers that it has changed.
  rt::Status step(size_t command, std::vector<uint32_t> &written);

  /// A buffer's value, row-major in its logical dims. An element that nothing has written yet has
  /// the bytes of kPoison.
  HostTensor value(uint32_t buffer) const;
  /// Replaces a buffer's value, but for elements of `tensor` that nothing has written: it has the
  /// same dims, and the dtype of the buffer or any where that is f32 or f64.
  void setValue(uint32_t buffer, const HostTensor &tensor);
  bool takesValuesOf(uint32_t buffer, dlc_dtype dtype) const;
  static bool isWritten(const HostTensor &tensor, int64_t position);

  /// What tells the values of a program apart from each other, and is the same for the same value
  /// in another program of the model: the output or state that it is, else its layers and place,
  /// and its dims.
  std::string keyOf(uint32_t buffer) const;
  const schema::Buffer &bufferTable(uint32_t buffer) const {
    return *table->buffers()->Get(buffer);
  }
  /// The output or state that the buffer is; empty for others.
  std::string interfaceName(uint32_t buffer) const;
  /// The kernel that a command launches; null for a copy.
  const schema::Kernel *kernelOf(size_t command) const;

protected:
  SteppedProgram(std::shared_ptr<rt::Module> module, const schema::Program &table)
      : module(std::move(module)), table(&table) {}
  /// The variants of launches that the device can take.
  virtual rt::VariantUse variants() const { return {}; }
  /// Called when `plan` and `contents` are those of new shapes.
  virtual rt::Status place() = 0;
  /// Runs a command on the contents of `roots`, the buffers that it may read or write.
  virtual rt::Status execute(const rt::PlannedCommand &command,
                             const std::vector<uint32_t> &roots) = 0;
  /// Weights and what the init program makes of them: no command of the main program writes it.
  static bool isFixed(schema::Storage storage) {
    return storage == schema::Storage::weight || storage == schema::Storage::persistent;
  }

  std::shared_ptr<rt::Module> module;
  const schema::Program *table;
  rt::Binding binding;
  rt::Plan plan;
  std::vector<cpu::HostBlock> contents; // by root; none of what is fixed

private:
  std::vector<uint32_t> rootsOf(const rt::PlannedCommand &command) const;
  std::vector<int64_t> dimsOf(uint32_t buffer) const;
  std::vector<std::vector<int64_t>> offsetsOf(uint32_t buffer) const;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_RUN_STEPPEDPROGRAM_H
