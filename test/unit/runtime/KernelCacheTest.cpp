//===- KernelCacheTest.cpp - Compiled kernels on disk, and what they are found by -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/kernels/KernelCache.h"
#include "runtime/cuda/kernels/KernelText.h"
#include "test/unit/runtime/CudaRunner.h"
#include "test/unit/runtime/RefusedCall.h"

#include <atomic>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace dlc::test;
using dlc::cuda::KernelCache;
using dlc::cuda::KernelDigest;
using dlc::cuda::KernelText;
using dlc::cuda::stripComments;
namespace fs = std::filesystem;

static constexpr int64_t kLarge = int64_t(1) << 30;

static std::string keyOf(int number) {
  std::string digits = std::to_string(number);
  return std::string(64 - digits.size(), '0') + digits;
}

static std::string contentOf(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

static void setContent(const fs::path &path, const std::string &content) {
  std::ofstream(path, std::ios::binary) << content;
}

static std::vector<fs::path> entriesOf(const std::string &folder) {
  std::vector<fs::path> found;
  for (const auto &entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".cubin")
      found.push_back(entry.path());
  return found;
}

TEST(KernelText, CommentsAndEmptyLinesSayNothing) {
  EXPECT_EQ(stripComments("// from model.dl:3:7\n\n  int a; // x\n/* two\nlines */int b;\n"),
            "  int a;\n int b;\n");
  EXPECT_EQ(stripComments("a(\"// no comment /* \", '\"', '\\\\'); // gone"),
            "a(\"// no comment /* \", '\"', '\\\\');\n");
  EXPECT_EQ(stripComments("int n = 1'000; // it's\nint m;"), "int n = 1'000;\nint m;\n");
  EXPECT_EQ(stripComments("/* open"), "");
  EXPECT_EQ(stripComments(""), "");
}

TEST(KernelText, TheDigestIsOfTextAndHeaders) {
  KernelDigest digest;
  KernelText text{"k", "int a; // one\n", {"int h; // x\n"}, {"h.cuh"}};
  std::string first = digest.of(text);
  EXPECT_EQ(first.size(), 64u);
  text.source = "// two\nint a;\n";
  text.headers = {"int h;\n"};
  text.name = "other";
  EXPECT_EQ(digest.of(text), first);
  text.headers = {"int g;\n"};
  EXPECT_NE(digest.of(text), first);
  text.headers = {"int h;\n"};
  text.headerNames = {"g.cuh"};
  EXPECT_NE(digest.of(text), first);
  text.headerNames = {"h.cuh"};
  text.source = "int b;\n";
  EXPECT_NE(digest.of(text), first);
}

TEST(KernelCache, KeepsAndFinds) {
  TemporaryFolder folder;
  KernelCache cache(folder.path() + "/a/b", kLarge);
  ASSERT_TRUE(cache.isOpen()) << cache.problem();
  std::string image = "before", code("\0code\xff", 6);
  EXPECT_FALSE(cache.load(keyOf(1), image));
  EXPECT_EQ(image, "before");
  EXPECT_TRUE(cache.store(keyOf(1), code));
  EXPECT_TRUE(cache.load(keyOf(1), image));
  EXPECT_EQ(image, code);
  EXPECT_FALSE(cache.load(keyOf(2), image));
  EXPECT_TRUE(cache.store(keyOf(1), "newer"));
  EXPECT_TRUE(cache.load(keyOf(1), image));
  EXPECT_EQ(image, "newer");
  struct stat status;
  ASSERT_EQ(stat((folder.path() + "/a/b").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST(KernelCache, EveryDamageIsAMiss) {
  TemporaryFolder folder;
  KernelCache cache(folder.path(), kLarge);
  const std::string code = "the code of a kernel";
  ASSERT_TRUE(cache.store(keyOf(1), code));
  fs::path path = entriesOf(folder.path()).at(0);
  const std::string whole = contentOf(path);
  std::string image;
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = char(damaged[at] ^ 0x40);
    setContent(path, damaged);
    EXPECT_FALSE(cache.load(keyOf(1), image)) << "byte " << at;
    setContent(path, whole.substr(0, at));
    EXPECT_FALSE(cache.load(keyOf(1), image)) << "cut at " << at;
  }
  setContent(path, whole + "x");
  EXPECT_FALSE(cache.load(keyOf(1), image));
  // An entry under another's name.
  setContent(folder.path() + "/" + keyOf(2) + ".cubin", whole);
  EXPECT_FALSE(cache.load(keyOf(2), image));
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_FALSE(cache.load(keyOf(1), image));
  EXPECT_FALSE(cache.store(keyOf(1), code)); // a folder is in the way: no more than a miss
  fs::remove(path);
  ASSERT_TRUE(cache.store(keyOf(1), code));
  EXPECT_TRUE(cache.load(keyOf(1), image));
}

TEST(KernelCache, TrimsWhatWasNotUsedForLongest) {
  TemporaryFolder folder;
  const std::string code(1000, 'x');
  KernelCache cache(folder.path(), 10 * 1200);
  auto age = [&](int number, int seconds) {
    timespec times[2] = {};
    times[0].tv_sec = times[1].tv_sec = time(nullptr) - seconds;
    std::string path = folder.path() + "/" + keyOf(number) + ".cubin";
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  };
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(cache.store(keyOf(i), code));
    age(i, 100 - i);
  }
  cache.trim();
  EXPECT_EQ(entriesOf(folder.path()).size(), 10u);
  std::string image;
  ASSERT_TRUE(cache.load(keyOf(0), image)); // used: no longer the oldest
  setContent(folder.path() + "/.tmp-1-1", "left behind");
  timespec old[2] = {};
  utimensat(AT_FDCWD, (folder.path() + "/.tmp-1-1").c_str(), old, 0);
  setContent(folder.path() + "/.tmp-1-2", "in work");
  ASSERT_TRUE(cache.store(keyOf(10), code));
  cache.trim();
  EXPECT_LE(entriesOf(folder.path()).size(), 8u);
  EXPECT_GE(entriesOf(folder.path()).size(), 6u);
  EXPECT_TRUE(cache.load(keyOf(0), image));
  EXPECT_TRUE(cache.load(keyOf(10), image));
  EXPECT_FALSE(cache.load(keyOf(1), image));
  EXPECT_FALSE(fs::exists(folder.path() + "/.tmp-1-1"));
  EXPECT_TRUE(fs::exists(folder.path() + "/.tmp-1-2"));
}

TEST(KernelCache, AFolderOfAnotherUser) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root gives folders away";
  TemporaryFolder folder;
  ASSERT_EQ(chown(folder.path().c_str(), 12345, gid_t(-1)), 0);
  EXPECT_EQ(KernelCache(folder.path(), kLarge).problem(),
            "compiled kernels are not kept: the cache folder '" + folder.path() +
                "' belongs to another user");
}

TEST(KernelCache, FoldersThatDoNotServe) {
  TemporaryFolder folder;
  setContent(folder.path() + "/file", "");
  KernelCache file(folder.path() + "/file/sub", kLarge);
  EXPECT_FALSE(file.isOpen());
  auto problem = [](const std::string &path, const std::string &why) {
    return "compiled kernels are not kept: the cache folder '" + path + "' " + why;
  };
  EXPECT_EQ(file.problem(),
            problem(folder.path() + "/file/sub", "cannot be made (Not a directory)"));
  fs::create_directory(folder.path() + "/open");
  fs::permissions(folder.path() + "/open", fs::perms::all);
  KernelCache open(folder.path() + "/open", kLarge);
  EXPECT_FALSE(open.isOpen());
  EXPECT_EQ(open.problem(),
            problem(folder.path() + "/open",
                    "is writable to others, who could put code into it; use 'chmod go-w'"));
  EXPECT_EQ(resultUnder({SYS_openat, 2, O_RDONLY | O_DIRECTORY | O_CLOEXEC, EACCES},
                        [&] { return KernelCache(folder.path(), kLarge).problem(); }),
            problem(folder.path(), "cannot be opened (Permission denied)"));
  std::string image;
  EXPECT_FALSE(open.store(keyOf(1), "code"));
  EXPECT_FALSE(open.load(keyOf(1), image));
  KernelCache none("", kLarge);
  EXPECT_FALSE(none.isOpen());
  EXPECT_EQ(none.problem(), "");
  EXPECT_FALSE(none.store(keyOf(1), "code"));
}

TEST(KernelCache, TheEnvironmentMovesIt) {
  Environment named("DLC_CACHE_DIR", "/some/where"), base("XDG_CACHE_HOME", "/base");
  EXPECT_EQ(KernelCache::folderFor(nullptr), "/some/where");
  EXPECT_EQ(KernelCache::folderFor("/chosen"), "/chosen");
  EXPECT_EQ(KernelCache::folderFor(""), "");
  {
    Environment off("DLC_CACHE_DIR", "");
    EXPECT_EQ(KernelCache::folderFor(nullptr), "");
  }
  unsetenv("DLC_CACHE_DIR");
  EXPECT_EQ(KernelCache::folderFor(nullptr), "/base/dlc/kernels");
  Environment relative("XDG_CACHE_HOME", "relative"), home("HOME", "/somebody");
  EXPECT_EQ(KernelCache::folderFor(nullptr), "/somebody/.cache/dlc/kernels");
  for (auto [text, mebibytes] :
       {std::pair("64", 64), {"", 512}, {"0", 512}, {"many", 512}, {"7x", 512}}) {
    Environment limit("DLC_CACHE_MB", text);
    EXPECT_EQ(KernelCache::limitFromEnvironment(), int64_t(mebibytes) << 20) << text;
  }
}

TEST(KernelCache, ProcessesAndThreadsAtOnce) {
  TemporaryFolder folder;
  // Entries are large enough that a writer is interrupted, and each is of one letter: a mixture
  // shows.
  auto work = [&](int seed) {
    KernelCache cache(folder.path(), 40 << 16);
    for (int round = 0; round < 60; ++round) {
      int key = (seed + round) % 5;
      cache.store(keyOf(key), std::string(1 << 16, char('a' + key)));
      std::string image;
      if (cache.load(keyOf((seed + 2 * round) % 5), image) &&
          image != std::string(1 << 16, char('a' + (seed + 2 * round) % 5)))
        return false;
      cache.trim();
    }
    return true;
  };
  std::vector<pid_t> children;
  for (int child = 0; child < 3; ++child)
    if (pid_t made = fork(); made == 0)
      _exit(work(child) ? 0 : 1);
    else
      children.push_back(made);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread)
    threads.emplace_back([&, thread] { right += work(thread + 1); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 3);
  for (pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  for (const auto &entry : fs::directory_iterator(folder.path()))
    EXPECT_EQ(entry.path().extension(), ".cubin") << entry.path();
}

#if defined(DLC_EMU_DRIVER_PATH)

namespace {

/// The emulated GPU with a cache of its own.
class CudaCache : public Cuda {
protected:
  TemporaryFolder folder;
  Environment place{"DLC_CACHE_DIR", folder.path()};

  /// Opens a context on a fresh module, runs it; returns how many kernels were compiled for it.
  int compilesOf(const PackageBuilder &package, std::string *remarks = nullptr) {
    int before = countCompiles();
    ModulePtr module = load(package.file());
    ContextPtr context = open(module.get(), options("cuda"));
    if (context)
      expectRight(context.get(), 3);
    if (context && remarks)
      *remarks = dlc_context_remarks(context.get());
    return countCompiles() - before;
  }
};

} // namespace

TEST_F(CudaCache, ASecondLoadCompilesNothing) {
  EXPECT_EQ(compilesOf(cudaPackage()), 2);
  EXPECT_EQ(entriesOf(folder.path()).size(), 2u);
  EXPECT_EQ(compilesOf(cudaPackage()), 0);
  // Another comment is the same code; another text is not.
  EXPECT_EQ(compilesOf(cudaPackage(std::string("// model.dl:7\n") + kScaleKernel)), 0);
  EXPECT_EQ(compilesOf(cudaPackage(std::string(kScaleKernel) + "int unused;")), 1);
  // Code for another GPU is other code.
  Environment arch("DLC_EMU_ARCH", "86");
  EXPECT_EQ(compilesOf(cudaPackage()), 2);
  EXPECT_EQ(compilesOf(cudaPackage()), 0);
}

TEST_F(CudaCache, DamagedEntriesAreCompiledAgain) {
  EXPECT_EQ(compilesOf(cudaPackage()), 2);
  std::vector<fs::path> entries = entriesOf(folder.path());
  std::string content = contentOf(entries.at(0));
  setContent(entries[0], content.substr(0, content.size() / 2));
  EXPECT_EQ(compilesOf(cudaPackage()), 1);
  content = contentOf(entries.at(1));
  content[content.size() - 100] ^= 1;
  setContent(entries[1], content);
  EXPECT_EQ(compilesOf(cudaPackage()), 1);
  EXPECT_EQ(compilesOf(cudaPackage()), 0);
}

TEST_F(CudaCache, AFolderThatCannotBeUsedIsNoFailure) {
  setContent(folder.path() + "/file", "");
  Environment place("DLC_CACHE_DIR", folder.path() + "/file");
  std::string remarks;
  EXPECT_EQ(compilesOf(cudaPackage(), &remarks), 2);
  EXPECT_NE(remarks.find("compiled kernels are not kept: the cache folder '"), std::string::npos)
      << remarks;
  EXPECT_EQ(compilesOf(cudaPackage()), 2);
}

TEST_F(CudaCache, TheOptionMovesItAndTurnsItOff) {
  TemporaryFolder other;
  int before = countCompiles();
  ModulePtr module = load(cudaPackage().file());
  dlc_context_options chosen = options("cuda");
  chosen.cache_dir = "";
  EXPECT_TRUE(open(module.get(), chosen));
  EXPECT_TRUE(entriesOf(folder.path()).empty());
  module = load(cudaPackage().file());
  chosen.cache_dir = other.path().c_str();
  EXPECT_TRUE(open(module.get(), chosen));
  EXPECT_TRUE(entriesOf(folder.path()).empty());
  EXPECT_EQ(entriesOf(other.path()).size(), 2u);
  EXPECT_EQ(countCompiles() - before, 4);
}

TEST_F(CudaCache, EqualTextsAreCompiledOnceAndProgressIsTold) {
  PackageBuilder package = cudaPackage();
  // The same kernel again, from another place of the model.
  package.cudaKernel("scale", std::string("// model.dl:9:1\n") + kScaleKernel, 64);
  std::vector<std::pair<size_t, size_t>> told;
  dlc_context_options chosen = options("cuda");
  chosen.progress_data = &told;
  chosen.progress = [](void *data, size_t done, size_t total) {
    static_cast<decltype(told) *>(data)->emplace_back(done, total);
  };
  int before = countCompiles();
  ModulePtr module = load(package.file());
  ASSERT_TRUE(open(module.get(), chosen));
  EXPECT_EQ(countCompiles() - before, 2);
  ASSERT_GE(told.size(), 2u);
  EXPECT_EQ(told.front(), std::pair(size_t(0), size_t(2)));
  EXPECT_EQ(told.back(), std::pair(size_t(2), size_t(2)));
  told.clear();
  module = load(package.file());
  ASSERT_TRUE(open(module.get(), chosen));
  EXPECT_TRUE(told.empty()); // nothing was compiled
}

#endif
