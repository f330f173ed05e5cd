// RUN: dlc-opt %s --split-input-file --pass-pipeline='builtin.module(dl-select-schedules-cpu)' | FileCheck %s --check-prefix=PLAN
// RUN: dlc-opt %s --split-input-file --dl-schedule-cpu | FileCheck %s

// Blocks of eight neighbours: the first and the last one know their taps, those between read without tests, and the loop over the
// rows of a window begins and ends inside of the image.
!x = tensor<?x32x9x24xf32, #dl.t<[s0, 32, 9, 24], order = [0, 2, 3, 1]>>

module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>]} {
// PLAN-LABEL: dlx.kernel @depthwise
// PLAN-SAME: plan = #dlx.plan<schedule = "windows"
dlx.kernel @depthwise attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: !x, %w: tensor<32x1x3x3xf32>):
  %y = dl.conv2d %x, %w {groups = 32 : i64, padding = array<i64: 1, 1>} : (!x, tensor<32x1x3x3xf32>) -> !x
  dl.yield %y : !x
}
// CHECK: module @avx512 {
// CHECK: func.func @depthwise
// CHECK-NOT: scf.if
// CHECK: arith.maxsi
// CHECK: scf.for
// CHECK-COUNT-23: math.fma {{.*}} vector<16xf32>
// CHECK-NOT: math.fma
// CHECK-COUNT-8: vector.store
// CHECK: scf.if
// CHECK-COUNT-23: math.fma
// CHECK-NOT: math.fma
// CHECK-COUNT-8: vector.maskedstore
// CHECK: arith.maxsi
// CHECK: scf.for
// CHECK-COUNT-24: math.fma {{.*}} vector<16xf32>
// CHECK-NOT: math.fma
// CHECK-COUNT-8: vector.store
}

// -----

// Row-major: vectors would lie along the width.
module {
// PLAN-LABEL: dlx.kernel @row_major
// PLAN-SAME: plan = #dlx.plan<schedule = "reduce"
dlx.kernel @row_major attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<2x32x9x24xf32>, %w: tensor<32x1x3x3xf32>):
  %y = dl.conv2d %x, %w {groups = 32 : i64, padding = array<i64: 1, 1>} : (tensor<2x32x9x24xf32>, tensor<32x1x3x3xf32>) -> tensor<2x32x9x24xf32>
  dl.yield %y : tensor<2x32x9x24xf32>
}
}

// -----

// Rows of a window that lie apart, a width that is not known, and padding wider than a block.
!x = tensor<2x32x9x24xf32, #dl.t<[2, 32, 9, 24], order = [0, 2, 3, 1]>>
!any = tensor<2x32x9x?xf32, #dl.t<[2, 32, 9, s0], order = [0, 2, 3, 1]>>
!padded = tensor<2x32x7x40xf32, #dl.t<[2, 32, 7, 40], order = [0, 2, 3, 1]>>

module attributes {dl.symbols = [#dl.symbol<"W", 3, 64>]} {
// PLAN-LABEL: dlx.kernel @dilated
// PLAN-SAME: plan = #dlx.plan<schedule = "reduce"
dlx.kernel @dilated attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: !x, %w: tensor<32x1x3x3xf32>):
  %y = dl.conv2d %x, %w {dilation = array<i64: 2, 1>, groups = 32 : i64, padding = array<i64: 2, 1>} : (!x, tensor<32x1x3x3xf32>) -> !x
  dl.yield %y : !x
}
// PLAN-LABEL: dlx.kernel @symbolic
// PLAN-SAME: plan = #dlx.plan<schedule = "reduce"
dlx.kernel @symbolic attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: !any, %w: tensor<32x1x3x3xf32>):
  %y = dl.conv2d %x, %w {groups = 32 : i64, padding = array<i64: 1, 1>} : (!any, tensor<32x1x3x3xf32>) -> !any
  dl.yield %y : !any
}
// PLAN-LABEL: dlx.kernel @wide_padding
// PLAN-SAME: plan = #dlx.plan<schedule = "reduce"
dlx.kernel @wide_padding attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: !x, %w: tensor<32x1x3x5xf32>):
  %y = dl.conv2d %x, %w {groups = 32 : i64, padding = array<i64: 0, 10>} : (!x, tensor<32x1x3x5xf32>) -> !padded
  dl.yield %y : !padded
}
}

// -----

// Neighbours along the channels have filters of their own, and vectors lie along the sequence.
module {
// PLAN-LABEL: dlx.kernel @sequence
// PLAN-SAME: plan = #dlx.plan<schedule = "reduce"
dlx.kernel @sequence attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<2x12x34xf32>, %w: tensor<12x1x3xf32>):
  %y = dl.conv1d %x, %w {groups = 12 : i64} : (tensor<2x12x34xf32>, tensor<12x1x3xf32>) -> tensor<2x12x32xf32>
  dl.yield %y : tensor<2x12x32xf32>
}
}
