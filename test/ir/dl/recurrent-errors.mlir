// RUN: dlc-opt %s -split-input-file -verify-diagnostics

// Recurrent ops: shapes of gates, weights and states, and how many there are.

func.func @steps_weight(%a0: tensor<5x2x16xf32>, %a1: tensor<16x4xf32>) {
  // expected-error @+2 {{'dl.lstm_steps' needs gates [T, N, 4 H] and a static weight [4, H, P], got f32[5,2,16] and f32[16,4]}}
  // expected-error @+1 {{'dl.lstm_steps' op failed to infer returned types}}
  %y, %hn, %cn = dl.lstm_steps %a0, %a1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x16xf32>, tensor<16x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @steps_no_units(%a0: tensor<5x2x16xf32>, %a1: tensor<4x0x0xf32>) {
  // expected-error @+2 {{'dl.lstm_steps' needs at least one hidden unit, got f32[4,0,0]}}
  // expected-error @+1 {{'dl.lstm_steps' op failed to infer returned types}}
  %y, %hn, %cn = dl.lstm_steps %a0, %a1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x16xf32>, tensor<4x0x0xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @steps_gates(%a0: tensor<5x2x12xf32>, %a1: tensor<4x4x4xf32>) {
  // expected-error @+2 {{'dl.lstm_steps' has 4 hidden units; it needs gates of 16 columns, got f32[5,2,12]}}
  // expected-error @+1 {{'dl.lstm_steps' op failed to infer returned types}}
  %y, %hn, %cn = dl.lstm_steps %a0, %a1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x12xf32>, tensor<4x4x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @steps_bias(%a0: tensor<5x2x16xf32>, %a1: tensor<4x4x4xf32>, %a2: tensor<16xf32>) {
  // expected-error @+2 {{'dl.lstm_steps' needs a bias of f32[4,4], got f32[16]}}
  // expected-error @+1 {{'dl.lstm_steps' op failed to infer returned types}}
  %y, %hn, %cn = dl.lstm_steps %a0, %a1, %a2 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>} : (tensor<5x2x16xf32>, tensor<4x4x4xf32>, tensor<16xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @steps_lengths(%a0: tensor<5x2x16xf32>, %a1: tensor<4x4x4xf32>, %a2: tensor<5xi64>) {
  // expected-error @+2 {{'dl.lstm_steps' needs lengths of i64[2], got i64[5]}}
  // expected-error @+1 {{'dl.lstm_steps' op failed to infer returned types}}
  %y, %hn, %cn = dl.lstm_steps %a0, %a1, %a2 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 1>} : (tensor<5x2x16xf32>, tensor<4x4x4xf32>, tensor<5xi64>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @steps_no_projection(%a0: tensor<5x2x16xf32>, %a1: tensor<4x4x3xf32>) {
  // expected-error @+2 {{'dl.lstm_steps' needs a projection from 4 hidden units to 3 outputs}}
  // expected-error @+1 {{'dl.lstm_steps' op failed to infer returned types}}
  %y, %hn, %cn = dl.lstm_steps %a0, %a1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x16xf32>, tensor<4x4x3xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @steps_projection_of_gru(%a0: tensor<5x2x12xf32>, %a1: tensor<3x4x3xf32>, %a2: tensor<3x4xf32>) {
  // expected-error @+2 {{'dl.gru_steps' has no projection; LSTM alone has one}}
  // expected-error @+1 {{'dl.gru_steps' op failed to infer returned types}}
  %y, %hn = dl.gru_steps %a0, %a1, %a2 {operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0>} : (tensor<5x2x12xf32>, tensor<3x4x3xf32>, tensor<3x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @steps_initial(%a0: tensor<5x2x16xf32>, %a1: tensor<4x4x4xf32>, %a2: tensor<2x4xf32>) {
  // expected-error @+2 {{'dl.lstm_steps' needs 2 initial states or none, got 1}}
  // expected-error @+1 {{'dl.lstm_steps' op failed to infer returned types}}
  %y, %hn, %cn = dl.lstm_steps %a0, %a1, %a2 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0>} : (tensor<5x2x16xf32>, tensor<4x4x4xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @steps_initial_dims(%a0: tensor<5x2x12xf32>, %a1: tensor<3x4x4xf32>, %a2: tensor<4x2xf32>) {
  // expected-error @+2 {{'dl.gru_steps' needs an initial state of f32[2,4], got f32[4,2]}}
  // expected-error @+1 {{'dl.gru_steps' op failed to infer returned types}}
  %y, %hn = dl.gru_steps %a0, %a1, %a2 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0>} : (tensor<5x2x12xf32>, tensor<3x4x4xf32>, tensor<4x2xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @rank(%a0: tensor<5x2x1x3xf32>, %a1: tensor<16x3xf32>, %a2: tensor<16x4xf32>) {
  // expected-error @+2 {{'dl.lstm' needs x [T, N, I] or [T, I], got f32[5,2,1,3]}}
  // expected-error @+1 {{'dl.lstm' op failed to infer returned types}}
  %y, %hn, %cn = dl.lstm %a0, %a1, %a2 {operandSegmentSizes = array<i32: 1, 0, 2, 0>} : (tensor<5x2x1x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>) -> (tensor<5x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @count(%a0: tensor<5x2x3xf32>, %a1: tensor<16x3xf32>, %a2: tensor<16x4xf32>, %a3: tensor<16xf32>) {
  // expected-error @+2 {{'dl.lstm' needs for each of 2 layers and directions the weights w_ih and w_hh, or w_ih, w_hh, b_ih and b_hh, and w_hr where it projects; got 3}}
  // expected-error @+1 {{'dl.lstm' op failed to infer returned types}}
  %y, %hn, %cn = dl.lstm %a0, %a1, %a2, %a3 {operandSegmentSizes = array<i32: 1, 0, 3, 0>, num_layers = 2 : i64} : (tensor<5x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<16xf32>) -> (tensor<5x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @count_of_gru(%a0: tensor<5x2x3xf32>, %a1: tensor<12x3xf32>) {
  // expected-error @+2 {{'dl.gru' needs for each of 1 layers and directions the weights w_ih and w_hh, or w_ih, w_hh, b_ih and b_hh; got 1}}
  // expected-error @+1 {{'dl.gru' op failed to infer returned types}}
  %y, %hn = dl.gru %a0, %a1 {operandSegmentSizes = array<i32: 1, 0, 1, 0>, batch_first = true} : (tensor<5x2x3xf32>, tensor<12x3xf32>) -> (tensor<5x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @weight_rank(%a0: tensor<5x2x3xf32>, %a1: tensor<16x3xf32>, %a2: tensor<64xf32>) {
  // expected-error @+2 {{'dl.lstm' needs weights [4 H, I], got f32[64]}}
  // expected-error @+1 {{'dl.lstm' op failed to infer returned types}}
  %y, %hn, %cn = dl.lstm %a0, %a1, %a2 {operandSegmentSizes = array<i32: 1, 0, 2, 0>} : (tensor<5x2x3xf32>, tensor<16x3xf32>, tensor<64xf32>) -> (tensor<5x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @gates(%a0: tensor<5x2x3xf32>, %a1: tensor<15x3xf32>, %a2: tensor<15x4xf32>) {
  // expected-error @+2 {{'dl.lstm' needs a static weight w_hh [4 H, H] with H of at least 1, got f32[15,4]}}
  // expected-error @+1 {{'dl.lstm' op failed to infer returned types}}
  %y, %hn, %cn = dl.lstm %a0, %a1, %a2 {operandSegmentSizes = array<i32: 1, 0, 2, 0>} : (tensor<5x2x3xf32>, tensor<15x3xf32>, tensor<15x4xf32>) -> (tensor<5x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @w_ih(%a0: tensor<5x2x3xf32>, %a1: tensor<16x5xf32>, %a2: tensor<16x4xf32>) {
  // expected-error @+2 {{'dl.lstm' needs a weight w_ih in layer 0 of f32[16,3], got f32[16,5]}}
  // expected-error @+1 {{'dl.lstm' op failed to infer returned types}}
  %y, %hn, %cn = dl.lstm %a0, %a1, %a2 {operandSegmentSizes = array<i32: 1, 0, 2, 0>} : (tensor<5x2x3xf32>, tensor<16x5xf32>, tensor<16x4xf32>) -> (tensor<5x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @w_hh_above(%a0: tensor<5x2x3xf32>, %a1: tensor<12x3xf32>, %a2: tensor<12x4xf32>, %a3: tensor<12x4xf32>, %a4: tensor<12x5xf32>) {
  // expected-error @+2 {{'dl.gru' needs a weight w_hh in layer 1 of f32[12,4], got f32[12,5]}}
  // expected-error @+1 {{'dl.gru' op failed to infer returned types}}
  %y, %hn = dl.gru %a0, %a1, %a2, %a3, %a4 {operandSegmentSizes = array<i32: 1, 0, 4, 0>, num_layers = 2 : i64} : (tensor<5x2x3xf32>, tensor<12x3xf32>, tensor<12x4xf32>, tensor<12x4xf32>, tensor<12x5xf32>) -> (tensor<5x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @b_hh_backwards(%a0: tensor<5x2x3xf32>, %a1: tensor<4x3xf32>, %a2: tensor<4x4xf32>, %a3: tensor<4xf32>, %a4: tensor<4xf32>, %a5: tensor<4x3xf32>, %a6: tensor<4x4xf32>, %a7: tensor<4xf32>, %a8: tensor<5xf32>) {
  // expected-error @+2 {{'dl.rnn_tanh' needs a weight b_hh in layer 0 backwards of f32[4], got f32[5]}}
  // expected-error @+1 {{'dl.rnn_tanh' op failed to infer returned types}}
  %y, %hn = dl.rnn_tanh %a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8 {operandSegmentSizes = array<i32: 1, 0, 8, 0>, bidirectional = true} : (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x3xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<5xf32>) -> (tensor<5x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @w_hr(%a0: tensor<5x2x3xf32>, %a1: tensor<16x3xf32>, %a2: tensor<16x2xf32>, %a3: tensor<4x2xf32>) {
  // expected-error @+2 {{'dl.lstm' needs a weight w_hr in layer 0 of f32[2,4], got f32[4,2]}}
  // expected-error @+1 {{'dl.lstm' op failed to infer returned types}}
  %y, %hn, %cn = dl.lstm %a0, %a1, %a2, %a3 {operandSegmentSizes = array<i32: 1, 0, 3, 0>} : (tensor<5x2x3xf32>, tensor<16x3xf32>, tensor<16x2xf32>, tensor<4x2xf32>) -> (tensor<5x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @dtype(%a0: tensor<5x2x3xf32>, %a1: tensor<16x3xf16>, %a2: tensor<16x4xf32>) {
  // expected-error @+2 {{'dl.lstm' needs a weight w_ih in layer 0 of f32[16,3], got f16[16,3]}}
  // expected-error @+1 {{'dl.lstm' op failed to infer returned types}}
  %y, %hn, %cn = dl.lstm %a0, %a1, %a2 {operandSegmentSizes = array<i32: 1, 0, 2, 0>} : (tensor<5x2x3xf32>, tensor<16x3xf16>, tensor<16x4xf32>) -> (tensor<5x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @lengths(%a0: tensor<5x2x3xf32>, %a1: tensor<16x3xf32>, %a2: tensor<16x4xf32>, %a3: tensor<5xi64>) {
  // expected-error @+2 {{'dl.lstm' needs lengths of i64[2], got i64[5]}}
  // expected-error @+1 {{'dl.lstm' op failed to infer returned types}}
  %y, %hn, %cn = dl.lstm %a0, %a1, %a2, %a3 {operandSegmentSizes = array<i32: 1, 0, 2, 1>} : (tensor<5x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<5xi64>) -> (tensor<5x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @lengths_without_batch(%a0: tensor<5x3xf32>, %a1: tensor<16x3xf32>, %a2: tensor<16x4xf32>, %a3: tensor<1xi64>) {
  // expected-error @+2 {{'dl.lstm' takes lengths with a batch, got x f32[5,3]}}
  // expected-error @+1 {{'dl.lstm' op failed to infer returned types}}
  %y, %hn, %cn = dl.lstm %a0, %a1, %a2, %a3 {operandSegmentSizes = array<i32: 1, 0, 2, 1>} : (tensor<5x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<1xi64>) -> (tensor<5x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @no_steps(%a0: tensor<0x2x3xf32>, %a1: tensor<16x3xf32>, %a2: tensor<16x4xf32>) {
  // expected-error @+2 {{'dl.lstm' needs at least one step, got x f32[0,2,3]}}
  // expected-error @+1 {{'dl.lstm' op failed to infer returned types}}
  %y, %hn, %cn = dl.lstm %a0, %a1, %a2 {operandSegmentSizes = array<i32: 1, 0, 2, 0>} : (tensor<0x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>) -> (tensor<5x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @h0_alone(%a0: tensor<5x2x3xf32>, %a1: tensor<1x2x4xf32>, %a2: tensor<16x3xf32>, %a3: tensor<16x4xf32>) {
  // expected-error @+2 {{'dl.lstm' needs the initial states (h0, c0) or none, got 1 tensors}}
  // expected-error @+1 {{'dl.lstm' op failed to infer returned types}}
  %y, %hn, %cn = dl.lstm %a0, %a1, %a2, %a3 {operandSegmentSizes = array<i32: 1, 1, 2, 0>} : (tensor<5x2x3xf32>, tensor<1x2x4xf32>, tensor<16x3xf32>, tensor<16x4xf32>) -> (tensor<5x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @two_of_gru(%a0: tensor<5x2x3xf32>, %a1: tensor<1x2x4xf32>, %a2: tensor<1x2x4xf32>, %a3: tensor<12x3xf32>, %a4: tensor<12x4xf32>) {
  // expected-error @+2 {{'dl.gru' needs the initial state h0 or none, got 2 tensors}}
  // expected-error @+1 {{'dl.gru' op failed to infer returned types}}
  %y, %hn = dl.gru %a0, %a1, %a2, %a3, %a4 {operandSegmentSizes = array<i32: 1, 2, 2, 0>} : (tensor<5x2x3xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<12x3xf32>, tensor<12x4xf32>) -> (tensor<5x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @c0(%a0: tensor<5x2x3xf32>, %a1: tensor<1x2x4xf32>, %a2: tensor<2x4xf32>, %a3: tensor<16x3xf32>, %a4: tensor<16x4xf32>) {
  // expected-error @+2 {{'dl.lstm' needs c0 of f32[1,2,4], got f32[2,4]}}
  // expected-error @+1 {{'dl.lstm' op failed to infer returned types}}
  %y, %hn, %cn = dl.lstm %a0, %a1, %a2, %a3, %a4 {operandSegmentSizes = array<i32: 1, 2, 2, 0>} : (tensor<5x2x3xf32>, tensor<1x2x4xf32>, tensor<2x4xf32>, tensor<16x3xf32>, tensor<16x4xf32>) -> (tensor<5x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}
