// RUN: dlc-opt %s -split-input-file -verify-diagnostics
// Ops that read at positions in a tensor, and at other sizes.

func.func @gather(%x: tensor<2x3xf32>, %i: tensor<4x3xi64>) {
  // expected-error @+2 {{'dl.gather' along dim 1 of f32[2,3] has index i64[4,3]; expected the same rank and, along the other dims, no larger sizes}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.gather %x, %i {dim = 1 : i64} : (tensor<2x3xf32>, tensor<4x3xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @take_along_dim(%x: tensor<2x3xf32>, %i: tensor<4x3xi64>) {
  // expected-error @+2 {{'dl.take_along_dim' along dim 1 of f32[2,3] has indices i64[4,3]; expected the same rank and, along the other dims, equal sizes or 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.take_along_dim %x, %i {dim = 1 : i64} : (tensor<2x3xf32>, tensor<4x3xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @index_select(%x: tensor<2x3xf32>, %i: tensor<4x3xi64>) {
  // expected-error @+2 {{'dl.index_select' has index i64[4,3]; expected one dim}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.index_select %x, %i {dim = 1 : i64} : (tensor<2x3xf32>, tensor<4x3xi64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @embedding(%w: tensor<3xf32>, %i: tensor<4x3xi64>) {
  // expected-error @+2 {{'dl.embedding' has weight f32[3]; expected [rows, width]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.embedding %i, %w : (tensor<4x3xi64>, tensor<3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @index(%x: tensor<f32>, %i: tensor<4x3xi64>) {
  // expected-error @+2 {{'dl.index' needs a tensor with dims, got f32[]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.index %x, %i : (tensor<f32>, tensor<4x3xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @one_hot(%i: tensor<4xi64>) {
  // expected-error @+2 {{'dl.one_hot' has num_classes -1; expected 1 or more (dims do not depend on data)}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.one_hot %i : (tensor<4xi64>) -> tensor<4x3xi64>
  return
}

// -----

func.func @mode(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+2 {{'dl.interpolate' has mode = 'area'; expected 'nearest', 'nearest-exact', 'linear', 'bilinear', 'bicubic' or 'trilinear'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.interpolate %x {scale_factor = array<f64: 2.0>, mode = "area"} : (tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32>
  return
}

// -----

func.func @rank(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+2 {{'dl.interpolate' in mode 'linear' needs x [N, C, L], got f32[1,2,4,4]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.interpolate %x {scale_factor = array<f64: 2.0>, mode = "linear"} : (tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32>
  return
}

// -----

func.func @integers(%x: tensor<1x2x4x4xi32>) {
  // expected-error @+2 {{'dl.interpolate' in mode 'bilinear' needs floats, got i32[1,2,4,4]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.interpolate %x {scale_factor = array<f64: 2.0>, mode = "bilinear"} : (tensor<1x2x4x4xi32>) -> tensor<1x2x8x8xi32>
  return
}

// -----

func.func @corners(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+2 {{'dl.interpolate' has align_corners, which the mode 'nearest' has not; the linear and cubic ones have it}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.interpolate %x {scale_factor = array<f64: 2.0>, align_corners = true} : (tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32>
  return
}

// -----

func.func @neither(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+2 {{'dl.interpolate' needs either size or scale_factor}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.interpolate %x : (tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32>
  return
}

// -----

func.func @sizes(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+2 {{'dl.interpolate' has 3 sizes for the 2 dims after [N, C] of f32[1,2,4,4]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.interpolate %x {size = affine_map<() -> (2, 2, 2)>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  return
}

// -----

func.func @shrink(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+2 {{'dl.interpolate' cannot bring dim 2 of f32[1,2,4,4] to another size: expected 1 or more, and of a symbolic dim a scale_factor that is a whole number or 1/2, 1/4, ...}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.interpolate %x {scale_factor = array<f64: 0.1>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x1x1xf32>
  return
}

// -----

func.func @factor(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+2 {{'dl.interpolate' has scale_factor = -1; expected more than 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.interpolate %x {scale_factor = array<f64: -1.0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x1x1xf32>
  return
}
