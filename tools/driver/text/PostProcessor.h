//===- PostProcessor.h - What comes before and after the tokens of a text -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TEXT_POSTPROCESSOR_H
#define DLC_TOOLS_DRIVER_TEXT_POSTPROCESSOR_H

#include "tools/driver/text/FileField.h"

namespace dlc::text {

/// The token that begins a text, and whatever else the file's template adds.
class PostProcessor {
public:
  /// Reads the file's field "post_processor", which may be absent.
  void read(const FileField &field);
  void apply(std::vector<int64_t> &ids) const;

private:
  void readTemplate(const FileField &field);
  void readPair(const FileField &field);

  struct Affixes {
    std::vector<int64_t> before, after;
  };
  std::vector<Affixes> steps; // one after another
};

} // namespace dlc::text

#endif // DLC_TOOLS_DRIVER_TEXT_POSTPROCESSOR_H
