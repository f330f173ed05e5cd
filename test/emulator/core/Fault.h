//===- Fault.h - why an emulated launch ended -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace dlc::emu {

/// The kinds of fault that a CUDA driver tells apart.
enum class Fault {
  None,
  /// Access outside each buffer.
  IllegalAddress,
  Misaligned,
  /// Everything else: races, divergent barriers, deadlocks, misuse of collectives.
  LaunchFailed,
};

/// A piece of a report. Not a std::string: a failing thread leaves its stack without destructors,
/// and must own nothing.
struct Text {
  char text[512];
  const char *c_str() const { return text; }
};

/// printf into a Text; what does not fit is cut.
__attribute__((format(printf, 1, 2))) Text formatText(const char *format, ...);

/// Ends the kernel that runs on this host thread: the message gets the kernel, block, thread and
/// policy added and becomes the launch's report.
[[noreturn]] __attribute__((format(printf, 2, 3))) void failThread(Fault fault, const char *format,
                                                                   ...);

} // namespace dlc::emu
