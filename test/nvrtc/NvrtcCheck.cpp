//===- NvrtcCheck.cpp - kernels must compile with the real NVRTC *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvrtc-check [--jobs N] [--json FILE] [--quiet] [--turn K/N] [[--kind KIND] FILE]...: compiles the
// kernels of each FILE, CUDA text or a compiled model, for sm_80, sm_90a and sm_120 as the runtime
// does. Each must compile without a remark, keep within the registers and the shared memory of a
// block as it is launched, spill no register that the table in Limits.cpp does not allow, and have
// no wgmma instruction that waits for the one before it. Equal texts are compiled once. Without
// FILE: the emulator's test kernels, among them one that uses each word of the vocabulary, and
// three properties of the code that comes out. --turn takes one in N of the texts, another part for
// each K, whatever files they are in; the rest is left out. --kind says of which kind the kernels
// in the texts after it are: models say it themselves.
//
// The last line is "N cases, N failures, N left out". Where NVRTC is not installed all are left
// out, and the exit status is 77. The library is $DLC_REAL_NVRTC, else the one that the runtime
// finds.
//===----------------------------------------------------------------------===//
#include "runtime/cuda/driver/Library.h"
#include "test/nvrtc/Corpus.h"
#include "test/nvrtc/Limits.h"
#include "test/nvrtc/Ptxas.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace dlc::embed {
struct File {
  const char *name, *text;
};
extern const File testKernels[];
} // namespace dlc::embed

using namespace dlc;
using namespace dlc::nvrtc;
using cuda::Nvrtc;
using cuda::NvrtcProgram;
using cuda::NvrtcResult;

namespace {

constexpr int kLeftOut = 77; // ctest's SKIP_RETURN_CODE

struct Options {
  int jobs = 1;
  bool quiet = false;
  unsigned turn = 0, turns = 1;
  std::string json;
  struct File {
    std::string path, kind;
  };
  std::vector<File> files;
};

/// A text on an architecture.
struct Case {
  const Source *source;
  const Architecture *arch;
  double milliseconds =
      0; ///< of the processor; NVRTC compiles a program on the thread that asks for it
  std::vector<KernelResources> kernels;
  std::string problem, ptx;
};

} // namespace

static void addProblem(std::string &problems, const std::string &text) {
  problems += (problems.empty() ? "" : "\n     ") + text;
}

/// Kernels with Hopper's tensor cores, or with clusters, are second ones beside those for all GPUs:
/// others never compile them.
static bool isFor(const Source &source, const Architecture &arch) {
  std::string_view text = source.text.source;
  bool needsHopper = text.find("dlc_wgmma.cuh") != std::string_view::npos ||
                     text.find("dlc_contract90.cuh") != std::string_view::npos ||
                     text.find("dlc_contract_sparse90.cuh") != std::string_view::npos ||
                     text.find("dlc_attention90.cuh") != std::string_view::npos;
  bool needsClusters = text.find("#ifdef DLC_HAS_CLUSTERS") != std::string_view::npos;
  return (!needsHopper || std::strcmp(arch.name, "sm_90a") == 0) &&
         (!needsClusters || std::strcmp(arch.name, "sm_80") != 0);
}

/// Milliseconds that this thread has had the processor: other work on the machine does not count.
static double processorTime() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * double(now.tv_sec) + 1e-6 * double(now.tv_nsec);
}

/// The part of `ptx` that is the kernel's code.
static std::string entry(const std::string &ptx, const std::string &kernel) {
  size_t begin = ptx.find(".entry " + kernel + "(");
  if (begin == std::string::npos)
    return "";
  return ptx.substr(begin, ptx.find("\n}", begin) - begin);
}

/// Where the first instruction of `code` is that begins with `name`; npos where there is none.
static size_t findInstruction(const std::string &code, const char *name) {
  size_t at = code.find(name);
  while (at != std::string::npos && at > 0 && code[at - 1] != ' ' && code[at - 1] != '\t')
    at = code.find(name, at + 1); // within another word: cp.async.ca.shared.global
  return at;
}

