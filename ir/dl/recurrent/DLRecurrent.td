//===- DLRecurrent.td - LSTM, GRU and RNN: whole networks, and their steps along time ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLRECURRENT_TD
#define DLC_IR_DL_DLRECURRENT_TD

include "ir/dl/base/DLBase.td"
include "ir/interfaces/Recurrent.td"

//===- Steps ----------------------------------------------------------------------------------===//

/// The steps of one layer in one direction over gates that were computed for all steps at once.
/// `body` is the step over Scalars: x(K) and h(K) are the pre-activations of gate K, state(K) the
/// states; it returns the new states.
///
/// A cell that multiplies its weights twice in a step takes two steps of the recurrence for one of
/// the network (`phases` 2): gate 3 is below 0 in the first and above in the second, and states 1
/// and 2 are its own.
class DL_StepsOp<string mnemonic, int gates, int states, code body, int phases = 1>
    : DL_InferredOp<mnemonic, "",
                    [AttrSizedOperandSegments, DeclareOpInterfaceMethods<RecurrentOpInterface>]> {
  let precision = "narrow";
  let arguments = (ins DL_FloatTensor:$gates, DL_FloatTensor:$weight,
                       Optional<DL_FloatTensor>:$bias,
      Optional<DL_FloatTensor>:$projection, Variadic<DL_FloatTensor>:$initial,
      Optional<RankedTensorOf<[I64, I32]>>:$lengths,
      DefaultValuedAttr<BoolAttr, "false">:$reverse,
      DefaultValuedAttr<BoolAttr, "false">:$batch_first);
  let results = (outs DL_FloatTensor:$y, Variadic<DL_FloatTensor>:$finals);
  let extraClassDeclaration = schemaDeclaration # "static constexpr unsigned kGates = " # gates #
                              ", kStates = " # states # ", kPhases = " # phases # ";\n";
  let extraClassDefinition = compatibleDefinition # [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, ::std::optional<::mlir::Location> location, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::dlc::dl::inferSteps(getOperationName(), location,
                                   {adaptor.getGates(), adaptor.getWeight(), adaptor.getBias(),
                                    adaptor.getProjection(),
                                    adaptor.getInitial(), adaptor.getLengths(), kGates, kStates,
                                    adaptor.getBatchFirst()}, types);
    }
    ::dlc::Recurrence $cppClass::getRecurrence() {
      return ::dlc::dl::recurrenceOf({getGates(), getWeight(), getBias(), getProjection(),
                                      getInitial(), getLengths(),
                                      kGates, kStates, getBatchFirst()}, getReverse());
    }
    ::llvm::SmallVector<::mlir::Value> $cppClass::emitStep(::dlc::BodyContext &context,
                                                           ::mlir::ValueRange xs,
                                                           ::mlir::ValueRange hs,
                                                           ::mlir::ValueRange states) {
      using ::dlc::Scalar;
      auto scalar = [&](::mlir::Value value) {
        return Scalar(context.builder, context.loc, value, ::dlc::ScalarKind::floating);
      };
      auto x = [&](unsigned gate) { return scalar(xs[gate]); };
      auto h = [&](unsigned gate) { return scalar(hs[gate]); };
      auto state = [&](unsigned index) { return scalar(states[index]); };
      auto sigmoid = [](Scalar value) { return 1.0 / (1.0 + exp(-value)); };
      (void)x, (void)h, (void)state, (void)sigmoid;
      }] # body # [{
    }
  }];
}

