// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' --mlir-print-local-scope | FileCheck %s
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda{parts=false hopper=never})' | FileCheck %s --check-prefix=GENERAL --implicit-check-not=#dlx.variant
// Where the rows of a product are symbolic, kernels for parts of them: one row, few rows, tiles of
// several sizes. The kernel that they belong to serves all shapes.
module attributes {dl.symbols = [#dl.symbol<"N", 1, 16>, #dl.symbol<"T", 1, 512>]} {
module @cuda {
// CHECK: dlx.kernel @rows attributes {{.*}}variants = [
// CHECK-SAME: #dlx.variant<kernel = @rows_for1, of = affine_map<()[s0, s1] -> (s1)>, limits = [1, 1]>
// CHECK-SAME: #dlx.variant<kernel = @rows_for2to8, of = affine_map<()[s0, s1] -> (s1)>, limits = [2, 8]>
// CHECK-SAME: #dlx.variant<kernel = @rows_for9to
// CHECK: dlx.kernel @rows_for1
// CHECK: dlx.kernel @rows_for2to8
// CHECK: dlx.kernel @rows_for9to
// GENERAL: dlx.kernel @rows
dlx.kernel @rows attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x768xf32, #dl.t<[s1, 768]>>, %w: tensor<3072x768xf32>):
  %0 = dl.linear %x, %w : (tensor<?x768xf32, #dl.t<[s1, 768]>>, tensor<3072x768xf32>) -> tensor<?x3072xf32, #dl.t<[s1, 3072]>>
  dl.yield %0 : tensor<?x3072xf32, #dl.t<[s1, 3072]>>
}
// Two symbols: parts are told apart by the number of rows, whatever makes it.
// CHECK: dlx.kernel @both attributes {{.*}}variants = [
// CHECK-SAME: #dlx.variant<kernel = @both_for1, of = affine_map<()[s0, s1] -> (s0 * s1)>, limits = [1, 1]>
dlx.kernel @both attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x?x768xf32, #dl.t<[s0, s1, 768]>>, %w: tensor<3072x768xf32>):
  %0 = dl.linear %x, %w : (tensor<?x?x768xf32, #dl.t<[s0, s1, 768]>>, tensor<3072x768xf32>) -> tensor<?x?x3072xf32, #dl.t<[s0, s1, 3072]>>
  dl.yield %0 : tensor<?x?x3072xf32, #dl.t<[s0, s1, 3072]>>
}
// Blocks share tiles in one variant, and exchange memory whose size its own tile says: no input of
// any of them.
// CHECK: dlx.kernel @deep attributes {{.*}}variants = [
// CHECK: dlx.kernel @deep_for{{.*}} attributes {{.*}}exchange = affine_map<
// CHECK-NEXT: ^bb0(%{{[^,]*}}: tensor<{{.*}}, %{{[^,]*}}: tensor<256x8192xf16>):
dlx.kernel @deep attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x8192xf16, #dl.t<[s1, 8192]>>, %w: tensor<256x8192xf16>):
  %0 = dl.linear %x, %w : (tensor<?x8192xf16, #dl.t<[s1, 8192]>>, tensor<256x8192xf16>) -> tensor<?x256xf16, #dl.t<[s1, 256]>>
  dl.yield %0 : tensor<?x256xf16, #dl.t<[s1, 256]>>
}
// Nothing to tell apart: one shape, and rows that are few whatever they are.
// CHECK: dlx.kernel @fixed attributes
// CHECK-NOT: variants
// CHECK: dlx.kernel @few attributes
// CHECK-NOT: variants
// CHECK: gpu.module
dlx.kernel @fixed attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<128x768xf32>, %w: tensor<3072x768xf32>):
  %0 = dl.linear %x, %w : (tensor<128x768xf32>, tensor<3072x768xf32>) -> tensor<128x3072xf32>
  dl.yield %0 : tensor<128x3072xf32>
}
dlx.kernel @few attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<4x768xf32>, %w: tensor<3072x768xf32>):
  %0 = dl.linear %x, %w : (tensor<4x768xf32>, tensor<3072x768xf32>) -> tensor<4x3072xf32>
  dl.yield %0 : tensor<4x3072xf32>
}
}
}
