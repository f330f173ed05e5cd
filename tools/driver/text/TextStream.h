//===- TextStream.h - Text that appears token by token ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TEXT_TEXTSTREAM_H
#define DLC_TOOLS_DRIVER_TEXT_TEXTSTREAM_H

#include "tools/driver/text/Tokenizer.h"

namespace dlc::text {

/// The pieces that it gives are, one after another, the text of all tokens. A character of several
/// tokens is given as a whole.
class TextStream {
public:
  /// `tokenizer` must outlive the stream.
  explicit TextStream(const Tokenizer &tokenizer) : tokenizer(tokenizer) {}
  /// The text that the token completes, which may be empty. False with a problem.
  bool add(int64_t token, std::string &piece, Problem &problem);
  /// Gives the rest when no token follows; bytes that make no whole character become U+FFFD.
  bool finish(std::string &piece, Problem &problem);

private:
  bool next(bool isLast, std::string &piece, Problem &problem);
  bool shorten(Problem &problem);

  const Tokenizer &tokenizer;
  std::vector<int64_t> tokens; // the last ones, a window
  std::string said;            // of the text of the window
};

} // namespace dlc::text

#endif // DLC_TOOLS_DRIVER_TEXT_TEXTSTREAM_H
