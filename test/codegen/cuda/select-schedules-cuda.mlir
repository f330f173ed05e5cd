// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-select-schedules-cuda{parts=false hopper=never})' | FileCheck %s
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-select-schedules-cuda{force=few=tiles,*=direct parts=false hopper=never})' \
// RUN:   | FileCheck %s --check-prefix=FORCED
// RUN: not dlc-opt %s --pass-pipeline='builtin.module(dl-select-schedules-cuda{force=few=fastest})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNKNOWN
// RUN: not dlc-opt %s --pass-pipeline='builtin.module(dl-select-schedules-cuda{force=nowhere=direct})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NOWHERE
// RUN: not dlc-opt %s --pass-pipeline='builtin.module(dl-select-schedules-cuda{force=few=sort})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CANNOT
// RUN: not dlc-opt %s --pass-pipeline='builtin.module(dl-build-kernels-cuda)' 2>&1 | FileCheck %s --check-prefix=NONE
// Each kernel gets the plan with the smallest estimate; those that it could run by, too, follow.

// UNKNOWN: 'few=fastest' names no schedule of this target; expected KERNEL=SCHEDULE, or *=SCHEDULE for all kernels, with one of joined, map, wgmma, rows
// NOWHERE: 'nowhere=direct' names no kernel; there are few, halves, map
// CANNOT: error: kernel 'few' cannot run by schedule 'sort'; it can by rows, float_units, tiles
// NONE: 'dlx.kernel' op has no plan; run dl-select-schedules-cuda first

module @cuda {
// CHECK-LABEL: dlx.kernel @few
// CHECK-SAME: other_plans = [#dlx.plan<schedule = "float_units"
// CHECK-SAME: plan = #dlx.plan<schedule = "rows", numbers = {columns = {{[0-9]+}} : i64, deep =
// FORCED-LABEL: dlx.kernel @few
// FORCED-SAME: plan = #dlx.plan<schedule = "tiles", numbers = {tile_m = 32 : i64, tile_n = 64 : i64}, ns =
dlx.kernel @few attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<4x512xf32>, %w: tensor<1024x512xf32>):
  %y = dl.linear %x, %w : (tensor<4x512xf32>, tensor<1024x512xf32>) -> tensor<4x1024xf32>
  dl.yield %y : tensor<4x1024xf32>
}

// CHECK-LABEL: dlx.kernel @halves
// CHECK-SAME: plan = #dlx.plan<schedule = "tensor_cores"
// FORCED-LABEL: dlx.kernel @halves
// FORCED-SAME: plan = #dlx.plan<schedule = "direct"
dlx.kernel @halves attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<256x512xf16>, %w: tensor<1024x512xf16>):
  %y = dl.linear %x, %w : (tensor<256x512xf16>, tensor<1024x512xf16>) -> tensor<256x1024xf16>
  dl.yield %y : tensor<256x1024xf16>
}

// A map can run by nothing else: what is wanted for all kernels does not concern it.
// CHECK-LABEL: dlx.kernel @map
// CHECK-NOT: other_plans
// CHECK-SAME: plan = #dlx.plan<schedule = "map"
// FORCED-LABEL: dlx.kernel @map
// FORCED-SAME: plan = #dlx.plan<schedule = "map"
dlx.kernel @map attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<4096xf32>):
  %y = dl.relu %x : (tensor<4096xf32>) -> tensor<4096xf32>
  dl.yield %y : tensor<4096xf32>
}
}
