//===- KernelText.h - The CUDA C++ of a kernel, and what identifies it ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_KERNELS_KERNELTEXT_H
#define DLC_RUNTIME_CUDA_KERNELS_KERNELTEXT_H

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dlc::cuda {

/// One translation unit. Texts are borrowed: they live in the module.
struct KernelText {
  std::string name; ///< for messages
  const char *source = nullptr;
  std::vector<const char *> headers, headerNames;
};

/// `text` without comments, spaces at ends of lines and empty lines; literals stay as they are.
/// Model names and lines stand in comments, so that texts which compile to the same code become
/// equal.
std::string stripComments(std::string_view text);

/// Identifies kernels by SHA-256 of the comment-stripped text and headers, in hexadecimal: the key
/// of the cubin cache and of the ledger of kernels that hardware has confirmed. Remembers the
/// headers' parts.
class KernelDigest {
public:
  std::string of(const KernelText &text);

private:
  const std::string &ofHeader(const char *header);
  std::map<const char *, std::string> headers;
};

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_KERNELS_KERNELTEXT_H
