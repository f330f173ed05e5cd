// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{hopper=never})' | FileCheck %s
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{hopper=never chains=never})' | FileCheck %s --check-prefix=NEVER --implicit-check-not='dlx.chain' --implicit-check-not='kind<chain>'
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{hopper=never})' | dlc-translate --mlir-to-cuda | FileCheck %s --check-prefix=TEXT --strict-whitespace
// RUN: not dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{chains=some})' 2>&1 | FileCheck %s --check-prefix=SOME
// SOME: error: chains are auto, always or never, got 'some'
// Launches of small kernels get a chain; a large one, which takes the whole GPU, is not among them.

module @cuda {
// CHECK: dlx.launch @large({{.*}}) -> ({{.*}}) :
// CHECK: dlx.launch @small({{.*}}) -> ({{.*}}) {chain = #dlx.chain<kernel = @chain, launches = 2, gpu = 90>}
// CHECK: dlx.launch @softmax({{.*}}) -> ({{.*}}) :
// NEVER: dlx.launch @large
dlx.program @p attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<1x4096xf32>>):
  %lw = dlx.weight "lw" : <tensor<2048x4096xf32>>
  %h = dlx.alloc : <tensor<1x2048xf32>>
  dlx.launch @large(%x, %lw) -> (%h) : (!dlx.buffer<tensor<1x4096xf32>>, !dlx.buffer<tensor<2048x4096xf32>>) -> (!dlx.buffer<tensor<1x2048xf32>>)
  %sw = dlx.weight "sw" : <tensor<64x2048xf32>>
  %l = dlx.alloc : <tensor<1x64xf32>>
  dlx.launch @small(%h, %sw) -> (%l) : (!dlx.buffer<tensor<1x2048xf32>>, !dlx.buffer<tensor<64x2048xf32>>) -> (!dlx.buffer<tensor<1x64xf32>>)
  %y = dlx.alloc : <tensor<1x64xf32>>
  dlx.launch @softmax(%l) -> (%y) : (!dlx.buffer<tensor<1x64xf32>>) -> (!dlx.buffer<tensor<1x64xf32>>)
  dlx.return %y : !dlx.buffer<tensor<1x64xf32>>
}
dlx.kernel @large attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<1x4096xf32>, %w: tensor<2048x4096xf32>):
  %y = dl.linear %x, %w : (tensor<1x4096xf32>, tensor<2048x4096xf32>) -> tensor<1x2048xf32>
  dl.yield %y : tensor<1x2048xf32>
}
dlx.kernel @small attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<1x2048xf32>, %w: tensor<64x2048xf32>):
  %y = dl.linear %x, %w : (tensor<1x2048xf32>, tensor<64x2048xf32>) -> tensor<1x64xf32>
  dl.yield %y : tensor<1x64xf32>
}
dlx.kernel @softmax attributes {kind = #dlx.kind<reduce>} {
^bb0(%x: tensor<1x64xf32>):
  %y = dl.softmax %x {dim = -1 : i64} : (tensor<1x64xf32>) -> tensor<1x64xf32>
  dl.yield %y : tensor<1x64xf32>
}
// CHECK: dlx.kernel @chain
// CHECK-SAME: kind = #dlx.kind<chain>, plan = #dlx.plan<schedule = "chain", numbers = {blocks = {{8|16}} : i64}
// CHECK-SAME: stages = [@small, @softmax]
}

// TEXT-LABEL:// chain of 2 kernels
// TEXT:#include "dlc_chain.cuh"
// TEXT:#ifdef DLC_HAS_CLUSTERS
// TEXT:DLC_KERNEL_CLUSTER(256, {{8|16}}) dlc_chain(
// No parameter is without aliases: what one stage writes the next one reads.
// TEXT-NEXT:    const float *x,
// TEXT:  dlc::contract_rows_in_chain<config>(
// TEXT-NEXT:      block, true, 1, 64, 2048, x, weight,
// The template begins the grid in the first stage, and its barrier is of shared memory.
// TEXT:  dlc::barrier();
// TEXT-NEXT:  dlc::cluster_barrier();
// TEXT:#endif // DLC_HAS_CLUSTERS
