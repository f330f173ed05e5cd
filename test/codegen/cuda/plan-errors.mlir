// RUN: dlc-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(dl-schedule-cuda)'
// A kernel whose loops are not those of its kind.

module @cuda {
  // expected-error@+1 {{'dlx.kernel' op of kind 'reduce' has no schedule}}
  dlx.kernel @none attributes {kind = #dlx.kind<reduce>} {
  ^bb0(%x: tensor<8xf32>):
    %y = dl.relu %x : (tensor<8xf32>) -> tensor<8xf32>
    dl.yield %y : tensor<8xf32>
  }
}
