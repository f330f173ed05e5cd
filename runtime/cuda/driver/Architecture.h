//===- Architecture.h - What device code is compiled for ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_DRIVER_ARCHITECTURE_H
#define DLC_RUNTIME_CUDA_DRIVER_ARCHITECTURE_H

#include "runtime/core/Status.h"
#include "runtime/schema/module_generated.h"

#include <string>
#include <string_view>
#include <vector>

namespace dlc::cuda {

/// The oldest GPU that dlc runs on: Ampere, compute capability 8.0.
inline constexpr int kOldestArchitecture = 80;

/// "sm_90a": compute capability 9.0 with the instructions of exactly that GPU.
struct Architecture {
  int number = 0; ///< 90 for compute capability 9.0
  schema::CubinVariant variant = schema::CubinVariant::plain;

  /// DLC_USAGE, with what was expected, where `name` names no architecture that dlc supports.
  /// Whether a compiler knows it is another question.
  static rt::Expected<Architecture> parse(std::string_view name);
  /// What to compile for where the code runs on that device alone: the variant with all its
  /// instructions.
  static Architecture ofDevice(int number);

  /// "sm_90a".
  std::string name() const;
  /// Whether code for this runs on a device of compute capability `device`: plain code also on
  /// later minor versions, family code on later members of the family, specific code on its own GPU
  /// alone.
  bool runsOn(int device) const;

  bool operator==(const Architecture &) const = default;
};

/// Returns true if a device that can run code for `a` and for `b` should run `a`: the architecture
/// closer to the device wins, then the more specific one.
bool servesBetter(const Architecture &a, const Architecture &b);

/// "sm_80, sm_86, sm_90, sm_90a": what a compiler that lists `numbers` takes, of what dlc supports.
std::string describeArchitectures(const std::vector<int> &numbers);
/// Whether such a compiler takes `arch`.
bool isKnown(const Architecture &arch, const std::vector<int> &numbers);

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_DRIVER_ARCHITECTURE_H
