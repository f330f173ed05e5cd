//===- KernelPtx.cpp - kernel-ptx: what the ledger knows kernels by -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel-ptx [--jobs N] [--arch sm_90a] [--known FILE] FILE...: compiles the kernels of each FILE,
// CUDA text or a compiled model, as far as PTX, and prints "TEXT PTX" for each text: two SHA-256,
// of the text and its headers without comments, and of the PTX without names and comments
// (PtxIdentity.h). Equal texts are compiled once. The first line is "nvrtc VERSION ARCH".
//
// --known FILE holds such lines, each with "VERSION ARCH" before them, from earlier runs: these
// texts are not compiled again, and what is new is added at its end. The library is
// $DLC_REAL_NVRTC, else the one that the runtime finds. Exit status: 0; 1 where a text does not
// compile or a file cannot be read; 77 where NVRTC is not installed.
//===----------------------------------------------------------------------===//
#include "test/nvrtc/Corpus.h"
#include "test/nvrtc/PtxIdentity.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

using namespace dlc;
using namespace dlc::nvrtc;

namespace {

constexpr int kLeftOut = 77;

struct Options {
  int jobs = 1;
  std::string arch = "sm_90a", known;
  std::vector<std::string> files;
};

} // namespace

static bool parse(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--jobs" && i + 1 < argc)
      options.jobs = std::max(1, std::atoi(argv[++i]));
    else if (argument == "--arch" && i + 1 < argc)
      options.arch = argv[++i];
    else if (argument == "--known" && i + 1 < argc)
      options.known = argv[++i];
    else if (argument.starts_with("--"))
      return false;
    else
      options.files.push_back(argument);
  }
  return !options.files.empty() && options.arch.starts_with("sm_");
}

/// The version of `nvrtc`: that in the head of the PTX of an empty kernel.
static std::string versionOf(const cuda::Nvrtc &nvrtc, const std::string &arch) {
  cuda::KernelText text;
  text.name = "empty";
  text.source = "extern \"C\" __global__ void empty() {}";
  PtxIdentity identity = identify(nvrtc, text, arch);
  if (!identity.problem.empty())
    std::printf("FAIL %s: %s\n", nvrtc.describe().c_str(), identity.problem.c_str());
  return identity.nvrtc;
}

/// By text; of this version and architecture alone. A line that a stopped run left unfinished is
/// passed over.
static std::map<std::string, std::string>
readKnown(const std::string &path, const std::string &version, const std::string &arch) {
  std::map<std::string, std::string> known;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string ofVersion, ofArch, text, ptx;
    words >> ofVersion >> ofArch >> text >> ptx;
    if (ofVersion == version && ofArch == arch && ptx.size() == 64)
      known[text] = ptx;
  }
  return known;
}

int main(int argc, char **argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::printf("usage: kernel-ptx [--jobs N] [--arch sm_90a] [--known FILE] FILE.cu | MODEL.bin "
                "...\n");
    return 2;
  }
  if (const char *chosen = std::getenv("DLC_REAL_NVRTC"); chosen && *chosen)
    setenv("DLC_LIBNVRTC", chosen, 1);
  rt::Expected<const cuda::Nvrtc *> nvrtc = cuda::Nvrtc::open(0);
  if (nvrtc.failed()) {
    std::printf("%s\n", nvrtc.status().message().c_str());
    return kLeftOut;
  }
  std::string version = versionOf(**nvrtc, options.arch);
  if (version.empty())
    return 1;
  std::printf("nvrtc %s %s\n", version.c_str(), options.arch.c_str());

  Corpus corpus;
  std::atomic<int> failures{0};
  for (const std::string &file : options.files)
    failures += !corpus.addFile(file, "");
  std::map<std::string, std::string> known = readKnown(options.known, version, options.arch);
  const std::vector<Source> &sources = corpus.sources();
  std::vector<PtxIdentity> found(sources.size());
  std::atomic<size_t> next{0};
  std::ofstream news;
  std::mutex lock; // of `news`
  if (!options.known.empty())
    news.open(options.known, std::ios::app);
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < sources.size();) {
      if (auto at = known.find(sources[i].digest); at != known.end()) {
        found[i].sha256 = at->second;
        continue;
      }
      found[i] = identify(**nvrtc, sources[i].text, options.arch);
      std::lock_guard guard(lock);
      if (news.is_open() &&
          found[i].problem.empty()) // at once: a run that is stopped is not in vain
        news << version << ' ' << options.arch << ' ' << sources[i].digest << ' ' << found[i].sha256
             << std::endl;
    }
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < options.jobs; ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();

  for (size_t i = 0; i < sources.size(); ++i) {
    if (!found[i].problem.empty()) {
      std::printf("FAIL %s: %s\n", sources[i].name.c_str(), found[i].problem.c_str());
      ++failures;
      continue;
    }
    std::printf("%s %s\n", sources[i].digest.c_str(), found[i].sha256.c_str());
  }
  if (!options.known.empty() && !news) {
    std::printf("FAIL cannot write %s\n", options.known.c_str());
    ++failures;
  }
  return failures ? 1 : 0;
}
