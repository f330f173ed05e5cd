//===- KernelCompiler.cpp - From CUDA text to cubins -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/kernels/KernelCompiler.h"
#include "runtime/core/Text.h"
#include "runtime/core/package/Sha256.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <new>
#include <sstream>
#include <sys/stat.h>
#include <thread>

using namespace dlc;
using namespace dlc::cuda;
using rt::quoted;
using rt::Status;
using rt::text;

/// More would not help: kernels are few, and NVRTC locks.
static constexpr size_t kMaxThreads = 16;

/// Beside the architecture. fma is written out where it is wanted, so that CPU and GPU round alike.
/// NVRTC would otherwise change the process's stack limit.
static constexpr const char *kOptions[] = {"--std=c++17", "--fmad=false", "-default-device",
                                           "--modify-stack-limit=false"};

std::string CompileTarget::option() const {
  return toPtx ? text("--gpu-architecture=compute_", arch.number)
               : text("--gpu-architecture=", arch.name());
}

KernelCompiler::KernelCompiler(int driverVersion, const char *cacheFolder)
    : driverVersion(driverVersion),
      cache(KernelCache::folderFor(cacheFolder), KernelCache::limitFromEnvironment()) {}

//===- Which NVRTC ----------------------------------------------------------------------------===//

/// By all that decides which library is found.
std::string KernelCompiler::noteName() const {
  std::string place = text(driverVersion / 1000);
  for (const char *variable : {"DLC_LIBNVRTC", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH",
                               "VIRTUAL_ENV", "CONDA_PREFIX", "HOME"}) {
    const char *value = std::getenv(variable);
    place += text("\n", variable, "=", value ? value : "");
  }
  return "nvrtc-" + rt::hexadecimal(rt::sha256(place)).substr(0, 32);
}

/// "SIZE TIME" of a file; empty where there is none.
static std::string stampOf(const std::string &path) {
  struct stat status;
  if (path.empty() || stat(path.c_str(), &status) != 0)
    return {};
  return text(status.st_size, " ", status.st_mtim.tv_sec, ".", status.st_mtim.tv_nsec);
}

bool KernelCompiler::readNote() {
  std::string content, path, stamp, numbers, identity;
  if (!cache.loadNote(noteName(), content))
    return false;
  std::istringstream lines(content);
  if (!std::getline(lines, path) || !std::getline(lines, stamp) || stamp.empty() ||
      stamp != stampOf(path) || !std::getline(lines, numbers) || !std::getline(lines, identity) ||
      identity.empty())
    return false;
  NvrtcFacts noted;
  std::istringstream values(numbers);
  values >> noted.major >> noted.minor;
  for (int arch; values >> arch;)
    noted.architectures.push_back(arch);
  noted.identity = identity;
  if (noted.major <= 0 || noted.architectures.empty())
    return false;
  facts = std::move(noted);
  return true;
}

void KernelCompiler::writeNote() const {
  std::string path = nvrtc->file(), stamp = stampOf(path);
  // What a stand-in makes may depend on more than its file.
  if (stamp.empty() || facts->identity.empty() || nvrtc->identityOfStandIn)
    return;
  std::string numbers = text(facts->major, " ", facts->minor);
  for (int arch : facts->architectures)
    numbers += text(" ", arch);
  cache.storeNote(noteName(), text(path, "\n", stamp, "\n", numbers, "\n", facts->identity, "\n"));
}

Status KernelCompiler::load() {
  if (nvrtc)
    return {};
  rt::Expected<const Nvrtc *> opened = Nvrtc::open(driverVersion);
  if (opened.failed())
    return opened.status();
  nvrtc = *opened;
  bool isNews = !facts || *facts != nvrtc->facts;
  facts = nvrtc->facts;
  if (nvrtc->identityOfStandIn)
    facts->identity += nvrtc->identityOfStandIn();
  if (isNews)
    writeNote();
  return {};
}

Status KernelCompiler::learn() {
  if (facts || readNote())
    return {};
  return load();
}

rt::Expected<CompileTarget> KernelCompiler::targetFor(int device, const std::string &deviceName) {
  DLC_TRY(learn());
  if (isKnown({device}, facts->architectures))
    return CompileTarget{Architecture::ofDevice(device), false};
  int best = 0;
  for (int arch : facts->architectures)
    if (arch <= device)
      best = std::max(best, arch);
  if (best < kOldestArchitecture)
    return Status(DLC_UNSUPPORTED,
                  text("NVRTC ", facts->major, ".", facts->minor, " cannot compile for ",
                       deviceName, " (sm_", device, "); it knows ",
                       describeArchitectures(facts->architectures)));
  return CompileTarget{{best}, true};
}

Status KernelCompiler::check(const Architecture &arch) {
  DLC_TRY(learn());
  if (isKnown(arch, facts->architectures))
    return {};
  return {DLC_USAGE, text("NVRTC ", facts->major, ".", facts->minor, " cannot compile for ",
                          arch.name(), "; it knows ", describeArchitectures(facts->architectures))};
}

//===- Compiling ------------------------------------------------------------------------------===//

std::string KernelCompiler::keyOf(const std::string &digest, const CompileTarget &target) const {
  std::string all = text("dlc-cubin 1\n", digest, "\n", target.option(), "\n");
  for (const char *option : kOptions)
    all += text(option, "\n");
  all += text("nvrtc ", facts->major, ".", facts->minor, "\n", facts->identity, "\n");
  return rt::hexadecimal(rt::sha256(all));
}

namespace {

/// A text that is not in the cache.
struct Job {
  const KernelText *text;
  const std::string *key;
  std::string image;
  Status status;
};

} // namespace

