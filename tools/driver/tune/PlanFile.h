//===- PlanFile.h - Plans of kernels that were measured -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `dlc tune` writes this file and `dlc compile --plans` reads it. The first line is "dlc-plans 1",
// comments aside; each line after it is a plan:
//
//     TARGET DIGEST PLAN
//     cpu 5b0c31f29ad44e07 windows   # conv2d_relu: 33.0 us, by panels 41.2
//
// '#' begins a comment. A kernel whose own plan is the fastest is a comment, too. The digest is
// that of the kernel (KernelDigest.h): a plan serves every model that has the same kernel, and no
// other kernel of the same name.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_TUNE_PLANFILE_H
#define DLC_TOOLS_DRIVER_TUNE_PLANFILE_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace dlc {

struct MeasuredPlan {
  std::string target; // cpu or cuda
  std::string digest; // 16 hexadecimal digits
  std::string plan;   // a schedule and numbers of it, as --force-plan names them
  std::string remark; // for people; empty where the plan was read
  bool isOwn = false; // what the kernel has without the file: written as a comment
};

/// The text of a file: `remarks` are comments at its head, a line each.
std::string planFileText(const std::vector<std::string> &remarks,
                         const std::vector<MeasuredPlan> &plans);

/// Reads the file. Nothing where that fails or a line is none of a plan file; an error at that line
/// has been printed, and `code` is the ExitCode.
std::optional<std::vector<MeasuredPlan>> readPlanFile(const std::string &path, int &code);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TUNE_PLANFILE_H
