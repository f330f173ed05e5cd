// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{hopper=never})' --mlir-print-local-scope | FileCheck %s
// A grid counts 65535 products of a batch along z. A batch that may be larger gets kernels for the
// shapes within that limit, and the kernel that they belong to serves the rest one value a thread.
module attributes {dl.symbols = [#dl.symbol<"N", 1, 65536>, #dl.symbol<"M", 1, 65535>]} {
module @cuda {
// CHECK: dlx.kernel @halves attributes {{.*}}plan = #dlx.plan<schedule = "direct"
// CHECK-SAME: variants = {{.}}#dlx.variant<kernel = @halves_for12to65535, of = affine_map<()[s0] -> (s0 * 12)>, limits = {{.}}12, 65535]>]
// CHECK: dlx.kernel @halves_for12to65535 attributes {{.*}}plan = #dlx.plan<schedule = "tensor_cores"
dlx.kernel @halves attributes {kind = #dlx.kind<contraction>} {
^bb0(%q: tensor<?x12x64x32xf16, #dl.t<[s0, 12, 64, 32]>>, %k: tensor<?x12x32x64xf16, #dl.t<[s0, 12, 32, 64]>>):
  %0 = dl.matmul %q, %k : (tensor<?x12x64x32xf16, #dl.t<[s0, 12, 64, 32]>>, tensor<?x12x32x64xf16, #dl.t<[s0, 12, 32, 64]>>) -> tensor<?x12x64x64xf16, #dl.t<[s0, 12, 64, 64]>>
  dl.yield %0 : tensor<?x12x64x64xf16, #dl.t<[s0, 12, 64, 64]>>
}
// CHECK: dlx.kernel @floats attributes {{.*}}plan = #dlx.plan<schedule = "direct"
// CHECK-SAME: variants = {{.}}#dlx.variant<kernel = @floats_for12to65535
// CHECK: dlx.kernel @floats_for12to65535 attributes {{.*}}plan = #dlx.plan<schedule = "float_units"
dlx.kernel @floats attributes {kind = #dlx.kind<contraction>} {
^bb0(%q: tensor<?x12x64x32xf32, #dl.t<[s0, 12, 64, 32]>>, %k: tensor<?x12x32x64xf32, #dl.t<[s0, 12, 32, 64]>>):
  %0 = dl.matmul %q, %k : (tensor<?x12x64x32xf32, #dl.t<[s0, 12, 64, 32]>>, tensor<?x12x32x64xf32, #dl.t<[s0, 12, 32, 64]>>) -> tensor<?x12x64x64xf32, #dl.t<[s0, 12, 64, 64]>>
  dl.yield %0 : tensor<?x12x64x64xf32, #dl.t<[s0, 12, 64, 64]>>
}
// The largest batch is within the limit: the kernel for all shapes counts it along z.
// CHECK: dlx.kernel @within attributes {{.*}}plan = #dlx.plan<schedule = "tensor_cores"
// CHECK-NOT: to65535
// CHECK: gpu.module
dlx.kernel @within attributes {kind = #dlx.kind<contraction>} {
^bb0(%q: tensor<?x64x32xf16, #dl.t<[s1, 64, 32]>>, %k: tensor<?x32x64xf16, #dl.t<[s1, 32, 64]>>):
  %0 = dl.matmul %q, %k : (tensor<?x64x32xf16, #dl.t<[s1, 64, 32]>>, tensor<?x32x64xf16, #dl.t<[s1, 32, 64]>>) -> tensor<?x64x64xf16, #dl.t<[s1, 64, 64]>>
  dl.yield %0 : tensor<?x64x64xf16, #dl.t<[s1, 64, 64]>>
}
}
}
