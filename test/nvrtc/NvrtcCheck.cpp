//===- NvrtcCheck.cpp - kernels must compile with the real NVRTC *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvrtc-check [FILE.cu ...]: compiles each kernel text against the device headers for sm_80 and
// sm_90a, as the runtime does, and demands an empty log and no spilled register. Without arguments:
// the emulator's test kernels, among them one that uses each word of the vocabulary, and three
// properties of the code that comes out. Where NVRTC is not installed it says how many cases it left out and exits with 77.
//
// The library is $DLC_REAL_NVRTC, else libnvrtc.so.13 or .12 where the loader or a usual CUDA folder
// has it.
//===----------------------------------------------------------------------===//
#include "runtime/cuda/DriverAbi.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace dlc::embed {
struct File {
  const char *name, *text;
};
extern const File deviceHeaders[];
extern const File testKernels[];
} // namespace dlc::embed

using namespace dlc::cuda;

namespace {

constexpr int kLeftOut = 77; // ctest's SKIP_RETURN_CODE

struct Nvrtc {
#define DLC_NVRTC(member, symbol, result, parameters) result(*member) parameters = nullptr;
#include "runtime/cuda/Symbols.def"
};

struct Source {
  std::string name, text;
};

void *openNvrtc() {
  if (const char *chosen = std::getenv("DLC_REAL_NVRTC"))
    return dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
  std::vector<std::string> folders = {""};
  if (const char *home = std::getenv("CUDA_HOME"))
    folders.push_back(std::string(home) + "/lib64/");
  folders.push_back("/usr/local/cuda/lib64/");
  for (const char *name : {"libnvrtc.so.13", "libnvrtc.so.12"})
    for (const std::string &folder : folders)
      if (void *library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL))
        return library;
  return nullptr;
}

