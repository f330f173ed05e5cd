//===- CpuProgram.h - A module's program made ready for this processor ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CPU_CPUPROGRAM_H
#define DLC_RUNTIME_CPU_CPUPROGRAM_H

#include "runtime/core/package/Module.h"
#include "runtime/cpu/CodeImage.h"
#include "runtime/cpu/CommandRunner.h"
#include "runtime/cpu/GuardedBuffer.h"
#include "runtime/cpu/HostBlock.h"

#include <memory>
#include <string>
#include <vector>

namespace dlc::cpu {

/// The state that all contexts of a module share: code, weights, and what the init program made of
/// them.
class CpuProgram : public rt::PreparedProgram {
public:
  /// The module's prepared program; loads the code and runs the init program the first time.
  /// Checked and unchecked contexts do not share one.
  static rt::Expected<std::shared_ptr<CpuProgram>>
  get(rt::Module &module, std::shared_ptr<ThreadPool> pool, bool checked);

  const schema::Program &program() const { return table; }
  const std::vector<abi::CpuKernel> &kernels() const { return entries; }
  const std::string &isa() const { return isaName; }
  bool isChecked() const { return checked; }
  /// The bytes of the weights that the main program reads as they are in the file.
  int64_t weightBytes() const { return bytesOfWeights; }

  /// Sets the addresses of weights and persistent buffers and of their views.
  void resolve(const rt::Plan &plan, Addresses &addresses) const;

private:
  CpuProgram(const rt::Module &module, const schema::Program &table, CodeImage image, bool checked)
      : module(module), table(table), image(std::move(image)), checked(checked) {}
  rt::Status prepare(std::shared_ptr<ThreadPool> pool);
  rt::Status guardBuffers(const rt::Plan &plan);
  rt::Status copySmallWeights(const rt::Plan &plan);
  rt::Status runInit(const rt::Plan &plan, const std::vector<int64_t> &values,
                     std::shared_ptr<ThreadPool> pool);
  const schema::Segment &dataOf(const rt::PlannedBuffer &weight) const {
    return *module.table().weights()->Get(weight.index)->data();
  }

  const rt::Module &module; ///< owns this
  const schema::Program &table;
  CodeImage image;
  bool checked;
  std::string isaName;
  std::vector<abi::CpuKernel> entries;
  HostBlock persistent;
  HostBlock temporaries;              ///< what the init program alone uses, while it runs
  HostBlock small;                    ///< copies of the small weights that the main program reads
  std::vector<int64_t> smallOffsets;  ///< in it, by buffer; -1: the weight is read from the file
  std::vector<GuardedBuffer> guarded; ///< checked mode: weights and persistent buffers, by buffer
  int64_t bytesOfWeights = 0;
};

} // namespace dlc::cpu

#endif // DLC_RUNTIME_CPU_CPUPROGRAM_H
