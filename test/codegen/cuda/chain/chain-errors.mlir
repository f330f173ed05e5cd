// RUN: dlc-opt %s --verify-diagnostics --pass-pipeline='builtin.module(builtin.module(dl-build-kernels-cuda))'
// A stage whose threads wait for each other, and are fewer than those of a chain.

module {
module @cuda {
dlx.kernel @rows attributes {kind = #dlx.kind<reduce>, plan = #dlx.plan<schedule = "reduce", numbers = {threads = 64 : i64}, ns = 1>} {
^bb0(%x: tensor<4x4096xf32>):
  %y = dl.softmax %x {dim = -1 : i64} : (tensor<4x4096xf32>) -> tensor<4x4096xf32>
  dl.yield %y : tensor<4x4096xf32>
}
// expected-error@+1 {{has the stage @rows, whose code can be no part of a chain}}
dlx.kernel @chain attributes {kind = #dlx.kind<chain>, stages = [@rows, @rows], plan = #dlx.plan<schedule = "chain", numbers = {blocks = 8 : i64}, ns = 1>} {
^bb0(%x: tensor<4x4096xf32>):
  dl.yield %x : tensor<4x4096xf32>
}
}
}
