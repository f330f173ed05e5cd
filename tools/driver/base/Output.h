//===- Output.h - Standard output, messages, and files that are whole or absent -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_BASE_OUTPUT_H
#define DLC_TOOLS_DRIVER_BASE_OUTPUT_H

#include "tools/driver/base/ExitCode.h"

#include <string>
#include <string_view>

namespace dlc {

/// Keeps the numbers 0 to 2 from files that are opened later, where a parent closed them: an error
/// message must never end in a model. Reads and writes of them fail as before.
void reserveStandardFiles();
/// Writes `text` to standard output and returns `code`. A reader that has gone (`| head`) ends the
/// process quietly, as SIGPIPE does; any other failure is reported and gives kDevice.
int finishOutput(std::string_view text, int code = kOk);
/// A line on standard error; a newline is added where it lacks one.
void complain(std::string_view text);
/// "error: MESSAGE" on standard error; returns `code`.
int fail(int code, std::string_view message);

/// From now on the first Ctrl-C is noted and does not end the process.
void stopWhenAsked();
/// Whether there was one.
bool isAskedToStop();

/// Whether `path` is standard output, a device or a pipe: bytes go there as they come, and what was
/// there is not replaced.
bool isStream(const std::string &path);
/// Whether two outputs would go to one file, which need not exist yet.
bool namesSameFile(const std::string &one, const std::string &other);
/// Whether `path` may be written, to be called before long work and again when all inputs are
/// known: kUsage where it leads to a file that this process reads (frontend/arrays/InputFiles.h),
/// kDevice where it cannot be written, each with an error.
int checkOutput(const std::string &path);
/// Writes `bytes` to the file `path` so that it holds all of them or is as it was before: a
/// temporary file beside it is written, synced and renamed, and removed if a signal ends the
/// process. A symlink's target is replaced, not the link.
/// "-", devices and pipes are written directly. An ExitCode as that of checkOutput, which it calls;
/// reported unless kOk.
int writeFile(const std::string &path, std::string_view bytes);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_BASE_OUTPUT_H
