//===- Include.h - The files that a model includes ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_SYNTAX_INCLUDE_H
#define DLC_FRONTEND_DL_SYNTAX_INCLUDE_H

#include "frontend/dl/syntax/AST.h"
#include "frontend/dl/syntax/Diagnostics.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace dlc::frontend {

/// Files that one model may include, its own included ones counted in.
inline constexpr size_t kMaxIncludes = 64;

using SourceReader =
    llvm::function_ref<llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>(llvm::StringRef path)>;

/// Parses what `file`, which was read from `path`, includes, and what that includes, each once,
/// before what includes it. Their buffers go to `sources`. Every error is reported: files that
/// cannot be read, lie elsewhere, or include themselves.
std::vector<std::unique_ptr<SourceFile>> loadIncludes(const SourceFile &file, llvm::StringRef path,
                                                      llvm::SourceMgr &sources, SourceReader read,
                                                      Diagnostics &diagnostics);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_SYNTAX_INCLUDE_H
