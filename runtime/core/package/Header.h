//===- Header.h - Is this a model.bin that this runtime reads? ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_PACKAGE_HEADER_H
#define DLC_RUNTIME_CORE_PACKAGE_HEADER_H

#include "runtime/core/Status.h"
#include "runtime/schema/ModuleHeader.h"

#include <cstddef>
#include <cstdint>

namespace dlc::rt {

/// Checks everything that stands before the table, and the table's bounds and hash; the table
/// itself is not looked into. `data` is aligned to 8. DLC_INCOMPATIBLE with a sentence that says
/// what the file is instead, as far as its first bytes tell.
Status checkHeader(const uint8_t *data, size_t bytes);

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_PACKAGE_HEADER_H
