// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{hopper=never chains=always})' | FileCheck %s
// Kernels that read nothing: rows of constants are counted like others, and those whose length a symbol says are no stage.

module attributes {dl.symbols = [#dl.symbol<"N", 1, 33>]} {
module @cuda attributes {dl.symbols = [#dl.symbol<"N", 1, 33>]} {
// CHECK: dlx.launch @fixed() -> ({{.*}}) {chain = #dlx.chain<kernel = @chain, launches = 2>}
// CHECK: dlx.launch @open() -> ({{.*}}) :
// CHECK: dlx.launch @twice({{.*}}) -> ({{.*}}) :
dlx.program @p attributes {input_names = ["x"], output_names = ["a", "b"]} {
^bb0(%x: !dlx.buffer<tensor<?xf32, #dl.t<[s0]>>>):
  %0 = dlx.alloc : <tensor<3xf32>>
  dlx.launch @fixed() -> (%0) : () -> (!dlx.buffer<tensor<3xf32>>)
  %1 = dlx.alloc : <tensor<6xf32>>
  dlx.launch @twice(%0) -> (%1) : (!dlx.buffer<tensor<3xf32>>) -> (!dlx.buffer<tensor<6xf32>>)
  %2 = dlx.alloc : <tensor<3xf32>>
  dlx.launch @open() -> (%2) : () -> (!dlx.buffer<tensor<3xf32>>)
  %3 = dlx.alloc : <tensor<6xf32>>
  dlx.launch @twice(%2) -> (%3) : (!dlx.buffer<tensor<3xf32>>) -> (!dlx.buffer<tensor<6xf32>>)
  dlx.return %1, %3 : !dlx.buffer<tensor<6xf32>>, !dlx.buffer<tensor<6xf32>>
}
dlx.kernel @fixed attributes {kind = #dlx.kind<reduce>} {
  %0 = dl.full 2.0 : f32 -> tensor<3x8xf32>
  %1 = dl.amax %0 {dim = array<i64: 1>} : (tensor<3x8xf32>) -> tensor<3xf32>
  dl.yield %1 : tensor<3xf32>
}
dlx.kernel @open attributes {kind = #dlx.kind<reduce>} {
  %0 = dl.full 0.0 : f32 -> tensor<3x?xf32, #dl.t<[3, s0]>>
  %1 = dl.amax %0 {dim = array<i64: 1>} : (tensor<3x?xf32, #dl.t<[3, s0]>>) -> tensor<3xf32>
  dl.yield %1 : tensor<3xf32>
}
dlx.kernel @twice attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<3xf32>):
  %0 = dl.cat %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
  dl.yield %0 : tensor<6xf32>
}
}
}
