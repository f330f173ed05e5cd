// RUN: dlc-opt %s -split-input-file -verify-diagnostics

// Which dims a reduction may name, and what a norm needs.

func.func @range(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.sum' has dim 2; expected -2 to 1 for a tensor of rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.sum %x {dim = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @twice(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.mean' names dim -1 twice}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.mean %x {dim = array<i64: 1, -1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @empty(%x: tensor<2x0xf32>) {
  // expected-error @+2 {{'dl.amax' over dim 1 of f32[2,0], which is empty}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.amax %x {dim = array<i64: 1>} : (tensor<2x0xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @softmax(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.softmax' has dim -3; expected -2 to 1 for a tensor of rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.softmax %x {dim = -3 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @norm_rank(%x: tensor<3xf32>, %s: tensor<3xf32>) {
  // expected-error @+2 {{'dl.batch_norm' needs x [N, C, ...], got f32[3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.batch_norm %x, %s, %s : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @norm_statistics(%x: tensor<2x3xf32>, %s: tensor<4xf32>) {
  // expected-error @+2 {{'dl.batch_norm' needs statistics, weight and bias of 3 'f32' elements, got f32[4]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.batch_norm %x, %s, %s : (tensor<2x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @norm_affine(%x: tensor<2x3xf32>, %s: tensor<3xf32>) {
  // expected-error @+2 {{'dl.batch_norm' needs weight and bias together, or neither}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.batch_norm %x, %s, %s, %s : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @mean_integers(%x: tensor<2x3xi32>) {
  // expected-error @+2 {{'dl.mean' gives a float, got i32[2,3]; say which one, as in dtype=f32}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.mean %x : (tensor<2x3xi32>) -> tensor<f32>
  return
}

// -----

func.func @mean_dtype(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.mean' gives a float, got f32[2,3] and an integer dtype; say which one, as in dtype=f32}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.mean %x {dtype = i32} : (tensor<2x3xf32>) -> tensor<f32>
  return
}