def DL_LstmStepsOp : DL_StepsOp<"lstm_steps", 4, 2, [{
      Scalar input = sigmoid(x(0) + h(0)), forget = sigmoid(x(1) + h(1)), cell = tanh(x(2) + h(2)),
             output = sigmoid(x(3) + h(3));
      Scalar next = forget * state(1) + input * cell;
      return {(output * tanh(next)).value(), next.value()};
    }]> {
  let summary = "The steps of one LSTM layer in one direction";
  let description = [{
    What `dl.lstm` becomes, layer by layer. gates is [T, N, 4 H] ([N, T, 4 H] with batch_first), the
    input's part of the gates i, f, g, o; weight [4, H, P], bias [4, H]; projection [P, H], absent
    where P = H; initial h [N, P] and c [N, H], or zeros; lengths [N]. The results are y [T, N, P]
    and the final h and c: see ir/interfaces/Recurrent.h.
    ```mlir
    %y, %hn, %cn = dl.lstm_steps %gates, %weight {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0,
        0>, reverse = true} :
        (tensor<5x2x16xf32>, tensor<4x4x4xf32>) ->
            (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    ```
  }];
}

def DL_GruStepsOp : DL_StepsOp<"gru_steps", 3, 1, [{
      Scalar reset = sigmoid(x(0) + h(0)), update = sigmoid(x(1) + h(1)),
      fresh = tanh(x(2) + reset * h(2));
      return {((1.0 - update) * fresh + update * state(0)).value()};
    }]> {
  let summary = "The steps of one GRU layer in one direction";
  let description = [{
    What `dl.gru` becomes: as dl.lstm_steps, with the gates r, z, n, no projection, and h alone as
    state.
    ```mlir
    %y, %hn = dl.gru_steps %gates, %weight {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} :
        (tensor<5x2x12xf32>, tensor<3x4x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
    ```
  }];
}

class DL_ResetFirstStepsOp<string mnemonic, string activation> : DL_StepsOp<mnemonic, 4, 3, [{
      Scalar reset = sigmoid(x(0) + h(0)), update = sigmoid(x(1) + h(1)), pre = x(2) + h(2),
      isSecond = x(3) > x(3).constant(0.0);
      Scalar fresh = }] # activation # [{;
      Scalar mixed = (1.0 - state(2)) * fresh + state(2) * state(1);
      return {select(isSecond, mixed, reset * state(1)).value(),
              select(isSecond, mixed, state(1)).value(),
              select(isSecond, state(2), update).value()};
    }], 2>;

def DL_GruResetFirstStepsOp : DL_ResetFirstStepsOp<"gru_reset_first_steps", "tanh(pre)"> {
  let summary = "The steps of one GRU layer in one direction that resets the state before the product";
  let description = [{
    What `dl.gru_reset_first` becomes: as dl.gru_steps, with the gates r, z, n and one that says
    which of its two halves a step is: the first makes state 0, which the weight multiplies, r h;
    the second makes it the new h. State 1 is h, state 2 is z.
    ```mlir
    %y, %a, %b, %c = dl.gru_reset_first_steps %gates, %weight {operandSegmentSizes = array<i32: 1,
        1, 0, 0, 0, 0>} :
        (tensor<10x2x16xf32>, tensor<4x4x4xf32>) ->
            (tensor<10x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    ```
  }];
}

def DL_GruResetFirstReluStepsOp : DL_ResetFirstStepsOp<"gru_reset_first_relu_steps",
                                                       "max(pre, 0.0)"> {
  let summary = "The steps of one such GRU layer with ReLU in place of tanh";
  let description = [{
    What `dl.gru_reset_first_relu` becomes: as dl.gru_reset_first_steps.
    ```mlir
    %y, %a, %b, %c = dl.gru_reset_first_relu_steps %gates,
        %weight {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} :
        (tensor<10x2x16xf32>, tensor<4x4x4xf32>) ->
            (tensor<10x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    ```
  }];
}

def DL_RnnTanhStepsOp : DL_StepsOp<"rnn_tanh_steps", 1, 1, "return {tanh(x(0) + h(0)).value()};"> {
  let summary = "The steps of one layer of a tanh RNN in one direction";
  let description = [{
    What `dl.rnn_tanh` becomes: as dl.gru_steps, with one gate.
    ```mlir
    %y, %hn = dl.rnn_tanh_steps %gates, %weight {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0,
        0>} :
        (tensor<5x2x4xf32>, tensor<1x4x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
    ```
  }];
}

