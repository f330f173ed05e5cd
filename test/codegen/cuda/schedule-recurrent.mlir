// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' --verify-diagnostics
// A block keeps the states of its row in shared memory.

module @cuda {
  // expected-error @+1 {{keeps 98304 bytes of states for each row; a block has 49152 bytes of shared memory}}
  dlx.kernel @wide attributes {kind = "recurrent"} {
  ^bb0(%gates: tensor<5x2x32768xf32>, %weight: tensor<4x8192x8192xf32>):
    %y, %hn, %cn = dl.lstm_steps %gates, %weight {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x32768xf32>, tensor<4x8192x8192xf32>) -> (tensor<5x2x8192xf32>, tensor<2x8192xf32>, tensor<2x8192xf32>)
    dl.yield %y, %hn, %cn : tensor<5x2x8192xf32>, tensor<2x8192xf32>, tensor<2x8192xf32>
  }
}
