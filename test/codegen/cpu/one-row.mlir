// RUN: dlc-opt --dl-schedule-cpu %s | FileCheck %s
// Rows that follow the batch may be one alone, which a block of several would compute several times: it has blocks of its
// own. Not where there are never so few.
module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>, #dl.symbol<"M", 2, 64>]} {
module @cpu {
dlx.kernel @batch attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x8xf32, #dl.t<[s0, 8]>>, %w: tensor<40x8xf32>):
  %0 = dl.linear %x, %w : (tensor<?x8xf32, #dl.t<[s0, 8]>>, tensor<40x8xf32>) -> tensor<?x40xf32, #dl.t<[s0, 40]>>
  dl.yield %0 : tensor<?x40xf32, #dl.t<[s0, 40]>>
}
dlx.kernel @several attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x8xf32, #dl.t<[s1, 8]>>, %w: tensor<40x8xf32>):
  %0 = dl.linear %x, %w : (tensor<?x8xf32, #dl.t<[s1, 8]>>, tensor<40x8xf32>) -> tensor<?x40xf32, #dl.t<[s1, 40]>>
  dl.yield %0 : tensor<?x40xf32, #dl.t<[s1, 40]>>
}
}
}
// CHECK: module @avx2 {
// CHECK: func.func @batch(
// CHECK: arith.cmpi eq, %[[ROWS:.+]], %{{.*}}
// CHECK: arith.cmpi ne, %[[ROWS]],
// CHECK: func.func @several(
// CHECK-NOT: arith.cmpi eq
// CHECK: return
