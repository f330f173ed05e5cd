// RUN: dlc-opt --dl-schedule-cpu %s | FileCheck %s
// Of rows whose number is not known few may be left after whole blocks, or there are no more: one has a block of its own, others
// up to half of a block one of that size. Known rows need none of that, and no more do the rows of an image, however many
// images there are.
module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>]} {
module @cpu {
dlx.kernel @batch attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x8xf32, #dl.t<[s0, 8]>>, %w: tensor<40x8xf32>):
  %0 = dl.linear %x, %w : (tensor<?x8xf32, #dl.t<[s0, 8]>>, tensor<40x8xf32>) -> tensor<?x40xf32, #dl.t<[s0, 40]>>
  dl.yield %0 : tensor<?x40xf32, #dl.t<[s0, 40]>>
}
dlx.kernel @known attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<9x8xf32>, %w: tensor<40x8xf32>):
  %0 = dl.linear %x, %w : (tensor<9x8xf32>, tensor<40x8xf32>) -> tensor<9x40xf32>
  dl.yield %0 : tensor<9x40xf32>
}
dlx.kernel @images attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x8x6x6xf32, #dl.t<[s0, 8, 6, 6]>>, %w: tensor<40x8x1x1xf32>):
  %0 = dl.conv2d %x, %w : (tensor<?x8x6x6xf32, #dl.t<[s0, 8, 6, 6]>>, tensor<40x8x1x1xf32>) -> tensor<?x40x6x6xf32, #dl.t<[s0, 40, 6, 6]>>
  dl.yield %0 : tensor<?x40x6x6xf32, #dl.t<[s0, 40, 6, 6]>>
}
dlx.kernel @small_images attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x8x2x2xf32, #dl.t<[s0, 8, 2, 2]>>, %w: tensor<40x8x1x1xf32>):
  %0 = dl.conv2d %x, %w : (tensor<?x8x2x2xf32, #dl.t<[s0, 8, 2, 2]>>, tensor<40x8x1x1xf32>) -> tensor<?x40x2x2xf32, #dl.t<[s0, 40, 2, 2]>>
  dl.yield %0 : tensor<?x40x2x2xf32, #dl.t<[s0, 40, 2, 2]>>
}
dlx.kernel @neighbours attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<1x8x24x24xf32>, %w: tensor<40x8x3x3xf32>):
  %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x24x24xf32>, tensor<40x8x3x3xf32>) -> tensor<1x40x24x24xf32>
  dl.yield %0 : tensor<1x40x24x24xf32>
}
}
}
// CHECK: module @avx2 {
// CHECK: func.func @batch(
// CHECK: %[[HALF:.+]] = arith.cmpi ule, %[[REST:.+]], %{{.*}} : index
// CHECK: %[[FEW:.+]] = arith.select %[[HALF]], %[[REST]],
// CHECK: arith.cmpi eq, %[[FEW]],
// CHECK: arith.cmpi ugt, %[[FEW]],
// CHECK: func.func @known(
// CHECK-NOT: arith.cmpi {{eq|ugt}}
// CHECK: func.func @images(
// CHECK-NOT: arith.cmpi {{eq|ugt}}
// CHECK: func.func @small_images(
// CHECK: arith.cmpi ule
// CHECK: arith.cmpi eq
// CHECK: arith.cmpi ugt
// The places of a block's six rows, neighbours in a row of the image, follow from those of the first: one division for each of
// its two dims.
// CHECK: func.func @neighbours(
// CHECK-COUNT-2: arith.remui %{{.*}}, %c24
// CHECK-NOT: arith.remui %{{.*}}, %c24
// CHECK: return
