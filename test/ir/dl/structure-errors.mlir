// RUN: dlc-opt %s -split-input-file -verify-diagnostics

func.func @full_type() {
  // expected-error @+1 {{fills 'tensor<4xf16>' with a number of type 'f16'; expected 'f32'}}
  %y = dl.full 1.0 : f16 -> tensor<4xf16>
  return
}

// -----

func.func @fusion_roots(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has 2 ops with stages or attentions; at most one can be the root}}
  %y = dl.fusion (%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %0 = dl.softmax %a {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = dl.softmax %0 {dim = 0 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    dl.yield %1 : tensor<4x8xf32>
  }
  return
}

// -----

func.func @fusion_loops(%x: tensor<4x8xf32>) {
  %y = dl.fusion (%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    // expected-error @+1 {{cannot be part of a fusion: it is not computed by loops}}
    %w = dl.weight "w" : tensor<4x8xf32>
    dl.yield %w : tensor<4x8xf32>
  }
  return
}

// -----

func.func @fusion_inputs(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has a body whose arguments differ from its inputs}}
  %y = dl.fusion (%x) : (tensor<4x8xf32>) -> tensor<4x7xf32> {
  ^bb0(%a: tensor<4x7xf32>):
    dl.yield %a : tensor<4x7xf32>
  }
  return
}

// -----

func.func @fusion_outputs(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has a body that yields other types than its outputs}}
  %y = dl.fusion (%x) : (tensor<4x8xf32>) -> tensor<4x7xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    dl.yield %a : tensor<4x8xf32>
  }
  return
}

// -----

func.func @fusion_recurrence(%g: tensor<5x2x16xf32>, %w: tensor<4x4x4xf32>) {
  %0 = dl.fusion (%g, %w) : (tensor<5x2x16xf32>, tensor<4x4x4xf32>) -> tensor<5x2x4xf32> {
  ^bb0(%a: tensor<5x2x16xf32>, %b: tensor<4x4x4xf32>):
    // expected-error @+1 {{shares a fusion with other ops; it is a kernel of its own}}
    %y, %hn, %cn = dl.lstm_steps %a, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x16xf32>, tensor<4x4x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    %r = dl.relu %y : (tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    dl.yield %r : tensor<5x2x4xf32>
  }
  return
}
