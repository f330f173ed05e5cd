//===- HostCompiler.cpp - compiles kernel text for the host -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/nvrtc/HostCompiler.h"
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace fs = std::filesystem;

namespace dlc::emu {

static std::string findInPath(const std::string &name) {
  if (name.find('/') != std::string::npos)
    return access(name.c_str(), X_OK) == 0 ? name : "";
  const char *path = std::getenv("PATH");
  std::stringstream folders(path ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = folder;
    candidate.append("/").append(name);
    if (!folder.empty() && access(candidate.c_str(), X_OK) == 0)
      return candidate;
  }
  return "";
}

Compiler findCompiler() {
  Compiler compiler;
  if (const char *chosen = std::getenv("DLC_EMU_CXX"); chosen && *chosen)
    compiler.path = findInPath(chosen);
  else
    for (const char *name : {"clang++-22", "clang++", "g++"})
      if (compiler.path.empty())
        compiler.path = findInPath(name);
  if (compiler.path.empty())
    return compiler;
  // By what the name leads to: /usr/bin/c++ may be either.
  std::error_code ignored;
  fs::path real = fs::canonical(compiler.path, ignored);
  compiler.isClang = real.filename().string().find("clang") != std::string::npos ||
                     compiler.path.find("clang") != std::string::npos;
  struct stat status;
  if (stat(compiler.path.c_str(), &status) == 0)
    compiler.identity = real.string() + " " + std::to_string(status.st_size) + " " +
                        std::to_string(status.st_mtim.tv_sec);
  return compiler;
}

static bool hasFmaAndF16() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}

/// The command that makes a shared object of an object. Where the host has fma and f16 conversions,
/// all that is left to import is memcpy and the like, which each process has: the linker alone,
/// without a library, takes 3 ms, where the compiler as a driver takes 40. A compiler that is to
/// link as well starts one more process of its own for each of both.
static std::vector<std::string> linkCommand(const Compiler &compiler) {
  std::string linker = hasFmaAndF16() ? findInPath("ld") : "";
  return {linker.empty() ? compiler.path : linker, "-shared"};
}

std::vector<std::string> compileFlags(const Compiler &compiler, bool checked) {
  std::vector<std::string> flags = {"-std=c++17", "-x", "c++", "-w", "-fPIC", "-c",
                                    "-fvisibility=hidden", "-DDLC_EMU", "-include", "dlc_emu.h",
                                    // Each operation rounds once, as with NVRTC's --fmad=false.
                                    "-ffp-contract=off", "-fno-math-errno",
                                    // Kernels view memory as vectors of other types.
                                    "-fno-strict-aliasing", "-fno-exceptions", "-fno-rtti",
                                    "-fno-asynchronous-unwind-tables", "-fno-stack-protector",
                                    "-fno-threadsafe-statics"};
  // fma and f16 conversions in hardware, where the host has them; the results are the same.
  if (hasFmaAndF16())
    flags.push_back("-march=x86-64-v3");
  if (!checked) {
    flags.push_back("-O2");
    return flags;
  }
  flags.insert(flags.end(), {"-O1", "-DDLC_EMU_CHECKED"});
  if (compiler.isClang)
    flags.insert(flags.end(), {"-fsanitize-coverage=trace-loads,trace-stores,no-prune,trace-pc",
                               "-fsanitize=alignment", "-fsanitize-recover=alignment"});
  return flags;
}

namespace {

/// A folder that is removed with all that is in it.
struct TemporaryFolder {
  std::string path;
  TemporaryFolder() {
    std::error_code ignored;
    std::string pattern = (fs::temp_directory_path(ignored) / "dlc-cuda-emu-XXXXXX").string();
    if (mkdtemp(pattern.data()))
      path = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
};

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Runs the arguments with their output in a file; true if the program ends with 0.
bool runProgram(const std::vector<std::string> &arguments, const std::string &outputPath) {
  std::vector<char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(const_cast<char *>(argument.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, outputPath.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child;
  int failed = posix_spawn(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed)
    return false;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// A header's name must stay inside the folder.
bool isSafeName(const std::string &name) {
  fs::path path(name);
  if (name.empty() || path.is_absolute())
    return false;
  for (const fs::path &part : path)
    if (part == "..")
      return false;
  return true;
}

} // namespace

CompileResult compileForHost(const Compiler &compiler, const std::vector<std::string> &flags,
                             const std::vector<std::pair<std::string, std::string>> &files) {
  CompileResult result;
  TemporaryFolder folder;
  if (folder.path.empty()) {
    result.log = "cuda-emu: cannot make a temporary folder; set TMPDIR to a writable one\n";
    return result;
  }
  for (const auto &[name, text] : files) {
    if (!isSafeName(name)) {
      result.log = "cuda-emu: header name '" + name + "' leads out of the folder\n";
      return result;
    }
    fs::path path = fs::path(folder.path) / name;
    std::error_code ignored;
    fs::create_directories(path.parent_path(), ignored);
    std::ofstream(path, std::ios::binary) << text;
  }
  std::string object = folder.path + "/kernel.o", library = folder.path + "/kernel.so",
              log = folder.path + "/log";
  std::vector<std::string> compile = {compiler.path}, link = linkCommand(compiler);
  compile.insert(compile.end(), flags.begin(), flags.end());
  compile.insert(compile.end(),
                 {"-I" + folder.path, folder.path + "/" + files.front().first, "-o", object});
  link.insert(link.end(), {object, "-o", library});
  result.succeeded = runProgram(compile, log);
  result.log = readFile(log);
  if (result.succeeded) {
    result.succeeded = runProgram(link, log);
    result.log += readFile(log);
  }
  if (result.succeeded)
    result.object = readFile(library);
  // The temporary folder's name means nothing to the reader, and differs each time.
  for (size_t at; (at = result.log.find(folder.path + "/")) != std::string::npos;)
    result.log.erase(at, folder.path.size() + 1);
  return result;
}

} // namespace dlc::emu
