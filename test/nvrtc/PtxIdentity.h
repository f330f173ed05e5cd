//===- PtxIdentity.h - What a kernel is known by in the ledger --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef DLC_TEST_NVRTC_PTXIDENTITY_H
#define DLC_TEST_NVRTC_PTXIDENTITY_H

#include "runtime/cuda/driver/Library.h"
#include "runtime/cuda/kernels/KernelText.h"

#include <string>
#include <string_view>

namespace dlc::nvrtc {

/// PTX without what no instruction depends on: comments, spaces and the names of functions, of
/// their parameters and of variables, which become $0, $1, ... in the order in which they first
/// appear. Texts that differ only in names, in comments, in unused declarations of their headers or
/// in how these are split into files give the same.
std::string canonicalPtx(std::string_view ptx);

/// "13.0.88" of the NVRTC that wrote `ptx`, from the comment at its head; empty where there is
/// none.
std::string versionIn(std::string_view ptx);

/// The SHA-256 of the canonical PTX, and the version of the NVRTC that wrote it.
struct PtxIdentity {
  std::string sha256, nvrtc;
  std::string problem; ///< what NVRTC says where it refuses the text; the others are empty then
};

/// Compiles `text` for "sm_90a" or the like, as far as PTX, with the options of the runtime's
/// KernelCompiler. Safe to call from several threads.
PtxIdentity identify(const cuda::Nvrtc &nvrtc, const cuda::KernelText &text,
                     const std::string &architecture);

} // namespace dlc::nvrtc

#endif // DLC_TEST_NVRTC_PTXIDENTITY_H