static Status refusal(const Nvrtc &nvrtc, NvrtcProgram program, const Job &job,
                      NvrtcResult result) {
  size_t bytes = 0;
  std::string log;
  if (nvrtc.getProgramLogSize(program, &bytes) == NvrtcResult::Success && bytes > 1) {
    log.resize(bytes);
    nvrtc.getProgramLog(program, log.data());
    log.resize(std::min(log.find('\0'), size_t(4000)));
  }
  // A second file of the library's; no fault of the kernel.
  if (result == NvrtcResult::BuiltinOperationFailure ||
      log.find("nvrtc-builtins") != std::string::npos)
    return {DLC_UNSUPPORTED,
            text("CUDA is not usable: ", nvrtc.describe(),
                 " does not find libnvrtc-builtins, which belongs beside it: install the whole of "
                 "CUDA or of the wheel nvidia-cuda-nvrtc",
                 log.empty() ? "" : "\n", log)};
  return {DLC_INTERNAL, text("NVRTC ", nvrtc.facts.major, ".", nvrtc.facts.minor,
                             " refuses the kernel ", quoted(job.text->name), ": ",
                             nvrtc.getErrorString(result), log.empty() ? "" : "\n", log)};
}

static void compileOne(const Nvrtc &nvrtc, const CompileTarget &target, Job &job) {
  const KernelText &kernel = *job.text;
  NvrtcProgram program = nullptr;
  std::string fileName = kernel.name + ".cu", architecture = target.option();
  NvrtcResult result = nvrtc.createProgram(&program, kernel.source, fileName.c_str(),
                                           static_cast<int>(kernel.headers.size()),
                                           kernel.headers.data(), kernel.headerNames.data());
  if (result != NvrtcResult::Success) {
    job.status = {DLC_DEVICE, text("NVRTC takes no program: ", nvrtc.getErrorString(result))};
    return;
  }
  std::vector<const char *> options = {architecture.c_str()};
  options.insert(options.end(), std::begin(kOptions), std::end(kOptions));
  result = nvrtc.compileProgram(program, static_cast<int>(options.size()), options.data());
  size_t bytes = 0;
  if (result == NvrtcResult::Success)
    result = target.toPtx ? nvrtc.getPtxSize(program, &bytes) : nvrtc.getCubinSize(program, &bytes);
  if (result == NvrtcResult::Success) {
    job.image.resize(bytes);
    result = target.toPtx ? nvrtc.getPtx(program, job.image.data())
                          : nvrtc.getCubin(program, job.image.data());
  }
  if (result != NvrtcResult::Success)
    job.status = refusal(nvrtc, program, job, result);
  nvrtc.destroyProgram(&program);
}

/// Compiles all jobs, on this thread and others; `progress` is called on this one.
static void compileAll(const Nvrtc &nvrtc, const CompileTarget &target, KernelCache &cache,
                       std::vector<Job> &jobs, const CompileProgress &progress) {
  std::atomic<size_t> next{0}, done{0};
  auto drain = [&](const CompileProgress &tell) {
    for (size_t i; (i = next.fetch_add(1)) < jobs.size();) {
      try {
        compileOne(nvrtc, target, jobs[i]);
        if (!jobs[i].status.failed())
          cache.store(*jobs[i].key, jobs[i].image);
      } catch (const std::bad_alloc &) { // must not leave its thread
        jobs[i].status = {DLC_DEVICE, "out of memory"};
      }
      size_t finished = done.fetch_add(1) + 1;
      if (tell)
        tell(finished, jobs.size());
    }
  };
  if (progress)
    progress(0, jobs.size());
  size_t threads = std::min<size_t>(
      {jobs.size(), std::max(1u, std::thread::hardware_concurrency()), kMaxThreads});
  std::vector<std::thread> helpers;
  helpers.reserve(threads);
  try {
    for (size_t i = 1; i < threads; ++i)
      helpers.emplace_back(drain, CompileProgress());
  } catch (const std::system_error &) { // fewer threads will do
  }
  drain(progress);
  for (std::thread &helper : helpers)
    helper.join();
  if (progress)
    progress(jobs.size(), jobs.size());
}

Status KernelCompiler::compile(const std::vector<KernelText> &texts, const CompileTarget &target,
                               std::vector<std::string> &images, const CompileProgress &progress) {
  images.assign(texts.size(), {});
  DLC_TRY(learn());
  KernelDigest digest;
  std::vector<std::string> digests;
  for (const KernelText &kernel : texts)
    digests.push_back(digest.of(kernel));

  std::map<std::string, size_t> firstOf; // by key
  std::vector<std::string> keys(texts.size());
  std::vector<size_t> missing;
  NvrtcFacts assumed;
  do {
    assumed = *facts;
    firstOf.clear();
    missing.clear();
    for (size_t i = 0; i < texts.size(); ++i) {
      keys[i] = keyOf(digests[i], target);
      if (firstOf.emplace(keys[i], i).second && !cache.load(keys[i], images[i]))
        missing.push_back(i);
    }
    if (!missing.empty())
      DLC_TRY(load());
    // The note may have been of another NVRTC than the one now found: then all keys are others.
  } while (assumed != *facts);

  std::vector<Job> jobs;
  for (size_t i : missing)
    jobs.push_back({&texts[i], &keys[i], {}, {}});
  if (!jobs.empty())
    compileAll(*nvrtc, target, cache, jobs, progress);
  for (size_t k = 0; k < jobs.size(); ++k) {
    DLC_TRY(jobs[k].status);
    images[missing[k]] = std::move(jobs[k].image);
  }
  for (size_t i = 0; i < texts.size(); ++i)
    if (size_t first = firstOf[keys[i]]; first != i)
      images[i] = images[first];
  cache.trim();
  return {};
}
