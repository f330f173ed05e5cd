//===- Library.cpp - The CUDA driver, NVRTC and cuBLASLt, loaded at run time -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/driver/Library.h"
#include "runtime/core/Text.h"

#include <cstdlib>
#include <dlfcn.h>
#include <glob.h>
#include <map>
#include <memory>
#include <mutex>
#include <sys/stat.h>
#include <vector>

using namespace dlc;
using namespace dlc::cuda;
using rt::quoted;
using rt::Status;
using rt::text;

static Status unusable(const std::string &why) {
  return {DLC_UNSUPPORTED, "CUDA is not usable: " + why};
}

static std::string fromEnvironment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// Fills `function` from the library; the first name that it lacks goes to `missing`.
template <class Function>
static void lookUp(void *library, const char *symbol, Function *&function, std::string *missing) {
  function = reinterpret_cast<Function *>(dlsym(library, symbol));
  if (!function && missing && missing->empty())
    *missing = symbol;
}

static const char *reasonOf(Result result) {
  switch (result) {
  case Result::NoDevice:
    return "no NVIDIA GPU is visible (is CUDA_VISIBLE_DEVICES set, or the device not passed to "
           "this "
           "container?)";
  case Result::StubLibrary:
    return "the driver library is the toolkit's stub: the NVIDIA driver is not installed, or its "
           "folder comes later in LD_LIBRARY_PATH";
  case Result::SystemDriverMismatch:
    return "the driver library and the loaded kernel module have different versions: restart the "
           "machine";
  case Result::SystemNotReady:
    return "the system is not ready (fabric manager or MIG set-up)";
  default:
    return nullptr;
  }
}

static rt::Expected<std::unique_ptr<Driver>> openDriver(const std::string &path) {
  // RTLD_LOCAL: the host may use another CUDA of its own.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    return unusable(text("cannot load the driver library ", quoted(path), " (", dlerror(),
                         "): install the NVIDIA driver, or name the library in DLC_LIBCUDA"));
  }
  auto driver = std::make_unique<Driver>();
  driver->path = path;
  std::string missing;
#define DLC_DRIVER(member, symbol, parameters) lookUp(library, #symbol, driver->member, &missing);
#define DLC_DRIVER_OPTIONAL(member, symbol, parameters)                                            \
  lookUp(library, #symbol, driver->member, nullptr);
#include "runtime/cuda/driver/Symbols.def"
  if (!missing.empty())
    return unusable(text("the driver library ", quoted(path), " lacks ", missing,
                         ": the driver is too old, update it"));
  if (Result result = driver->init(0); result != Result::Success) {
    const char *reason = reasonOf(result);
    return unusable(
        text(reason ? reason : "the driver does not start", ": cuInit: ", driver->explain(result)));
  }
  if (Result result = driver->driverGetVersion(&driver->version); result != Result::Success)
    return unusable(text("cuDriverGetVersion: ", driver->explain(result)));
  return driver;
}

/// One table for each library path, kept for ever: drivers must not be unloaded.
template <class Table, class Open>
static rt::Expected<const Table *> cached(const std::string &path, Open open) {
  static auto &lock = *new std::mutex;
  static auto &tables = *new std::map<std::string, std::unique_ptr<Table>>;
  std::lock_guard guard(lock);
  std::unique_ptr<Table> &table = tables[path];
  if (!table) {
    rt::Expected<std::unique_ptr<Table>> opened = open(path);
    if (opened.failed())
      return opened.status();
    table = opened.take();
  }
  return const_cast<const Table *>(table.get());
}

rt::Expected<const Driver *> Driver::open() {
  std::string path = fromEnvironment("DLC_LIBCUDA");
  return cached<Driver>(path.empty() ? "libcuda.so.1" : path, openDriver);
}

std::string Driver::explain(Result result) const {
  const char *name = nullptr, *meaning = nullptr;
  getErrorName(result, &name);
  getErrorString(result, &meaning);
  if (!name)
    return text("CUDA error ", static_cast<int>(result));
  return meaning ? text(name, " (", meaning, ")") : std::string(name);
}

static rt::Expected<std::unique_ptr<Nvrtc>> openNvrtc(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    return unusable(text("cannot load ", quoted(path), " (", dlerror(), ")"));
  }
  auto nvrtc = std::make_unique<Nvrtc>();
  nvrtc->path = path;
  std::string missing;
