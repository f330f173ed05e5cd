//===- Decoder.h - Tokens into a model with a cache, and what comes next ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_RUN_DECODER_H
#define DLC_TOOLS_DRIVER_RUN_DECODER_H

#include "tools/driver/run/Session.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlc {

/// How the next token follows from the logits. `model.generate` in Python chooses alike
/// (runtime/python/dlc/generation.py).
struct Sampling {
  double temperature = 0; // 0: the token of the largest logit
  int64_t topK = 0; // among the so many largest, and those that equal the last of them; 0: all
  double topP = 1;  // among the fewest of the largest that have this probability together
  uint64_t seed = 0;
};

/// The token that follows `logits`, one for each token; the smaller one of two that are the
/// likeliest. Equal for equal `seed` and `step`, the number of tokens chosen before.
int64_t chooseToken(const std::vector<double> &logits, const Sampling &sampling, uint64_t step);

/// A decoder that keeps what it has read in a cache: a model with states of a counted length.
class Decoder {
public:
  /// Loads the file and finds out which of its inputs takes the tokens. An ExitCode, reported
  /// unless it is kOk.
  int open(const std::string &path, const DeviceOptions &options);
  /// Positions that the cache holds.
  int64_t capacity() const;
  /// How many tokens there are, where the model says it.
  std::optional<int64_t> vocabulary() const { return tokenCount; }
  /// Reads `tokens` after those that were read before, in as many runs as needed; `logits` are
  /// those that follow the last one. An ExitCode.
  int read(const std::vector<int64_t> &tokens, std::vector<double> &logits);

private:
  enum class Role { tokens, mask, positions };
  struct Input {
    dlc_value_info info;
    Role role;
  };
  int assignRoles();
  int run(const int64_t *tokens, int64_t count, HostTensor &result);

  Session session;
  std::vector<Input> inputs;
  std::vector<HostTensor> outputs;
  size_t logitsOutput = 0;
  std::optional<int64_t> tokenCount;
  int64_t least = 1, most = 1; // tokens of a run
  int64_t length = 0;          // tokens that have been read
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_RUN_DECODER_H
