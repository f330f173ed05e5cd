//===- ModelOutput.cpp - The files that a compile writes ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compiler/ModelOutput.h"

#include "tools/driver/base/Output.h"
#include "tools/driver/compiler/CompileUsage.h"
#include "tools/driver/inspect/Plan.h"
#include "tools/driver/weights/WeightReader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <unistd.h>

using namespace mlir;
using Clock = std::chrono::steady_clock;

namespace dlc {

std::string ModelOutput::path() const {
  const std::string &output = session.options.output;
  if (!output.empty())
    return output == "/dev/stdout" ? "-" : output;
  return last == Phase::package ? "model.bin" : "-";
}

/// Whether --dump-dir may write a file of this name.
static bool isNameOfDump(StringRef name) {
  return (name.ends_with(".mlir") && llvm::isDigit(name[0])) ||
         (name.ends_with(".cu") && name.starts_with("kernel-")) || name == "plan.txt" ||
         name == "timing.json" || name == "repro.sh";
}

int ModelOutput::check() const {
  for (const std::string &file : {path(), session.options.report})
    if (int code = file.empty() ? 0 : checkOutput(file))
      return code;
  const std::string &folder = session.options.dumpDir;
  std::error_code error; // a folder that is not there yet holds no input
  for (llvm::sys::fs::directory_iterator entry(folder, error), end;
       !folder.empty() && !error && entry != end; entry.increment(error))
    if (isNameOfDump(llvm::sys::path::filename(entry->path())))
      if (int code = checkOutput(entry->path()))
        return code;
  return kOk;
}

int ModelOutput::makeDumpFolder() const {
  const std::string &folder = session.options.dumpDir;
  std::error_code error;
  if (!folder.empty())
    error = llvm::sys::fs::create_directories(folder);
  return error ? fail(kDevice, "cannot make the folder '" + folder + "': " + error.message())
               : int(kOk);
}

int ModelOutput::print(ModuleOp module) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  flags.enableDebugInfo(session.options.locations);
  module->print(os, flags);
  os << '\n';
  return writeFile(path(), text);
}

int ModelOutput::write(ModuleOp flow, ArrayRef<CompiledModule> compiled) {
  Clock::time_point started = Clock::now();
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  std::vector<codegen::CompiledSegment> segments;
  for (const CompiledModule &segment : compiled)
    segments.push_back({*segment.module, &segment.code});
  if (failed(flow ? codegen::writePackage(flow, segments, readPackedWeight, os)
                  : codegen::writePackage(*compiled.front().module, compiled.front().code,
                                          readPackedWeight, os)))
    return kModelError; // a weight that is not bound or has changed: reported at its line
  int status = writeFile(path(), bytes);
  session.trace.addStep("write", started);
  if (status == kOk && path() != "-" && !session.options.quiet && isatty(STDERR_FILENO))
    complain(llvm::formatv("{0}: {1:N} bytes, {2:F2} s", path(), bytes.size(),
                           std::chrono::duration<double>(Clock::now() - begin).count())
                 .str());
  return status;
}

int ModelOutput::finishDump(int status, ModuleOp module, const codegen::GeneratedCode &code) const {
  const std::string &folder = session.options.dumpDir;
  if (folder.empty())
    return status;
  int dumped = session.trace.getStatus();
  auto put = [&](const std::string &name, const std::string &text) {
    if (dumped == kOk)
      dumped = writeFile(folder + "/" + name, text);
  };
  for (const auto &[name, kernel] : code.cuda)
    put("kernel-" + name + ".cu", kernel.text);
  if (module && last >= Phase::buffers && status == kOk)
    put("plan.txt", describePlan(module));
  put("timing.json", session.trace.timesAsJson());
  put("repro.sh", reproduction(session.options.commandLine));
  return status == kOk ? dumped : status;
}

} // namespace dlc
