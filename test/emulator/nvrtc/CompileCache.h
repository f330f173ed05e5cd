//===- CompileCache.h - compiled kernels on disk ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files <key>.img in $DLC_EMU_CACHE, else $XDG_CACHE_HOME/dlc/cuda-emu, else ~/.cache/dlc/cuda-emu;
// an empty DLC_EMU_CACHE turns the cache off. Any fault is a miss: the cache never fails a compile.
//===----------------------------------------------------------------------===//
#pragma once
#include <string>

namespace dlc::emu {

/// The image that was stored under the key, or "" if there is none that is whole.
std::string loadCached(const std::string &key);

/// Stores an image, by a temporary name that is renamed.
void storeCached(const std::string &key, const std::string &image);

/// True if `image` is complete and its hash right.
bool isWholeImage(const std::string &image);

} // namespace dlc::emu
