//===- CpuRecords.h - What each command of a CPU program writes -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef DLC_TEST_HARDWARE_CPURECORDS_H
#define DLC_TEST_HARDWARE_CPURECORDS_H

#include "runtime/core/bind/ShapeBinder.h"
#include "runtime/core/package/Plan.h"
#include "runtime/cpu/CpuProgram.h"
#include "test/hardware/CasePlan.h"

namespace dlc::hardware {

using Bytes = std::vector<char>;

/// The byte that memory holds before anything is written to it.
constexpr char kPoison = char(0xa5);
/// Why `CpuRecords::find` finds nothing.
constexpr const char *kNoCounterpart = "the CPU program has no buffer like what it writes";

/// A value of the CPU program: what one of its commands has written.
struct Record {
  const schema::Buffer *buffer; ///< dtype and layout
  std::string kernel;           ///< empty for a copy
  Bytes bytes;
  bool isTaken = false; ///< a buffer of the CUDA program has been found to hold it
};

/// Memory that no command of the main program writes.
inline bool isFixed(schema::Storage storage) {
  return storage == schema::Storage::weight || storage == schema::Storage::persistent;
}

/// The buffers that a launch may read or write: roots, each once.
std::vector<uint32_t> rootsOf(const rt::Plan &plan, const rt::PlannedCommand &command);

/// The name of the kernel that a launch runs.
std::string nameOf(const schema::Program &program, const rt::PlannedCommand &command);

class CpuRecords {
public:
  CpuRecords(rt::Module &module, const Run &run, int roundingBits)
      : module(module), run(run), bits(roundingBits) {}

  /// Runs the CPU program, one command at a time, and records what each of them writes.
  rt::Status record(const rt::Binding &binding);

  /// The record that `bytes` agree with, the one with the most bytes in common if there are
  /// several: then those that no buffer has been found to hold before others, and of these the one
  /// of the kernel of the same name. Null where there is none; `problem` then tells how far the
  /// likeliest one is off. The record is part of `all`.
  Record *find(const schema::Buffer &buffer, const std::string &kernel, const Bytes &bytes,
               std::string &problem);

  int roundingBits() const { return bits; }

  std::vector<Record> all;
  std::vector<Record> outputs; ///< by their numbers

private:
  rt::Status recordCommand(cpu::CommandRunner &runner, const rt::Plan &plan, size_t command,
                           const rt::Binding &binding, const cpu::Addresses &places);

  rt::Module &module;
  const Run &run;
  int bits;
};

} // namespace dlc::hardware

#endif // DLC_TEST_HARDWARE_CPURECORDS_H
