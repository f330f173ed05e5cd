//===- Output.h - Standard output, messages, and files that are whole or absent --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_OUTPUT_H
#define DLC_TOOLS_DRIVER_OUTPUT_H

#include "tools/driver/ExitCode.h"

#include <string>
#include <string_view>

namespace dlc {

/// Keeps the numbers 0 to 2 from files that are opened later, where a parent closed them: an error message must never end in
/// a model. Reads and writes of them fail as before.
void reserveStandardFiles();
/// Writes `text` to standard output and returns `code`. A reader that has gone (`| head`) ends the process quietly, as
/// SIGPIPE does; any other failure is reported and gives kDevice.
int finishOutput(std::string_view text, int code = kOk);
/// A line on standard error; a newline is added where it lacks one.
void complain(std::string_view text);
/// "error: MESSAGE" on standard error; returns `code`.
int fail(int code, std::string_view message);

/// Writes `bytes` to the file `path` so that it holds all of them or is as it was before: a temporary file beside it is
/// written, synced and renamed, and removed if a signal ends the process. A symlink's target is replaced, not the link.
/// "-", devices and pipes are written directly. Returns why it failed, empty if it did not.
std::string writeFile(const std::string &path, std::string_view bytes);
/// Why `path` cannot be written, found before long work; empty where nothing speaks against it.
std::string whyNotWritable(const std::string &path);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_OUTPUT_H
