// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' --mlir-print-local-scope | FileCheck %s
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{parts=false})' | FileCheck %s --check-prefix=GENERAL --implicit-check-not=#dlx.variant
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{force=softmax=reduce})' | FileCheck %s --check-prefix=FORCED
// Where the rows of a reduction may be short and long, kernels for parts of their lengths: a warp
// that keeps a short row, a block for a long one, many blocks for few rows that are longer still.
module attributes {dl.symbols = [#dl.symbol<"N", 1, 1024>, #dl.symbol<"T", 1, 4096>, #dl.symbol<"L", 1, 16777216>, #dl.symbol<"B", 1, 64>, #dl.symbol<"F", 1, 4>]} {
module @cuda {
// CHECK: dlx.kernel @softmax attributes {{.*}}plan = #dlx.plan<schedule = "reduce", numbers = {threads = 256 : i64}
// CHECK-SAME: variants = {{.}}#dlx.variant<kernel = @softmax_for1to[[MOST:[0-9]+]], of = affine_map<()[s0, s1] -> (s1)>, limits = {{.}}1, [[MOST]]{{.}}>
// CHECK: dlx.kernel @softmax_for1to[[MOST]] attributes {{.*}}plan = #dlx.plan<schedule = "reduce", numbers = {kept = {{[0-9]}} : i64, threads = 32 : i64}
// GENERAL: dlx.kernel @softmax
// FORCED: dlx.kernel @softmax
// FORCED-NOT: @softmax_for
dlx.kernel @softmax attributes {kind = #dlx.kind<reduce>} {
^bb0(%x: tensor<?x?xf32, #dl.t<[s0, s1]>>):
  %0 = dl.softmax %x {dim = 1} : (tensor<?x?xf32, #dl.t<[s0, s1]>>) -> tensor<?x?xf32, #dl.t<[s0, s1]>>
  dl.yield %0 : tensor<?x?xf32, #dl.t<[s0, s1]>>
}
// Blocks that share a row exchange memory of which no other plan knows.
// CHECK: dlx.kernel @total attributes
// CHECK-SAME: plan = #dlx.plan<schedule = "reduce"
// CHECK: dlx.kernel @total_for{{.*}}to16777216 attributes {{.*}}cooperative{{.*}}exchange = {{.*}}plan = #dlx.plan<schedule = "split_reduce"
// CHECK-NEXT: ^bb0(%{{[^,]*}}: tensor<{{[^,]*}}, #dl.t<[s2]>>):
dlx.kernel @total attributes {kind = #dlx.kind<reduce>} {
^bb0(%x: tensor<?xf32, #dl.t<[s2]>>):
  %0 = dl.sum %x {dims = array<i64: 0>, keepdim = false} : (tensor<?xf32, #dl.t<[s2]>>) -> tensor<f32>
  dl.yield %0 : tensor<f32>
}
// The same plan is the best for all shapes: it takes the place of the one for the middle of the range,
// which is among the others.
// CHECK: dlx.kernel @few_steps attributes
// CHECK-SAME: other_plans = [#dlx.plan<schedule = "recurrent_units"
// CHECK-SAME: plan = #dlx.plan<schedule = "recurrent_tensor"
// CHECK-NOT: variants
dlx.kernel @few_steps attributes {kind = #dlx.kind<recurrent>} {
^bb0(%g: tensor<64x?x2048xf16, #dl.t<[64, s4, 2048]>>, %w: tensor<4x512x512xf16>):
  %y, %hn, %cn = dl.lstm_steps %g, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x?x2048xf16, #dl.t<[64, s4, 2048]>>, tensor<4x512x512xf16>) -> (tensor<64x?x512xf16, #dl.t<[64, s4, 512]>>, tensor<?x512xf16, #dl.t<[s4, 512]>>, tensor<?x512xf16, #dl.t<[s4, 512]>>)
  dl.yield %y, %hn, %cn : tensor<64x?x512xf16, #dl.t<[64, s4, 512]>>, tensor<?x512xf16, #dl.t<[s4, 512]>>, tensor<?x512xf16, #dl.t<[s4, 512]>>
}
// The number of rows alone changes nothing: rows are as long as before.
// CHECK: dlx.kernel @norm attributes
// CHECK-NOT: variants
// CHECK: gpu.module
dlx.kernel @norm attributes {kind = #dlx.kind<reduce>} {
^bb0(%x: tensor<?x768xf32, #dl.t<[s0, 768]>>):
  %0 = dl.softmax %x {dim = 1} : (tensor<?x768xf32, #dl.t<[s0, 768]>>) -> tensor<?x768xf32, #dl.t<[s0, 768]>>
  dl.yield %0 : tensor<?x768xf32, #dl.t<[s0, 768]>>
}
}
}