/// Emitted kernels begin with begin_grid(), which waits for the grids before them. The compiler
/// does not know which memory the wait protects, and could move an access of a restrict pointer
/// before it. Copies alone may come before it, in a kernel that says that it begins with its
/// weights: by TMA, or without wgmma by threads. Returns a sentence about a kernel where that is
/// not so, or nothing.
static std::string waitProblem(const Case &one) {
  static const char *const kAccesses[] = {"ld.global",  "st.global", "ld.volatile",
                                          "ld.acquire", "atom.",     "red.global"};
  static const char *const kByThreads = "cp.async.c", *const kByTma = "cp.async.bulk";
  std::string_view text = one.source->text.source;
  bool byThreads = text.find("dlc_rows.cuh") != std::string_view::npos ||
                   text.find("dlc_chain.cuh") != std::string_view::npos ||
                   text.find("dlc_contract.cuh") != std::string_view::npos ||
                   text.find("dlc_simt.cuh") != std::string_view::npos ||
                   text.find("dlc_contract_sparse.cuh") != std::string_view::npos;
  bool isEarly = text.find("early = 1") != std::string_view::npos ||
                 text.find("early = 2") != std::string_view::npos;
  if (one.source->kind.empty() || std::strcmp(one.arch->name, "sm_80") == 0)
    return "";
  for (const KernelResources &kernel : one.kernels) {
    std::string code = entry(one.ptx, kernel.name);
    size_t wait = code.find("griddepcontrol.wait");
    if (wait == std::string::npos)
      return kernel.name + " does not wait for the grids before it";
    for (const char *access : kAccesses)
      if (findInstruction(code, access) < wait)
        return kernel.name + " has " + access + " before it waits for the grids before it";
    if (code.find(byThreads ? kByTma : kByThreads) < wait ||
        (code.find(byThreads ? kByThreads : kByTma) < wait && !isEarly))
      return kernel.name + " has cp.async before it waits for the grids before it";
    if (isEarly && code.find(byThreads ? kByThreads : kByTma) > wait)
      return kernel.name + " says that weights come early, and waits for the grids before it first";
  }
  return "";
}

/// Compiles with the options of the runtime's KernelCompiler, and lets ptxas tell what it used.
static void compile(const Nvrtc &nvrtc, Case &one) {
  const cuda::KernelText &text = one.source->text;
  std::string target = std::string("--gpu-architecture=") + one.arch->name;
  const char *options[] = {target.c_str(),
                           "--std=c++17",
                           "--fmad=false",
                           "-default-device",
                           "--modify-stack-limit=false",
                           "--ptxas-options=-v"};
  NvrtcProgram program = nullptr;
  double start = processorTime();
  NvrtcResult result =
      nvrtc.createProgram(&program, text.source, (text.name + ".cu").c_str(),
                          int(text.headers.size()), text.headers.data(), text.headerNames.data());
  if (result == NvrtcResult::Success)
    result = nvrtc.compileProgram(program, int(std::size(options)), options);
  one.milliseconds = processorTime() - start;
  size_t bytes = 0;
  std::string log;
  if (nvrtc.getProgramLogSize(program, &bytes) == NvrtcResult::Success && bytes > 1) {
    log.resize(bytes);
    nvrtc.getProgramLog(program, log.data());
    log.resize(std::strlen(log.c_str()));
  }
  if (result == NvrtcResult::Success && nvrtc.getPtxSize(program, &bytes) == NvrtcResult::Success) {
    one.ptx.resize(bytes);
    nvrtc.getPtx(program, one.ptx.data());
  }
  nvrtc.destroyProgram(&program);

  if (result != NvrtcResult::Success) {
    addProblem(one.problem, std::string(nvrtc.getErrorString(result)) + ": " + log);
    return;
  }
  PtxasLog parsed = PtxasLog::parse(log);
  one.kernels = parsed.kernels;
  if (!parsed.remarks.empty())
    addProblem(one.problem, "NVRTC remarks: " + parsed.remarks);
  for (const KernelResources &kernel : one.kernels) {
    auto launch = one.source->launches.find(kernel.name);
    LaunchFacts facts = launch == one.source->launches.end() ? LaunchFacts{} : launch->second;
    if (facts.kind.empty())
      facts.kind = one.source->kind;
    if (std::string problem = problemOf(kernel, facts, *one.arch); !problem.empty())
      addProblem(one.problem, kernel.name + " " + problem);
  }
  if (std::string problem = waitProblem(one); !problem.empty())
    addProblem(one.problem, problem);
  // What the model launches must be there.
  for (const auto &[name, facts] : one.source->launches)
    if (std::none_of(one.kernels.begin(), one.kernels.end(),
                     [&](const KernelResources &kernel) { return kernel.name == name; }))
      addProblem(one.problem, "has no kernel " + name + ", which the model launches");
}

