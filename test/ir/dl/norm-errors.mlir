// RUN: dlc-opt %s -split-input-file -verify-diagnostics
// Norms refuse weights and groups that do not fit their channels.

func.func @layer_norm_shape(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.layer_norm' needs a tensor whose last dims are [2, 2], its normalized_shape, got f32[2,3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.layer_norm %x {normalized_shape = array<i64: 2, 2>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @layer_norm_weight(%x: tensor<2x3xf32>, %w: tensor<2xf32>) {
  // expected-error @+2 {{'dl.layer_norm' needs a weight and a bias of f32[3], got f32[2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.layer_norm %x, %w {normalized_shape = array<i64: 3>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @layer_norm_most(%x: tensor<2x3xf32>, %w: tensor<3xf32>) {
  // expected-error @+2 {{'dl.layer_norm' takes at most 2 of weight and bias}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.layer_norm %x, %w, %w, %w {normalized_shape = array<i64: 3>} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @rms_norm_most(%x: tensor<2x3xf32>, %w: tensor<3xf32>) {
  // expected-error @+2 {{'dl.rms_norm' takes at most 1 weight}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.rms_norm %x, %w, %w {normalized_shape = array<i64: 3>} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @rms_norm_weight(%x: tensor<2x3xf32>, %w: tensor<2xf32>) {
  // expected-error @+2 {{'dl.rms_norm' needs a weight of f32[3], got f32[2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.rms_norm %x, %w {normalized_shape = array<i64: 3>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @group_norm(%x: tensor<2x3x4xf32>) {
  // expected-error @+2 {{'dl.group_norm' needs a number of channels that 2 groups divide, got f32[2,3,4]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.group_norm %x {num_groups = 2 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @group_norm_rank(%x: tensor<3xf32>) {
  // expected-error @+2 {{'dl.group_norm' needs x [N, C, ...], got f32[3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.group_norm %x {num_groups = 3 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @instance_norm(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.instance_norm' needs x [N, C, ...] with dims after the channels, got f32[2,3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.instance_norm %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
