//===- Spin.h - Looking for work a while before sleeping ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_SPIN_H
#define DLC_RUNTIME_CORE_SPIN_H

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dlc::rt {

/// How often a thread looks for work before it sleeps, a spinPause() between two looks. About 50
/// us: longer than the gap between two launches or two runs, shorter than anyone notices on an idle
/// machine.
inline constexpr int kSpins = 1000;

inline void spinPause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_SPIN_H
