//===- Translations.h - What dlc-translate can do -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPILER_TRANSLATIONS_H
#define DLC_TOOLS_DRIVER_COMPILER_TRANSLATIONS_H

namespace dlc {

/// Registers `--import-dl` and `--mlir-to-cuda` for the life of the process.
void registerTranslations();

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPILER_TRANSLATIONS_H