static void print(const Case &one) {
  int registers = 0, spilled = 0, shared = 0;
  for (const KernelResources &kernel : one.kernels) {
    registers = std::max(registers, kernel.registers);
    spilled = std::max(spilled, kernel.spilledBytes);
    shared = std::max(shared, kernel.sharedBytes);
  }
  for (const auto &[name, facts] : one.source->launches)
    shared = std::max(shared, facts.dynamicShared);
  std::printf("%s %-44s %-7s %5.0f ms, %3d registers, %6d B shared, %d B spilled%s%s\n",
              one.problem.empty() ? "ok  " : "FAIL", one.source->name.c_str(), one.arch->name,
              one.milliseconds, registers, shared, spilled, one.problem.empty() ? "" : "\n     ",
              one.problem.c_str());
}

//===- What the vocabulary promises about the code ------------------------===//

static bool expect(bool holds, const char *what) {
  std::printf("%s %s\n", holds ? "ok  " : "FAIL", what);
  return holds;
}

static int checkCode(const Case &one) {
  if (one.source->name != "elementwise.cu")
    return 0;
  std::string code = entry(one.ptx, "elementwise");
  auto has = [&](const char *what) { return code.find(what) != std::string::npos; };
  int failures = 0;
  failures += !expect(has("ld.global.nc.v4.") && has("st.global.v4."),
                      "vec<float,4> is one 16-byte access");
  failures += !expect(!has("fma.rn.f32"), "x * a + b is not contracted");
  failures += !expect(has("max.NaN.f32"), "max propagates NaN");
  return failures;
}

//===- Summaries ----------------------------------------------------------===//

/// By kind and architecture: how many texts, and how long they took.
static void printTimes(const std::vector<Case> &cases) {
  std::map<std::pair<std::string, std::string>, std::vector<double>> times;
  for (const Case &one : cases)
    if (!one.source->kind.empty())
      times[{one.source->kind, one.arch->name}].push_back(one.milliseconds);
  for (auto &[key, values] : times) {
    std::sort(values.begin(), values.end());
    std::printf("time %-12s %-7s %5zu texts, median %4.0f ms, 95%% %4.0f ms, at most %4.0f ms\n",
                key.first.c_str(), key.second.c_str(), values.size(), values[values.size() / 2],
                values[(values.size() - 1) * 95 / 100], values.back());
  }
}

