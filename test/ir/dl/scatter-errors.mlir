// RUN: dlc-opt %s -split-input-file -verify-diagnostics
// Ops that write at positions in a tensor.

func.func @scatter_index(%x: tensor<2x3xf32>, %i: tensor<4x3xi64>, %s: tensor<4x3xf32>) {
  // expected-error @+2 {{'dl.scatter' along dim 1 of f32[2,3] has index i64[4,3]; expected the same rank and, along the other dims, no larger sizes}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scatter %x, %i, %s {dim = 1 : i64} : (tensor<2x3xf32>, tensor<4x3xi64>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @scatter_dtype(%x: tensor<2x3xf32>, %i: tensor<2x1xi64>, %s: tensor<2x1xf16>) {
  // expected-error @+2 {{'dl.scatter' has src f16[2,1] for f32[2,3]; expected the same dtype}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scatter %x, %i, %s {dim = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xi64>, tensor<2x1xf16>) -> tensor<2x3xf32>
  return
}

// -----

func.func @scatter_source_size(%x: tensor<2x3xf32>, %i: tensor<2x2xi64>, %s: tensor<2x1xf32>) {
  // expected-error @+2 {{'dl.scatter_add' has index i64[2,2] and src f32[2,1]; expected the same rank and no larger sizes than those of src}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scatter_add %x, %i, %s {dim = 1 : i64} : (tensor<2x3xf32>, tensor<2x2xi64>, tensor<2x1xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @scatter_nothing(%x: tensor<2x3xf32>, %i: tensor<2x1xi64>) {
  // expected-error @+2 {{'dl.scatter' takes src or value}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scatter %x, %i {dim = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @scatter_reduce_name(%x: tensor<2x3xf32>, %i: tensor<2x1xi64>) {
  // expected-error @+2 {{'dl.scatter' has reduce = 'sum'; expected 'add' or 'multiply'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scatter %x, %i {dim = 1 : i64, value = 1.0 : f64, reduce = "sum"} : (tensor<2x3xf32>, tensor<2x1xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @scatter_reduce_bools(%x: tensor<2x3xi1>, %i: tensor<2x1xi64>) {
  // expected-error @+2 {{'dl.scatter' with reduce needs numbers, got bool[2,3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scatter %x, %i {dim = 1 : i64, value = 1.0 : f64, reduce = "add"} : (tensor<2x3xi1>, tensor<2x1xi64>) -> tensor<2x3xi1>
  return
}

// -----

func.func @reduce_name(%x: tensor<2x3xf32>, %i: tensor<2x1xi64>, %s: tensor<2x1xf32>) {
  // expected-error @+2 {{'dl.scatter_reduce' has reduce = 'max'; expected 'sum', 'prod', 'mean', 'amax' or 'amin'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scatter_reduce %x, %i, %s {dim = 1 : i64, reduce = "max"} : (tensor<2x3xf32>, tensor<2x1xi64>, tensor<2x1xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @reduce_mean(%x: tensor<2x3xi8>, %i: tensor<2x1xi64>, %s: tensor<2x1xi8>) {
  // expected-error @+2 {{'dl.scatter_reduce' with reduce = 'mean' needs floats, got i8[2,3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scatter_reduce %x, %i, %s {dim = 1 : i64, reduce = "mean"} : (tensor<2x3xi8>, tensor<2x1xi64>, tensor<2x1xi8>) -> tensor<2x3xi8>
  return
}

// -----

func.func @source(%i: tensor<2x1xi64>) {
  // expected-error @+2 {{'dl.scatter_source' needs one of the dims of index, and a size for each}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scatter_source %i {dim = 1 : i64, size = affine_map<() -> (3)>} : (tensor<2x1xi64>) -> tensor<3xi64>
  return
}

// -----

func.func @take(%x: tensor<2x3xf32>, %i: tensor<2x1xi64>, %s: tensor<2x1xf32>) {
  // expected-error @+2 {{'dl.scatter_take' needs x and source of equal dims, src of the rank and dtype of x}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scatter_take %x, %i, %s {dim = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xi64>, tensor<2x1xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @scatter_apply_dims(%x: tensor<2x3xf32>, %i: tensor<2x4xi64>, %s: tensor<2x5xf32>) {
  // expected-error @+2 {{'dl.scatter_apply' along dim 1 of f32[2,3] has index i64[2,4] and src f32[2,5]; expected equal dims but for that one}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scatter_apply %x, %i, %s {dim = 1 : i64} : (tensor<2x3xf32>, tensor<2x4xi64>, tensor<2x5xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @scatter_apply_reduce(%x: tensor<2x3xf32>, %i: tensor<2x4xi64>, %s: tensor<2x4xf32>) {
  // expected-error @+2 {{'dl.scatter_apply' has reduce = 'mean'; expected 'sum', 'prod', 'amax' or 'amin'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scatter_apply %x, %i, %s {dim = 1 : i64, reduce = "mean"} : (tensor<2x3xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @index_add_rank(%x: tensor<8x4xf32>, %index: tensor<2x1xi64>, %source: tensor<2x4xf32>) {
  // expected-error @+2 {{'dl.index_add' along dim 0 of f32[8,4] has index i64[2,1] and source f32[2,4]; expected a vector, and a slice of the dims of x for each element}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.index_add %x, %index, %source {dim = 0 : i64} : (tensor<8x4xf32>, tensor<2x1xi64>, tensor<2x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @index_add_source(%x: tensor<8x4xf32>, %index: tensor<2xi64>, %source: tensor<3x4xf32>) {
  // expected-error @+2 {{'dl.index_add' along dim 0 of f32[8,4] has index i64[2] and source f32[3,4]; expected a vector}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.index_add %x, %index, %source {dim = 0 : i64} : (tensor<8x4xf32>, tensor<2xi64>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @index_add_alpha(%x: tensor<8x4xi32>, %index: tensor<2xi64>, %source: tensor<2x4xi32>) {
  // expected-error @+2 {{'dl.index_add' of integers needs a whole number for alpha}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.index_add %x, %index, %source {dim = 0 : i64, alpha = 0.5 : f64} : (tensor<8x4xi32>, tensor<2xi64>, tensor<2x4xi32>) -> tensor<8x4xi32>
  return
}
