//===- Format.h - The canonical layout of a model's text ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_FORMAT_FORMAT_H
#define DLC_FRONTEND_DL_FORMAT_FORMAT_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/MemoryBuffer.h"

#include <optional>
#include <string>

namespace dlc {

/// The longest line, in characters and without its comment, that the formatter leaves whole.
inline constexpr unsigned kFormatColumns = 100;

/// The text of `source`, a .dl file, in its canonical layout: the same tokens and comments in the
/// same order (a `;` becomes a line), so that it means the same. Formatting twice changes nothing.
///
/// Syntax errors are reported through `context`, and give nothing: what cannot be read is not
/// rearranged.
std::optional<std::string> formatSource(std::unique_ptr<llvm::MemoryBuffer> source,
                                        mlir::MLIRContext &context);

} // namespace dlc

#endif // DLC_FRONTEND_DL_FORMAT_FORMAT_H
