//===- NvrtcApi.cpp - the fake NVRTC ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles the text that NVRTC would get with the host compiler, against the emulator's side of the
// vocabulary. The "cubin" is an image for the fake driver, and so is the "PTX".
//===----------------------------------------------------------------------===//
#include "runtime/core/package/Sha256.h"
#include "runtime/cuda/driver/DriverAbi.h"
#include "test/emulator/device/dlc_emu_abi.h"
#include "test/emulator/nvrtc/CompileCache.h"
#include "test/emulator/nvrtc/HostCompiler.h"
#include "test/emulator/nvrtc/Image.h"
#include "test/emulator/nvrtc/KernelNames.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

namespace dlc::embed {
// Written by dlc_embed() at build time; ends with a null name.
struct File {
  const char *name, *text;
};
extern const File emulatorHeaders[];
} // namespace dlc::embed

namespace dlc::cuda {

struct _nvrtcProgram {
  std::string name, source;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string log, image;
  int arch = 0, variant = 0; // as TargetHeader has them
  bool compiled = false;
};

#pragma GCC visibility push(default)
extern "C" {
#define DLC_NVRTC(member, symbol, result, parameters) result symbol parameters;
#define DLC_NVRTC_OPTIONAL(member, symbol, result, parameters) result symbol parameters;
#include "runtime/cuda/driver/Symbols.def"
}
#pragma GCC visibility pop

namespace {

using namespace emu;
using Options = std::vector<std::string>;

bool startsWith(const std::string &text, const char *prefix) { return text.rfind(prefix, 0) == 0; }

const int kArchitectures[] = {80, 86, 89, 90, 100, 120};
constexpr int kMajor = 13, kMinor = 0;

/// Reads "sm_90a" or "compute_80"; false for what is not in the list.
bool readArchitecture(const std::string &name, int &arch, int &variant) {
  bool isPtx = startsWith(name, "compute_");
  if (!isPtx && !startsWith(name, "sm_"))
    return false;
  char *end = nullptr;
  arch = int(std::strtol(name.c_str() + (isPtx ? 8 : 3), &end, 10));
  variant = isPtx ? 'p' : static_cast<unsigned char>(*end);
  bool known = std::find(std::begin(kArchitectures), std::end(kArchitectures), arch) !=
               std::end(kArchitectures);
  return known &&
         (!*end || (!end[1] && ((*end == 'a' && arch >= 90) || (*end == 'f' && arch >= 100))));
}

/// Keeps the options that mean something to the host compiler; false for one that NVRTC does not
/// know, or whose meaning the emulator cannot give.
bool readOptions(int count, const char *const *options, Options &defines, _nvrtcProgram &program) {
  static const char *const kIgnored[] = {"--std=",
                                         "-std=",
                                         "--ptxas-options=",
                                         "--maxrregcount=",
                                         "-lineinfo",
                                         "--generate-line-info",
                                         "--device-debug",
                                         "-G",
                                         "--split-compile=",
                                         "--diag-suppress=",
                                         "--modify-stack-limit=",
                                         "--fmad=false",
                                         "-fmad=false",
                                         "--prec-div=true",
                                         "--prec-sqrt=true",
                                         "--ftz=false",
                                         "--restrict",
                                         "-restrict",
                                         "--extra-device-vectorization",
                                         "-default-device",
                                         "--device-as-default-execution-space",
                                         "--no-source-include",
                                         "--minimal",
                                         "--disable-warnings",
                                         "-w",
                                         "--dlink-time-opt"};
  for (int i = 0; i < count; ++i) {
    std::string option = options[i];
    if (startsWith(option, "--gpu-architecture=") || startsWith(option, "-arch=")) {
      std::string name = option.substr(option.find('=') + 1);
      if (readArchitecture(name, program.arch, program.variant))
        continue;
      program.log += "nvrtc: error: invalid value for --gpu-architecture (-arch): " + name + "\n";
      return false;
    }
    bool ignored = false;
    for (const char *known : kIgnored)
      ignored = ignored || startsWith(option, known);
    if (ignored)
      continue;
    if (startsWith(option, "--define-macro="))
      option = "-D" + option.substr(std::strlen("--define-macro="));
    if (startsWith(option, "-D") && option.size() > 2) {
      defines.push_back(option);
      continue;
    }
    program.log += "cuda-emu: option '" + option + "' is not emulated\n";
    return false;
  }
  return true;
}

/// The source as the host compiler gets it: with the launch code of its kernels at the end.
std::string hostSource(const _nvrtcProgram &program, const std::vector<KernelName> &kernels,
                       bool checked) {
  std::string text = "#line 1 \"" + program.name + "\"\n" + program.source;
  text += "\n#line 1 \"<cuda-emu>\"\n#include \"dlc_emu_launch.h\"\n";
  if (checked)
    text += "#include \"dlc_emu_check.h\"\n";
  std::set<std::string> seen; // declared, then defined
  for (const KernelName &kernel : kernels)
    if (seen.insert(kernel.name).second)
      text += "DLC_EMU_EXPORT(" + kernel.name + ", (" + kernel.threads + "), (" + kernel.cluster +
              "))\n";
  return text;
}

/// The source first, then the caller's headers, then ours.
std::vector<std::pair<std::string, std::string>> allFiles(const _nvrtcProgram &program,
                                                          std::string source) {
  std::vector<std::pair<std::string, std::string>> files = {{"kernel.cu", std::move(source)}};
  files.insert(files.end(), program.headers.begin(), program.headers.end());
  for (const embed::File *file = embed::emulatorHeaders; file->name; ++file)
    files.emplace_back(file->name, file->text);
  return files;
}

std::string cacheKey(const Compiler &compiler, const std::vector<std::string> &flags,
                     const std::vector<std::pair<std::string, std::string>> &files) {
  std::string all = compiler.identity;
  auto add = [&all](const std::string &part) {
    all += std::to_string(part.size()) + ":" + part; // no two lists give the same text
  };
  for (const std::string &flag : flags)
    add(flag);
  for (const auto &[name, text] : files) {
    add(name);
    add(text);
  }
  return rt::hexadecimal(rt::sha256(all));
}

std::string makeImage(const std::string &object, bool checked) {
  ImageHeader header{ImageHeader::kMagic, DLC_EMU_ABI_VERSION, checked, object.size(), {}};
  auto hash = rt::sha256(object);
  std::memcpy(header.hash, hash.data(), hash.size());
  std::string image(reinterpret_cast<const char *>(&header), sizeof header);
  return image + object;
}

bool isCheckedMode() {
  const char *text = std::getenv("DLC_EMU_CHECK");
  return text && *text && std::strcmp(text, "0") != 0;
}

/// Whether DLC_EMU_NVRTC_FAULT names this compile: they count from 0 since it was set to what it
/// is.
bool isPlantedFault() {
  static std::mutex mutex;
  static std::string plan;
  static long compiles = 0;
  const char *text = std::getenv("DLC_EMU_NVRTC_FAULT");
  std::lock_guard lock(mutex);
  if (plan != (text ? text : "")) {
    plan = text ? text : "";
    compiles = 0;
  }
  return !plan.empty() && compiles++ == std::atol(plan.c_str());
}

NvrtcResult compile(_nvrtcProgram &program, const Options &defines) {
  bool checked = isCheckedMode();
  Compiler compiler = findCompiler();
  if (compiler.path.empty()) {
    program.log += "cuda-emu: no host compiler: set DLC_EMU_CXX, or put clang++-22, clang++ or g++ "
                   "into PATH\n";
    return NvrtcResult::InternalError;
  }
  if (checked && !compiler.isClang) {
    program.log += "cuda-emu: DLC_EMU_CHECK needs clang, but the compiler is " + compiler.path +
                   ": set DLC_EMU_CXX to a clang++\n";
    return NvrtcResult::InternalError;
  }
  std::vector<std::string> flags = compileFlags(compiler, checked);
  flags.insert(flags.end(), defines.begin(), defines.end());
  auto files = allFiles(program, hostSource(program, findKernels(program.source), checked));
  std::string key = cacheKey(compiler, flags, files);
  program.image = loadCached(key);
  if (!program.image.empty())
    return NvrtcResult::Success;
  CompileResult result = compileForHost(compiler, flags, files);
  program.log += result.log;
  if (!result.succeeded)
    return NvrtcResult::Compilation;
  program.image = makeImage(result.object, checked);
  storeCached(key, program.image);
  return NvrtcResult::Success;
}

} // namespace

extern "C" {

NvrtcResult nvrtcVersion(int *major, int *minor) {
  *major = kMajor;
  *minor = kMinor;
  return NvrtcResult::Success;
}

const char *nvrtcGetErrorString(NvrtcResult result) {
  switch (result) {
  case NvrtcResult::Success:
    return "NVRTC_SUCCESS";
  case NvrtcResult::OutOfMemory:
    return "NVRTC_ERROR_OUT_OF_MEMORY";
  case NvrtcResult::ProgramCreationFailure:
    return "NVRTC_ERROR_PROGRAM_CREATION_FAILURE";
  case NvrtcResult::InvalidInput:
    return "NVRTC_ERROR_INVALID_INPUT";
  case NvrtcResult::InvalidProgram:
    return "NVRTC_ERROR_INVALID_PROGRAM";
  case NvrtcResult::InvalidOption:
    return "NVRTC_ERROR_INVALID_OPTION";
  case NvrtcResult::Compilation:
    return "NVRTC_ERROR_COMPILATION";
  case NvrtcResult::BuiltinOperationFailure:
    return "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE";
  case NvrtcResult::InternalError:
    return "NVRTC_ERROR_INTERNAL_ERROR";
  }
  return "NVRTC_ERROR unknown";
}

/// What decides about an image beside text and options.
const char *dlcNvrtcIdentity() {
  thread_local std::string identity;
  Compiler compiler = findCompiler();
  bool checked = isCheckedMode();
  std::vector<std::pair<std::string, std::string>> files;
  for (const embed::File *file = embed::emulatorHeaders; file->name; ++file)
    files.emplace_back(file->name, file->text);
  identity = " emulator " + cacheKey(compiler, compileFlags(compiler, checked), files);
  return identity.c_str();
}

NvrtcResult nvrtcGetNumSupportedArchs(int *count) {
  *count = sizeof kArchitectures / sizeof *kArchitectures;
  return NvrtcResult::Success;
}

NvrtcResult nvrtcGetSupportedArchs(int *archs) {
  std::memcpy(archs, kArchitectures, sizeof kArchitectures);
  return NvrtcResult::Success;
}

NvrtcResult nvrtcCreateProgram(NvrtcProgram *program, const char *source, const char *name,
                               int headerCount, const char *const *headers,
                               const char *const *includeNames) {
  if (!program || !source || headerCount < 0 || (headerCount && (!headers || !includeNames)))
    return NvrtcResult::InvalidInput;
  auto made = new _nvrtcProgram;
  made->name = name && *name ? name : "default_program";
  made->source = source;
  for (int i = 0; i < headerCount; ++i)
    made->headers.emplace_back(includeNames[i], headers[i]);
  *program = made;
  return NvrtcResult::Success;
}

NvrtcResult nvrtcDestroyProgram(NvrtcProgram *program) {
  if (!program || !*program)
    return NvrtcResult::InvalidProgram;
  delete *program;
  *program = nullptr;
  return NvrtcResult::Success;
}

NvrtcResult nvrtcCompileProgram(NvrtcProgram program, int optionCount, const char *const *options) {
  if (!program)
    return NvrtcResult::InvalidProgram;
  program->log.clear();
  Options defines;
  if (!readOptions(optionCount, options, defines, *program))
    return NvrtcResult::InvalidOption;
  if (isPlantedFault()) {
    program->log = program->name + "(1): error: planted by DLC_EMU_NVRTC_FAULT\n";
    return NvrtcResult::Compilation;
  }
  NvrtcResult result = compile(*program, defines);
  TargetHeader target{TargetHeader::kMagic, program->arch, program->variant,
                      kMajor * 1000 + kMinor * 10, 0};
  program->image.insert(0, reinterpret_cast<const char *>(&target), sizeof target);
  program->compiled = result == NvrtcResult::Success;
  return result;
}

NvrtcResult nvrtcGetCUBINSize(NvrtcProgram program, size_t *bytes) {
  if (!program || !program->compiled)
    return NvrtcResult::InvalidProgram;
  *bytes = program->image.size();
  return NvrtcResult::Success;
}

NvrtcResult nvrtcGetCUBIN(NvrtcProgram program, char *cubin) {
  if (!program || !program->compiled)
    return NvrtcResult::InvalidProgram;
  std::memcpy(cubin, program->image.data(), program->image.size());
  return NvrtcResult::Success;
}

NvrtcResult nvrtcGetPTXSize(NvrtcProgram program, size_t *bytes) {
  return nvrtcGetCUBINSize(program, bytes);
}

NvrtcResult nvrtcGetPTX(NvrtcProgram program, char *ptx) { return nvrtcGetCUBIN(program, ptx); }

NvrtcResult nvrtcGetProgramLogSize(NvrtcProgram program, size_t *bytes) {
  if (!program)
    return NvrtcResult::InvalidProgram;
  *bytes = program->log.size() + 1;
  return NvrtcResult::Success;
}

NvrtcResult nvrtcGetProgramLog(NvrtcProgram program, char *log) {
  if (!program)
    return NvrtcResult::InvalidProgram;
  std::memcpy(log, program->log.c_str(), program->log.size() + 1);
  return NvrtcResult::Success;
}

} // extern "C"
} // namespace dlc::cuda