def DL_RnnReluStepsOp : DL_StepsOp<"rnn_relu_steps", 1, 1,
                                   "return {max(x(0) + h(0), 0.0).value()};"> {
  let summary = "The steps of one layer of a ReLU RNN in one direction";
  let description = [{
    What `dl.rnn_relu` becomes: as dl.gru_steps, with one gate.
    ```mlir
    %y, %hn = dl.rnn_relu_steps %gates, %weight {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0,
        0>} :
        (tensor<5x2x4xf32>, tensor<1x4x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
    ```
  }];
}

//===- Networks -------------------------------------------------------------------------------===//

/// A network of layers and directions. `params` are, for each layer and in it for each direction,
/// PyTorch's flat weights: w_ih [G H, I], w_hh [G H, P], then b_ih and b_hh [G H] if the network
/// has biases, then w_hr [P, H] if it projects.
class DL_RecurrentOp<string mnemonic, string hx, string results, string steps>
    : DL_DecomposedOp<mnemonic,
                      mnemonic # "(Tensor x, " # hx # ", Tensor[] params, Tensor? lengths=None, " #
                                "int num_layers=1, bool bidirectional=False, bool batch_first=False) -> " # results,
                      [AttrSizedOperandSegments]> {
  let arguments = (ins DL_FloatTensor:$x, Variadic<DL_FloatTensor>:$hx,
                       Variadic<DL_FloatTensor>:$params,
      Optional<RankedTensorOf<[I64, I32]>>:$lengths, DefaultValuedAttr<I64Attr, "1">:$num_layers,
      DefaultValuedAttr<BoolAttr, "false">:$bidirectional,
      DefaultValuedAttr<BoolAttr, "false">:$batch_first);
  let results = (outs DL_FloatTensor:$y, Variadic<DL_FloatTensor>:$finals);
  let extraClassDefinition = compatibleDefinition # [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, ::std::optional<::mlir::Location> location, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::dlc::dl::inferRecurrent(getOperationName(), location,
          {adaptor.getX(), adaptor.getHx(), adaptor.getParams(), adaptor.getLengths(),
           adaptor.getNumLayers(),
           adaptor.getBidirectional(), adaptor.getBatchFirst(), }] # steps # "::kGates, " #
          steps # "::kStates, " # steps # [{::kPhases}, types);
    }
    ::llvm::SmallVector<::mlir::Value> $cppClass::decompose(::dlc::dl::Builder &builder) {
      return ::dlc::dl::decomposeRecurrent(builder, }] # steps # [{::getOperationName(),
          {getX(), getHx(), getParams(), getLengths(), getNumLayers(), getBidirectional(),
           getBatchFirst(),
           }] # steps # "::kGates, " # steps # "::kStates, " # steps # [{::kPhases});
    }
  }];
}

def DL_LstmOp : DL_RecurrentOp<"lstm", "Tensor[] hx", "(Tensor y, Tensor h_n, Tensor c_n)",
                               "LstmStepsOp"> {
  let summary = "Long short-term memory over a sequence";
  let description = [{
    x is [T, N, I], or [N, T, I] with batch_first, or [T, I]; hx holds h0 [L D, N, P] and c0 [L D,
    N, H] of L layers in D directions, or nothing: zeros. lengths [N] says how many steps of each
    row count: y is 0 behind them, the final states are those after the last that counts, and the
    backward direction starts there. The results are y [T, N, D P] (or as x lies), h_n and c_n as h0
    and c0. f16 and bf16 are computed, and their states kept, in f32. PyTorch: `torch.nn.LSTM`;
    lengths stand for `pack_padded_sequence` and `pad_packed_sequence`.

    Accuracy: |y - y64| <= T L ((I + H + 16) u + 2 u_out) max(1, |y|) + u_out |y| for weights of the
    size that PyTorch gives them, whose steps do not amplify errors: each step of each layer adds a
    unit u of the compute type for each input, and two of a 16-bit storage type (u_out, else 0) for
    its gates and its output.
    ```mlir
    %y, %hn, %cn = dl.lstm %x, %w_ih, %w_hh {operandSegmentSizes = array<i32: 1, 0, 2, 0>} :
        (tensor<5x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>) ->
        (tensor<5x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
    ```
  }];
}

