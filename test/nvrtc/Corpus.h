//===- Corpus.h - The kernel texts to compile -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef DLC_TEST_NVRTC_CORPUS_H
#define DLC_TEST_NVRTC_CORPUS_H

#include "runtime/core/package/Module.h"
#include "runtime/cuda/kernels/KernelText.h"
#include "test/nvrtc/Limits.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dlc::nvrtc {

/// One translation unit, and how its kernels are launched.
struct Source {
  std::string name;   ///< "resnet18.bin: conv2d_relu", or the file's
  std::string kind;   ///< of its kernel: map, reduce, contraction; empty where not known
  std::string digest; ///< what the cache of compiled kernels knows the text by
  cuda::KernelText text;
  std::map<std::string, LaunchFacts> launches; ///< by kernel
};

/// Texts out of .cu files and compiled models; equal ones are taken once, with the largest launch.
class Corpus {
public:
  /// Against all device headers. `kind` is that of its kernels, or empty.
  void addText(const std::string &name, const std::string &text, const std::string &kind);
  /// A model.bin, or else the text of a file with kernels of that kind. False, after a line about
  /// it, where it cannot be read.
  bool addFile(const std::string &path, const std::string &kind);

  const std::vector<Source> &sources() const { return all; }
  /// Texts that were another's equal.
  size_t repeated() const { return repetitions; }

private:
  bool addModel(const std::string &path);
  void add(Source source);

  std::vector<Source> all;
  std::map<std::string, size_t> byDigest;
  cuda::KernelDigest digest;
  size_t repetitions = 0;
  std::vector<std::shared_ptr<rt::Module>> modules; // texts live in them
  std::vector<std::unique_ptr<std::string>> texts;
};

} // namespace dlc::nvrtc

#endif // DLC_TEST_NVRTC_CORPUS_H
