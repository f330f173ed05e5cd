// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{hopper=always})' | FileCheck %s
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | FileCheck %s --check-prefix=AUTO
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{hopper=never})' | FileCheck %s --check-prefix=NEVER --implicit-check-not=sm_90a
// Beside a matrix product another kernel for sm_90a, whose operands TMA reads where they lie; none where something is
// computed on their way in, or rows begin at no multiple of 16 bytes.
module attributes {dl.symbols = [#dl.symbol<"N", 0, 4096>]} {
module @cuda {
// CHECK-DAG: #map{{[0-9]*}} = affine_map<()[s0] -> (256, s0, 256)>
// CHECK-DAG: #map{{[0-9]*}} = affine_map<() -> (256, 1024, 256)>
// CHECK: dlx.kernel @linear attributes {{.*}}variants = [#dlx.variant<kernel = @linear_sm_90a, gpu = 90>
// CHECK: dlx.kernel @linear_sm_90a attributes {block = array<i64: 384, 1, 1>, {{.*}}persistent, {{.*}}tensor_maps = [
// CHECK-SAME: #dlx.tensor_map<input = 0, shape = #[[X:map[0-9]*]], box = [64, 128]>
// CHECK-SAME: #dlx.tensor_map<input = 1, shape = #[[W:map[0-9]*]], box = [64, {{[0-9]+}}]>
// AUTO: dlx.kernel @linear attributes {{.*}}variants = [#dlx.variant<kernel = @linear_for{{[0-9]+to[0-9]+}}_sm_90a, of = #{{.*}}, limits = [{{[0-9]+, [0-9]+}}], gpu = 90>
// NEVER: dlx.kernel @linear
dlx.kernel @linear attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x256xf16, #dl.t<[s0, 256]>>, %w: tensor<1024x256xf16>, %b: tensor<1024xf16>):
  %0 = dl.linear %x, %w, %b : (tensor<?x256xf16, #dl.t<[s0, 256]>>, tensor<1024x256xf16>, tensor<1024xf16>) -> tensor<?x1024xf16, #dl.t<[s0, 1024]>>
  dl.yield %0 : tensor<?x1024xf16, #dl.t<[s0, 1024]>>
}
// CHECK-NOT: @computed_sm_90a
// CHECK-NOT: @unaligned_sm_90a
dlx.kernel @computed attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x256xf16, #dl.t<[s0, 256]>>, %w: tensor<1024x256xf16>):
  %0 = dl.relu %x : (tensor<?x256xf16, #dl.t<[s0, 256]>>) -> tensor<?x256xf16, #dl.t<[s0, 256]>>
  %1 = dl.linear %0, %w : (tensor<?x256xf16, #dl.t<[s0, 256]>>, tensor<1024x256xf16>) -> tensor<?x1024xf16, #dl.t<[s0, 1024]>>
  dl.yield %1 : tensor<?x1024xf16, #dl.t<[s0, 1024]>>
}
dlx.kernel @unaligned attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x252xf16, #dl.t<[s0, 252]>>, %w: tensor<1024x252xf16>):
  %0 = dl.linear %x, %w : (tensor<?x252xf16, #dl.t<[s0, 252]>>, tensor<1024x252xf16>) -> tensor<?x1024xf16, #dl.t<[s0, 1024]>>
  dl.yield %0 : tensor<?x1024xf16, #dl.t<[s0, 1024]>>
}
}
}