#define DLC_NVRTC(member, symbol, result, parameters)                                              \
  lookUp(library, #symbol, nvrtc->member, &missing);
#define DLC_NVRTC_OPTIONAL(member, symbol, result, parameters)                                     \
  lookUp(library, #symbol, nvrtc->member, nullptr);
#include "runtime/cuda/driver/Symbols.def"
  if (!missing.empty())
    return unusable(text("the library ", quoted(path), " lacks ", missing, ": use NVRTC 12 or 13"));
  NvrtcFacts &facts = nvrtc->facts;
  int count = 0;
  if (nvrtc->version(&facts.major, &facts.minor) != NvrtcResult::Success)
    return unusable(text("the library ", quoted(path), " does not tell its version"));
  if (nvrtc->getNumSupportedArchs(&count) != NvrtcResult::Success || count <= 0)
    return unusable(text("the library ", quoted(path), " does not tell what it compiles for"));
  facts.architectures.resize(static_cast<size_t>(count));
  if (nvrtc->getSupportedArchs(facts.architectures.data()) != NvrtcResult::Success)
    return unusable(text("the library ", quoted(path), " does not tell what it compiles for"));
  struct stat status;
  if (stat(nvrtc->file().c_str(), &status) == 0)
    facts.identity = text("file of ", status.st_size, " bytes");
  return nvrtc;
}

std::string Nvrtc::describe() const {
  return text("NVRTC ", facts.major, ".", facts.minor, " (", path, ")");
}

std::string Nvrtc::file() const {
  Dl_info info;
  return dladdr(reinterpret_cast<void *>(version), &info) && info.dli_fname ? info.dli_fname : "";
}

static void addMatches(std::vector<std::string> &paths, const std::string &pattern) {
  glob_t found;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; ++i)
      paths.push_back(found.gl_pathv[i]);
  globfree(&found);
}

/// Where a library of the toolkit ("nvrtc") of one major version may be, best first. `wheel` is its
/// folder in those for CUDA 12.
static std::vector<std::string> toolkitPaths(const char *library, const char *wheel, int major) {
  std::string name = text("lib", library, ".so.", major);
  std::vector<std::string> paths = {name};
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (std::string home = fromEnvironment(variable); !home.empty())
      addMatches(paths, text(home, "/lib64/", name));
  addMatches(paths, text("/usr/local/cuda/lib64/", name));
  addMatches(paths, text("/usr/local/cuda-", major, ".*/lib64/", name));
  // The wheels: nvidia-cuda-nvrtc-cu12, and nvidia-cuda-nvrtc from version 13 on; nvidia-cublas
  // likewise.
  std::vector<std::string> roots;
  for (const char *variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (std::string root = fromEnvironment(variable); !root.empty())
      roots.push_back(root + "/lib/python3*/site-packages");
  if (std::string home = fromEnvironment("HOME"); !home.empty())
    roots.push_back(home + "/.local/lib/python3*/site-packages");
  roots.push_back("/usr/local/lib/python3*/dist-packages");
  roots.push_back("/usr/local/lib/python3*/site-packages");
  for (const std::string &root : roots) {
    addMatches(paths, text(root, "/nvidia/", wheel, "/lib/", name));
    addMatches(paths, text(root, "/nvidia/cu", major, "/lib/", name));
  }
  return paths;
}

/// Major versions of the toolkit, best first: its libraries and a driver of the same major version
/// fit.
static std::vector<int> majorVersions(int driverVersion) {
  if (driverVersion != 0 && driverVersion / 1000 <= 12)
    return {12, 13};
  return {13, 12};
}

rt::Expected<const Nvrtc *> Nvrtc::open(int driverVersion) {
  if (std::string path = fromEnvironment("DLC_LIBNVRTC"); !path.empty())
    return cached<Nvrtc>(path, openNvrtc);
  for (int major : majorVersions(driverVersion))
    for (const std::string &path : toolkitPaths("nvrtc", "cuda_nvrtc", major))
      if (rt::Expected<const Nvrtc *> found = cached<Nvrtc>(path, openNvrtc); !found.failed())
        return found;
  return unusable(
      "NVRTC (libnvrtc.so.13 or .12), which compiles the kernels, is not in the loader's path, "
      "CUDA_HOME, /usr/local/cuda or a Python environment: install CUDA or the wheel "
      "nvidia-cuda-nvrtc, or name the library in DLC_LIBNVRTC");
}

static rt::Expected<std::unique_ptr<CublasLt>> openCublasLt(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Status(DLC_UNSUPPORTED, text("cannot load ", quoted(path), " (", dlerror(), ")"));
  auto blas = std::make_unique<CublasLt>();
  blas->path = path;
  std::string missing;
#define DLC_CUBLASLT(member, symbol, result, parameters)                                           \
  lookUp(library, #symbol, blas->member, &missing);
#include "runtime/cuda/driver/Symbols.def"
  if (!missing.empty())
    return Status(DLC_UNSUPPORTED,
                  text("the library ", quoted(path), " lacks ", missing, ": use cuBLAS 12 or 13"));
  blas->version = blas->getVersion();
  return blas;
}

std::string CublasLt::versionText() const {
  return text(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

std::string CublasLt::describe() const { return text("cuBLASLt ", versionText(), " (", path, ")"); }

rt::Expected<const CublasLt *> CublasLt::open(int driverVersion) {
  if (std::string path = fromEnvironment("DLC_LIBCUBLASLT"); !path.empty())
    return cached<CublasLt>(path, openCublasLt);
  for (int major : majorVersions(driverVersion))
    for (const std::string &path : toolkitPaths("cublasLt", "cublas", major))
      if (rt::Expected<const CublasLt *> found = cached<CublasLt>(path, openCublasLt);
          !found.failed())
        return found;
  return Status(DLC_UNSUPPORTED,
                "libcublasLt.so.13 or .12 is not in the loader's path, CUDA_HOME, /usr/local/cuda "
                "or a Python environment: install CUDA or the wheel nvidia-cublas, or name the "
                "library in DLC_LIBCUBLASLT");
}
