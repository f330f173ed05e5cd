//===- Ptxas.cpp - What ptxas says of the kernels that it compiled --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "test/nvrtc/Ptxas.h"

#include <algorithm>
#include <cstdlib>

using namespace dlc::nvrtc;

/// The number before `what` in "Used 30 registers, used 1 barriers, 32 bytes smem"; 0 where it is
/// not there.
static int numberBefore(std::string_view line, std::string_view what) {
  size_t end = line.find(what);
  if (end == std::string_view::npos)
    return 0;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9')
    --begin;
  return std::atoi(std::string(line.substr(begin, end - begin)).c_str());
}

/// What stands between the first two quotes.
static std::string quotedName(std::string_view line) {
  size_t begin = line.find('\'');
  size_t end = begin == std::string_view::npos ? begin : line.find('\'', begin + 1);
  return end == std::string_view::npos ? "" : std::string(line.substr(begin + 1, end - begin - 1));
}

PtxasLog PtxasLog::parse(std::string_view log) {
  PtxasLog result;
  while (!log.empty()) {
    std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    auto has = [&](std::string_view what) { return line.find(what) != std::string_view::npos; };
    bool isRemark = has("warning") || has("Warning") || has("Performance Loss") ||
                    has("serialized") || has("error");
    KernelResources *kernel = result.kernels.empty() ? nullptr : &result.kernels.back();
    if (isRemark) {
      result.remarks += std::string(line) + "\n";
    } else if (has("Compiling entry function")) {
      result.kernels.push_back({quotedName(line)});
    } else if (has("bytes stack frame")) {
      // Functions that were not inlined count for the kernel that is being compiled.
      if (kernel) {
        kernel->stackBytes = std::max(kernel->stackBytes, numberBefore(line, " bytes stack frame"));
        kernel->spilledBytes +=
            numberBefore(line, " bytes spill stores") + numberBefore(line, " bytes spill loads");
      }
    } else if (has("Used ") && kernel) {
      kernel->registers = numberBefore(line, " registers");
      kernel->sharedBytes = numberBefore(line, " bytes smem");
    } else if (!has("ptxas info") && line.find_first_not_of(" \t\r") != std::string_view::npos) {
      result.remarks += std::string(line) + "\n";
    }
  }
  return result;
}
