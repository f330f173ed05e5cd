//===- Windows.h - Keras's padding of windows ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_KERAS_WINDOWS_H
#define DLC_FRONTEND_KERAS_WINDOWS_H

#include "frontend/keras/KerasCall.h"

namespace dlc::frontend {

/// What is added before and behind each spatial dim.
struct Borders {
  KerasCall::Shape low, high;
  bool areSymmetric() const { return low == high; }
};

/// The borders that the call's `padding` asks for. "same" gives ceil(size / stride) windows, and
/// puts the odd element of the border behind, as TensorFlow does: with strides it therefore depends
/// on the size, which must be a number.
Borders bordersOf(KerasCall &call, const Item &x, llvm::ArrayRef<int64_t> window,
                  llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> dilation);

/// x ([N, C, ...]) with the borders.
Item padded(KerasCall &call, const Item &x, const Borders &borders, double value);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_KERAS_WINDOWS_H
