//===- CompileCache.cpp - compiled kernels on disk --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/nvrtc/CompileCache.h"
#include "runtime/core/package/Sha256.h"
#include "test/emulator/device/dlc_emu_abi.h"
#include "test/emulator/nvrtc/Image.h"
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace fs = std::filesystem;

namespace dlc::emu {

static fs::path cacheFolder() {
  if (const char *chosen = std::getenv("DLC_EMU_CACHE"))
    return chosen;
  if (const char *base = std::getenv("XDG_CACHE_HOME"); base && *base)
    return fs::path(base) / "dlc" / "cuda-emu";
  if (const char *home = std::getenv("HOME"); home && *home)
    return fs::path(home) / ".cache" / "dlc" / "cuda-emu";
  return {};
}

bool isWholeImage(const std::string &image) {
  ImageHeader header;
  if (image.size() < sizeof header)
    return false;
  std::memcpy(&header, image.data(), sizeof header);
  if (header.magic != ImageHeader::kMagic || header.abiVersion != DLC_EMU_ABI_VERSION ||
      header.bytes != image.size() - sizeof header)
    return false;
  auto hash = rt::sha256(std::string_view(image).substr(sizeof header));
  return std::memcmp(hash.data(), header.hash, hash.size()) == 0;
}

std::string loadCached(const std::string &key) {
  fs::path folder = cacheFolder();
  if (folder.empty())
    return "";
  std::ifstream file(folder / (key + ".img"), std::ios::binary);
  if (!file)
    return "";
  std::stringstream content;
  content << file.rdbuf();
  std::string image = content.str();
  return isWholeImage(image) ? image : "";
}

void storeCached(const std::string &key, const std::string &image) {
  fs::path folder = cacheFolder();
  if (folder.empty())
    return;
  std::error_code failed;
  fs::create_directories(folder, failed);
  std::string pattern = (folder / ("." + key + ".XXXXXX")).string();
  int file = mkstemp(pattern.data());
  if (file < 0)
    return;
  size_t done = 0;
  while (done < image.size()) {
    ssize_t written = write(file, image.data() + done, image.size() - done);
    if (written <= 0)
      break;
    done += written;
  }
  close(file);
  if (done == image.size())
    fs::rename(pattern, folder / (key + ".img"), failed);
  if (done != image.size() || failed)
    fs::remove(pattern, failed);
}

} // namespace dlc::emu
