// RUN: dlc-opt %s -outline-kernels -verify-diagnostics

func.func @unfused(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is outside a fusion; expected the form that the fuse phase leaves (form-fusions)}}
  %0 = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
