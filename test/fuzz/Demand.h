//===- Demand.h - What a fuzz target checks beyond crashes --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TEST_FUZZ_DEMAND_H
#define DLC_TEST_FUZZ_DEMAND_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdio>
#include <cstdlib>

namespace dlc::fuzz {

/// Ends the process, which the fuzzer takes for a finding, unless `holds`.
inline void demand(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "not so: %s\n", what);
  abort();
}

/// An error must say something.
inline void demandSentence(llvm::Error error) {
  demand(llvm::toString(std::move(error)).size() > 10, "an error that says what is wrong");
}

/// Reads every byte, so that AddressSanitizer sees where they lie.
inline void touch(llvm::ArrayRef<uint8_t> bytes) {
  static volatile uint8_t sink;
  uint8_t sum = 0;
  for (uint8_t byte : bytes)
    sum ^= byte;
  sink = sum;
  (void)sink;
}

} // namespace dlc::fuzz

#endif // DLC_TEST_FUZZ_DEMAND_H
