//===- RecurrentSteps.h - Recurrent networks of ONNX, step by step ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_OPS_RECURRENTSTEPS_H
#define DLC_FRONTEND_ONNX_OPS_RECURRENTSTEPS_H

namespace dlc::onnx {

class NodeImport;

/// Its number is that of the gates.
enum class RecurrentKind { rnn = 1, gru = 3, lstm = 4 };

/// Writes out each step of an RNN, GRU or LSTM whose operands have the ranks that the standard
/// says. False where it failed, reported.
bool buildRecurrentSteps(NodeImport &node, RecurrentKind kind);
/// ONNX Runtime's DynamicQuantizeLSTM: weights in 8 bits, which multiply x and the state as the
/// nearest of 256 numbers.
bool buildQuantizedLstm(NodeImport &node);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_OPS_RECURRENTSTEPS_H
