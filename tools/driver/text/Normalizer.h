//===- Normalizer.h - What becomes of a text before it is cut -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TEXT_NORMALIZER_H
#define DLC_TOOLS_DRIVER_TEXT_NORMALIZER_H

#include "tools/driver/text/FileField.h"

#include <memory>

namespace dlc::text {

class Normalizer {
public:
  /// The file's field "normalizer"; null where it is absent, or with a problem of the field.
  static std::unique_ptr<Normalizer> read(const FileField &field);
  virtual ~Normalizer() = default;
  /// False with a problem where a text grows too much or an expression takes too long.
  virtual bool apply(std::string &text, Problem &problem) const = 0;
};

} // namespace dlc::text

#endif // DLC_TOOLS_DRIVER_TEXT_NORMALIZER_H