def DL_GruOp : DL_RecurrentOp<"gru", "Tensor? hx", "(Tensor y, Tensor h_n)", "GruStepsOp"> {
  let summary = "Gated recurrent units over a sequence";
  let description = [{
    As dl.lstm, with h0 alone as hx and h_n alone as final state, and no projection. PyTorch:
    `torch.nn.GRU`.
    ```mlir
    %y, %hn = dl.gru %x, %w_ih, %w_hh {operandSegmentSizes = array<i32: 1, 0, 2, 0>,
        batch_first = true} :
        (tensor<2x5x3xf32>, tensor<12x3xf32>, tensor<12x4xf32>) ->
            (tensor<2x5x4xf32>, tensor<1x2x4xf32>)
    ```
  }];
}

def DL_GruResetFirstOp : DL_RecurrentOp<"gru_reset_first", "Tensor? hx", "(Tensor y, Tensor h_n)",
                                        "GruResetFirstStepsOp"> {
  let summary = "Gated recurrent units that reset the state before the product";
  let description = [{
    As dl.gru, with n = tanh(W_in x + b_in + W_hn (r h) + b_hn): the form of the first papers,
    ONNX's linear_before_reset=0 and Keras's reset_after=False. PyTorch has no such module. Each
    step waits for two products, where dl.gru waits for one.
    ```mlir
    %y, %hn = dl.gru_reset_first %x, %w_ih, %w_hh {operandSegmentSizes = array<i32: 1, 0, 2, 0>,
        batch_first = true} :
        (tensor<2x5x3xf32>, tensor<12x3xf32>, tensor<12x4xf32>) ->
            (tensor<2x5x4xf32>, tensor<1x2x4xf32>)
    ```
  }];
}

def DL_GruResetFirstReluOp : DL_RecurrentOp<"gru_reset_first_relu", "Tensor? hx",
                                            "(Tensor y, Tensor h_n)", "GruResetFirstReluStepsOp"> {
  let summary = "The same with ReLU in place of tanh";
  let description = [{
    As dl.gru_reset_first. PyTorch has no such module.
    ```mlir
    %y, %hn = dl.gru_reset_first_relu %x, %w_ih, %w_hh {operandSegmentSizes = array<i32: 1, 0, 2,
        0>} :
        (tensor<5x2x3xf32>, tensor<12x3xf32>, tensor<12x4xf32>) ->
            (tensor<5x2x4xf32>, tensor<1x2x4xf32>)
    ```
  }];
}

def DL_RnnTanhOp : DL_RecurrentOp<"rnn_tanh", "Tensor? hx", "(Tensor y, Tensor h_n)",
                                  "RnnTanhStepsOp"> {
  let summary = "A plain recurrent network with tanh";
  let description = [{
    As dl.gru. PyTorch: `torch.nn.RNN`.
    ```mlir
    %y, %hn = dl.rnn_tanh %x, %w_ih, %w_hh {operandSegmentSizes = array<i32: 1, 0, 2, 0>} :
        (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<4x4xf32>) ->
            (tensor<5x2x4xf32>, tensor<1x2x4xf32>)
    ```
  }];
}

def DL_RnnReluOp : DL_RecurrentOp<"rnn_relu", "Tensor? hx", "(Tensor y, Tensor h_n)",
                                  "RnnReluStepsOp"> {
  let summary = "A plain recurrent network with ReLU";
  let description = [{
    As dl.gru. PyTorch: `torch.nn.RNN(nonlinearity="relu")`.
    ```mlir
    %y, %hn = dl.rnn_relu %x, %w_ih, %w_hh {operandSegmentSizes = array<i32: 1, 0, 2, 0>} :
        (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<4x4xf32>) ->
            (tensor<5x2x4xf32>, tensor<1x2x4xf32>)
    ```
  }];
}

#endif // DLC_IR_DL_DLRECURRENT_TD
