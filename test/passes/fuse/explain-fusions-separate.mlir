// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions{separate}),outline-kernels),explain-fusions)' -verify-diagnostics -o /dev/null

// Ops that were not joined though no reason is against it.
func.func @separate(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-note @+1 {{'exp' is here}}
  %0 = dl.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @+1 {{'relu' is not fused with 'exp': each is part of a kernel already, and no rule joins the two}}
  %1 = dl.relu %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