bool bindNvrtc(void *library, Nvrtc &nvrtc) {
#define DLC_NVRTC(member, symbol, result, parameters)                                              \
  nvrtc.member = reinterpret_cast<decltype(nvrtc.member)>(dlsym(library, #symbol));                \
  if (!nvrtc.member) {                                                                             \
    std::printf("error: the NVRTC library has no " #symbol "\n");                                  \
    return false;                                                                                  \
  }
#include "runtime/cuda/Symbols.def"
  return true;
}

/// What ptxas says of a program's kernels: the most registers a thread, and bytes spilled in all.
struct Resources {
  int registers = 0, spilledBytes = 0;
};

/// Reads ptxas' figures out of the log and removes them: what is left is a remark.
Resources takeResources(std::string &log) {
  Resources used;
  std::stringstream lines(log);
  log.clear();
  for (std::string line; std::getline(lines, line);) {
    int stack = 0, stores = 0, loads = 0;
    // "ptxas . 0 bytes stack frame, ...": the prefix differs between versions.
    size_t number = std::min(line.find_first_of("0123456789"), line.size());
    if (std::sscanf(line.c_str() + number,
                    "%d bytes stack frame, %d bytes spill stores, %d bytes spill loads", &stack,
                    &stores, &loads) == 3) {
      used.spilledBytes += stores + loads;
    } else if (line.rfind("ptxas info", 0) == 0) {
      size_t at = line.find("Used ");
      if (at != std::string::npos)
        used.registers = std::max(used.registers, std::atoi(line.c_str() + at + 5));
    } else if (!line.empty()) {
      log += line + "\n";
    }
  }
  return used;
}

/// Compiles; true if it succeeds without a remark and no register is spilled. `ptx` gets the assembly.
bool compile(const Nvrtc &nvrtc, const Source &source, const char *arch, std::string &ptx) {
  std::vector<const char *> names, texts;
  for (const dlc::embed::File *file = dlc::embed::deviceHeaders; file->name; ++file) {
    names.push_back(file->name);
    texts.push_back(file->text);
  }
  std::string target = std::string("--gpu-architecture=") + arch;
  const char *options[] = {target.c_str(), "--std=c++17", "--fmad=false", "--ptxas-options=-v"};
  NvrtcProgram program = nullptr;
  auto start = std::chrono::steady_clock::now();
  NvrtcResult result = nvrtc.createProgram(&program, source.text.c_str(), source.name.c_str(),
                                           int(names.size()), texts.data(), names.data());
  if (result == NvrtcResult::Success)
    result = nvrtc.compileProgram(program, 4, options);
  double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  size_t bytes = 1;
  nvrtc.getProgramLogSize(program, &bytes);
  std::string log(bytes, 0);
  nvrtc.getProgramLog(program, log.data());
  log.resize(std::strlen(log.c_str()));
  if (result == NvrtcResult::Success && nvrtc.getPtxSize(program, &bytes) == NvrtcResult::Success) {
    ptx.resize(bytes);
    nvrtc.getPtx(program, ptx.data());
  }
  nvrtc.destroyProgram(&program);
  Resources used = takeResources(log);
  bool clean = result == NvrtcResult::Success && log.empty() && used.spilledBytes == 0;
  std::printf("%s %-16s %-7s %4.0f ms, %3d registers, %d B spilled%s%s\n", clean ? "ok  " : "FAIL",
              source.name.c_str(), arch, ms, used.registers, used.spilledBytes,
              log.empty() ? "" : "\n", log.c_str());
  return clean;
}

/// The part of `ptx` that is the kernel's code.
std::string entry(const std::string &ptx, const std::string &kernel) {
  size_t begin = ptx.find(".entry " + kernel + "(");
  if (begin == std::string::npos)
    return "";
  return ptx.substr(begin, ptx.find("\n}", begin) - begin);
}

bool expect(bool holds, const char *what) {
  std::printf("%s %s\n", holds ? "ok  " : "FAIL", what);
  return holds;
}

/// What the vocabulary promises about the code.
int checkCode(const std::string &name, const std::string &ptx) {
  int failures = 0;
  auto has = [](const std::string &text, const char *what) {
    return text.find(what) != std::string::npos;
  };
  if (name == "elementwise.cu") {
    std::string code = entry(ptx, "elementwise");
    failures += !expect(has(code, "ld.global.nc.v4.") && has(code, "st.global.v4."),
                        "vec<float,4> is one 16-byte access");
    failures += !expect(!has(code, "fma.rn.f32"), "x * a + b is not contracted");
    failures += !expect(has(code, "max.NaN.f32"), "max propagates NaN");
  }
  return failures;
}

std::vector<Source> sourcesOf(int argc, char **argv) {
  std::vector<Source> sources;
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i]);
    std::stringstream text;
    text << file.rdbuf();
    if (!file) {
      std::printf("error: cannot read %s\n", argv[i]);
      std::exit(1);
    }
    sources.push_back({argv[i], text.str()});
  }
  for (const dlc::embed::File *file = dlc::embed::testKernels; argc < 2 && file->name; ++file)
    sources.push_back({file->name, file->text});
  return sources;
}

} // namespace

int main(int argc, char **argv) {
  const char *const architectures[] = {"sm_80", "sm_90a"};
  std::vector<Source> sources = sourcesOf(argc, argv);
  void *library = openNvrtc();
  if (!library) {
    std::printf("0 cases, 0 failures, %zu left out: no NVRTC (set DLC_REAL_NVRTC to libnvrtc.so.13 "
                "or .12)\n",
                sources.size() * 2);
    return kLeftOut;
  }
  Nvrtc nvrtc;
  if (!bindNvrtc(library, nvrtc))
    return 1;
  int failures = 0;
  for (const Source &source : sources)
    for (const char *arch : architectures) {
      std::string ptx;
      failures += !compile(nvrtc, source, arch, ptx);
      failures += checkCode(source.name, ptx);
    }
  std::printf("%zu cases, %d failures, 0 left out\n", sources.size() * 2, failures);
  return failures ? 1 : 0;
}
