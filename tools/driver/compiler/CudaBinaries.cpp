//===- CudaBinaries.cpp - Kernels compiled for named GPUs, ahead of time ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compiler/CudaBinaries.h"

#include "tools/driver/base/Output.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace dlc {

/// A missing NVRTC is a fault of the machine, not of the model.
static int report(const rt::Status &status) {
  return fail(status.code() == DLC_UNSUPPORTED ? static_cast<int>(kDevice)
                                               : static_cast<int>(status.code()),
              "--target: " + status.message());
}

int CudaBinaries::choose(std::vector<std::string> &targets) {
  std::vector<std::string> kept;
  auto keep = [&](const std::string &target) {
    if (std::find(kept.begin(), kept.end(), target) == kept.end())
      kept.push_back(target);
  };
  for (const std::string &target : targets) {
    if (target == "cpu" || target == "cuda") {
      keep(target);
      isForAny |= target == "cuda";
      continue;
    }
    auto arch = cuda::Architecture::parse(target);
    if (arch.failed())
      return report(arch.status());
    keep("cuda");
    if (std::find(architectures.begin(), architectures.end(), *arch) == architectures.end())
      architectures.push_back(*arch);
  }
  targets = kept;
  if (architectures.empty())
    return kOk;
  compiler = std::make_unique<cuda::KernelCompiler>(/*driverVersion=*/0, /*cacheFolder=*/nullptr);
  for (const cuda::Architecture &arch : architectures)
    if (rt::Status status = compiler->check(arch); status.failed())
      return report(status);
  return kOk;
}

int CudaBinaries::onlyGpu() const {
  return architectures.size() == 1 && !isForAny ? architectures.front().number : 0;
}

/// The machine code of all kernels for `arch`.
int CudaBinaries::compileFor(const cuda::Architecture &arch, codegen::GeneratedCode &code,
                             const cuda::CompileProgress &progress) {
  bool isHopper = arch == cuda::Architecture::ofDevice(90);
  std::vector<cuda::KernelText> texts;
  std::vector<codegen::CudaText *> kernels;
  for (auto &[name, kernel] : code.cuda) {
    // Chains of clusters take the place of launches on sm_90 alone.
    if ((kernel.isForHopper && !isHopper) || (kernel.needsClusters && arch.number != 90))
      continue;
    cuda::KernelText text;
    text.name = name;
    text.source = kernel.text.c_str();
    for (const std::string &header : kernel.headers) {
      text.headers.push_back(code.cudaHeaders.at(header).c_str());
      text.headerNames.push_back(header.c_str());
    }
    texts.push_back(std::move(text));
    kernels.push_back(&kernel);
  }
  std::vector<std::string> images;
  if (rt::Status status = compiler->compile(texts, {arch, /*toPtx=*/false}, images, progress);
      status.failed())
    return report(status);
  const cuda::NvrtcFacts &facts = compiler->compilerFacts();
  std::string producer = "NVRTC " + std::to_string(facts.major) + "." + std::to_string(facts.minor);
  for (size_t i = 0; i < kernels.size(); ++i)
    kernels[i]->binaries.push_back(
        {static_cast<uint32_t>(arch.number), arch.variant, producer, std::move(images[i])});
  return kOk;
}

int CudaBinaries::compile(codegen::GeneratedCode &code, CompileSession &session) {
  auto started = std::chrono::steady_clock::now();
  auto progress = [&](size_t done, size_t total) {
    session.showProgress(done == total ? ""
                                       : llvm::formatv("kernels, {0} of {1}", done, total).str());
  };
  int status = kOk;
  for (const cuda::Architecture &arch : architectures)
    if (status == kOk)
      status = compileFor(arch, code, progress);
  session.trace.addStep("cuda-binaries", started);
  return status;
}

} // namespace dlc
