// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cuda},builtin.module(func.func(form-fusions),outline-kernels))' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions),outline-kernels))' -split-input-file | FileCheck %s --check-prefix=CPU

// The directions of a layer share one launch, which has the results of both. The CPU keeps two.
// CPU-LABEL: dlx.program @Directions
// CPU-COUNT-2: dlx.launch
// CHECK-LABEL: dlx.program @Directions
// CHECK-COUNT-1: dlx.launch @lstm_steps_lstm_steps
// CHECK-NOT: dlx.launch
// CHECK: dlx.kernel @lstm_steps_lstm_steps attributes {kind = #dlx.kind<recurrent>} {
// CHECK: %[[B:.*]], %[[BS:.*]]:2 = dl.lstm_steps {{.*}}reverse = true
// CHECK-NEXT: %[[A:.*]], %[[AS:.*]]:2 = dl.lstm_steps
// CHECK-NEXT: dl.yield %[[B]], %[[BS]]#0, %[[BS]]#1, %[[A]], %[[AS]]#0, %[[AS]]#1
module {
  func.func @Directions(%g0: tensor<64x8x2048xf16>, %w0: tensor<4x512x512xf16>, %g1: tensor<64x8x2048xf16>, %w1: tensor<4x512x512xf16>) -> (tensor<64x8x512xf16>, tensor<64x8x512xf16>) {
    %a, %ah, %ac = dl.lstm_steps %g0, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x8x2048xf16>, tensor<4x512x512xf16>) -> (tensor<64x8x512xf16>, tensor<8x512xf16>, tensor<8x512xf16>)
    %b, %bh, %bc = dl.lstm_steps %g1, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>, reverse = true} : (tensor<64x8x2048xf16>, tensor<4x512x512xf16>) -> (tensor<64x8x512xf16>, tensor<8x512xf16>, tensor<8x512xf16>)
    return %a, %b : tensor<64x8x512xf16>, tensor<64x8x512xf16>
  }
}

// -----

// Few units: each row has a block of its own, in two launches.
// CHECK-LABEL: dlx.program @Few
// CHECK-COUNT-2: dlx.launch @lstm_steps
// CHECK-NOT: lstm_steps_lstm_steps
module {
  func.func @Few(%g0: tensor<64x8x64xf16>, %w0: tensor<4x16x16xf16>, %g1: tensor<64x8x64xf16>, %w1: tensor<4x16x16xf16>) -> (tensor<64x8x16xf16>, tensor<64x8x16xf16>) {
    %a, %ah, %ac = dl.lstm_steps %g0, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x8x64xf16>, tensor<4x16x16xf16>) -> (tensor<64x8x16xf16>, tensor<8x16xf16>, tensor<8x16xf16>)
    %b, %bh, %bc = dl.lstm_steps %g1, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>, reverse = true} : (tensor<64x8x64xf16>, tensor<4x16x16xf16>) -> (tensor<64x8x16xf16>, tensor<8x16xf16>, tensor<8x16xf16>)
    return %a, %b : tensor<64x8x16xf16>, tensor<64x8x16xf16>
  }
}

// -----

// The second one waits for the first.
// CHECK-LABEL: dlx.program @Layers
// CHECK-NOT: lstm_steps_lstm_steps
module {
  func.func @Layers(%g0: tensor<64x8x2048xf16>, %w0: tensor<4x512x512xf16>, %w1: tensor<4x512x512xf16>, %v: tensor<2048x512xf16>) -> (tensor<64x8x512xf16>, tensor<64x8x512xf16>) {
    %a, %ah, %ac = dl.lstm_steps %g0, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x8x2048xf16>, tensor<4x512x512xf16>) -> (tensor<64x8x512xf16>, tensor<8x512xf16>, tensor<8x512xf16>)
    %l = dl.linear %a, %v : (tensor<64x8x512xf16>, tensor<2048x512xf16>) -> tensor<64x8x2048xf16>
    %b, %bh, %bc = dl.lstm_steps %l, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x8x2048xf16>, tensor<4x512x512xf16>) -> (tensor<64x8x512xf16>, tensor<8x512xf16>, tensor<8x512xf16>)
    return %a, %b : tensor<64x8x512xf16>, tensor<64x8x512xf16>
  }
}

// -----

// The user asked for a kernel of its own.
// CHECK-LABEL: dlx.program @KeptOut
// CHECK-COUNT-2: dlx.launch @lstm_steps
// CHECK-NOT: lstm_steps_lstm_steps
module {
  func.func @KeptOut(%g0: tensor<64x8x2048xf16>, %w0: tensor<4x512x512xf16>, %g1: tensor<64x8x2048xf16>, %w1: tensor<4x512x512xf16>) -> (tensor<64x8x512xf16>, tensor<64x8x512xf16>) {
    %a, %ah, %ac = dl.lstm_steps %g0, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>, dl.no_fuse} : (tensor<64x8x2048xf16>, tensor<4x512x512xf16>) -> (tensor<64x8x512xf16>, tensor<8x512xf16>, tensor<8x512xf16>)
    %b, %bh, %bc = dl.lstm_steps %g1, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x8x2048xf16>, tensor<4x512x512xf16>) -> (tensor<64x8x512xf16>, tensor<8x512xf16>, tensor<8x512xf16>)
    return %a, %b : tensor<64x8x512xf16>, tensor<64x8x512xf16>
  }
}

// -----

// The weights of one fill the shared memory of all multiprocessors; those of two would have to be streamed in every step.
// CHECK-LABEL: dlx.program @Large
// CHECK-COUNT-2: dlx.launch @lstm_steps
// CHECK-NOT: lstm_steps_lstm_steps
module {
  func.func @Large(%g0: tensor<64x1x7200xf16>, %w0: tensor<4x1800x1800xf16>, %g1: tensor<64x1x7200xf16>, %w1: tensor<4x1800x1800xf16>) -> (tensor<64x1x1800xf16>, tensor<64x1x1800xf16>) {
    %a, %ah, %ac = dl.lstm_steps %g0, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x7200xf16>, tensor<4x1800x1800xf16>) -> (tensor<64x1x1800xf16>, tensor<1x1800xf16>, tensor<1x1800xf16>)
    %b, %bh, %bc = dl.lstm_steps %g1, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x7200xf16>, tensor<4x1800x1800xf16>) -> (tensor<64x1x1800xf16>, tensor<1x1800xf16>, tensor<1x1800xf16>)
    return %a, %b : tensor<64x1x1800xf16>, tensor<64x1x1800xf16>
  }
}
