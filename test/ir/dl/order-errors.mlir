// RUN: dlc-opt %s -split-input-file -verify-diagnostics
// Ops that put elements in order.

func.func @places(%r: tensor<2x3xi64>) {
  // expected-error @+2 {{'dl.places' needs a count of one dim}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.places %r {dim = 1 : i64, count = affine_map<() -> (1, 2)>} : (tensor<2x3xi64>) -> tensor<2x1xi64>
  return
}

// -----

func.func @topk(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.topk' takes k = 4 of dim 1 of f32[2,3]; expected 0 to its size}}
  // expected-error @+1 {{failed to infer returned types}}
  %y:2 = dl.topk %x {k = 4 : i64} : (tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xi64>)
  return
}
