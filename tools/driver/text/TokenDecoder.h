//===- TokenDecoder.h - From tokens to the text that they are -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TEXT_TOKENDECODER_H
#define DLC_TOOLS_DRIVER_TEXT_TOKENDECODER_H

#include "tools/driver/text/FileField.h"

#include <memory>
#include <vector>

namespace dlc::text {

class TokenDecoder {
public:
  /// The file's field "decoder"; null where it is absent, or with a problem of the field.
  static std::unique_ptr<TokenDecoder> read(const FileField &field);
  virtual ~TokenDecoder() = default;
  /// Rewrites the tokens; the text is what they are one after another. Bytes that are no UTF-8
  /// become U+FFFD. False with a problem.
  virtual bool apply(std::vector<std::string> &tokens, Problem &problem) const = 0;
};

} // namespace dlc::text

#endif // DLC_TOOLS_DRIVER_TEXT_TOKENDECODER_H