static bool writeJson(const std::string &path, const std::vector<Case> &cases) {
  std::ofstream out(path);
  out << "[";
  const char *separator = "\n";
  for (const Case &one : cases)
    for (const KernelResources &kernel : one.kernels) {
      out << separator << "{\"source\": \"" << one.source->name << "\", \"kernel\": \""
          << kernel.name << "\", \"kind\": \"" << one.source->kind << "\", \"arch\": \""
          << one.arch->name << "\", \"ms\": " << one.milliseconds
          << ", \"registers\": " << kernel.registers << ", \"shared\": " << kernel.sharedBytes
          << ", \"spilled\": " << kernel.spilledBytes
          << ", \"ok\": " << (one.problem.empty() ? "true" : "false") << "}";
      separator = ",\n";
    }
  out << "\n]\n";
  return bool(out.flush());
}

//===- The check ----------------------------------------------------------===//

static bool parse(int argc, char **argv, Options &options) {
  std::string kind;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    bool takesValue = argument == "--jobs" || argument == "--json" || argument == "--turn" ||
                      argument == "--kind";
    if (takesValue && i + 1 == argc)
      return false;
    if (argument == "--jobs")
      options.jobs = std::max(1, std::atoi(argv[++i]));
    else if (argument == "--json")
      options.json = argv[++i];
    else if (argument == "--kind")
      kind = argv[++i];
    else if (argument == "--turn") {
      if (std::sscanf(argv[++i], "%u/%u", &options.turn, &options.turns) != 2 || options.turns == 0)
        return false;
    } else if (argument == "--quiet")
      options.quiet = true;
    else if (argument.starts_with("--"))
      return false;
    else
      options.files.push_back({argument, kind});
  }
  return true;
}

int main(int argc, char **argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::printf("usage: nvrtc-check [--jobs N] [--json FILE] [--quiet] [--turn K/N] "
                "[[--kind KIND] FILE.cu | MODEL.bin]...\n");
    return 2;
  }
  Corpus corpus;
  size_t failures = 0;
  for (const Options::File &file : options.files)
    failures += !corpus.addFile(file.path, file.kind);
  for (const embed::File *file = embed::testKernels; options.files.empty() && file->name; ++file)
    corpus.addText(file->name, file->text, "");

  std::vector<Case> cases;
  size_t leftOut = 0;
  for (const Source &source : corpus.sources())
    if (std::stoul(source.digest.substr(0, 7), nullptr, 16) % options.turns !=
        options.turn % options.turns)
      leftOut += std::size(kArchitectures);
    else
      for (const Architecture &arch : kArchitectures)
        if (isFor(source, arch))
          cases.push_back({&source, &arch, 0, {}, {}, {}});
  if (const char *chosen = std::getenv("DLC_REAL_NVRTC"); chosen && *chosen)
    setenv("DLC_LIBNVRTC", chosen, 1);
  rt::Expected<const Nvrtc *> nvrtc = Nvrtc::open(0);
  if (nvrtc.failed()) {
    std::printf("%s\n%zu cases, %zu failures, %zu left out\n", nvrtc.status().message().c_str(),
                failures, failures, cases.size() + leftOut);
    return failures ? 1 : kLeftOut;
  }

  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < cases.size();)
      compile(**nvrtc, cases[i]);
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < options.jobs; ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();

  size_t unreadable = failures;
  for (const Case &one : cases) {
    if (!options.quiet || !one.problem.empty())
      print(one);
    failures += !one.problem.empty();
    failures += static_cast<size_t>(checkCode(one));
  }
  std::printf("%s", describeSpills().c_str());
  for (const std::string &rule : unneededSpills())
    std::printf("remark: no kernel here needs the rule for spills of %s\n", rule.c_str());
  printTimes(cases);
  if (!options.json.empty() && !writeJson(options.json, cases)) {
    std::printf("FAIL cannot write %s\n", options.json.c_str());
    ++failures;
  }
  std::printf("%s: %zu texts, %zu equal to others\n", (*nvrtc)->describe().c_str(),
              corpus.sources().size(), corpus.repeated());
  std::printf("%zu cases, %zu failures, %zu left out\n", cases.size() + unreadable + leftOut,
              failures, leftOut);
  return failures ? 1 : 0;
}
