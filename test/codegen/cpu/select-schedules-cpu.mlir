// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-select-schedules-cpu)' | FileCheck %s
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-select-schedules-cpu{force=*=reduce})' | FileCheck %s --check-prefix=FORCED
// RUN: not dlc-opt %s --pass-pipeline='builtin.module(dl-select-schedules-cpu{force=linear=map})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CANNOT
// RUN: not dlc-opt %s --pass-pipeline='builtin.module(dl-build-kernels-cpu)' 2>&1 | FileCheck %s --check-prefix=NONE
// A product with a weight in panels could also be summed row by row; a map is a map.

// CANNOT: error: kernel 'linear' cannot run by schedule 'map'; it can by panels, reduce
// NONE: 'dlx.kernel' op has no plan; run dl-select-schedules-cpu first

module @cpu {
// CHECK-LABEL: dlx.kernel @linear
// CHECK-SAME: other_plans = [#dlx.plan<schedule = "reduce", ns = {{[0-9]+}}>]
// CHECK-SAME: plan = #dlx.plan<schedule = "panels", numbers = {group = 2 : i64, rows = 64 : i64}, ns = {{[0-9]+}}>
// FORCED-LABEL: dlx.kernel @linear
// FORCED-SAME: plan = #dlx.plan<schedule = "reduce"
dlx.kernel @linear attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<64x96xf32>, %w: tensor<128x96xf32>):
  %y = dl.linear %x, %w : (tensor<64x96xf32>, tensor<128x96xf32>) -> tensor<64x128xf32>
  dl.yield %y : tensor<64x128xf32>
}

// CHECK-LABEL: dlx.kernel @relu
// CHECK-NOT: other_plans
// CHECK-SAME: plan = #dlx.plan<schedule = "map"
dlx.kernel @relu attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<4096xf32>):
  %y = dl.relu %x : (tensor<4096xf32>) -> tensor<4096xf32>
  dl.yield %y : tensor<4096xf32>
}

// Times of one core by hand: 8 MiB of memory at 29 bytes a nanosecond, and 8 KiB of its own cache at 60.
// CHECK-LABEL: dlx.kernel @from_memory
// CHECK-SAME: ns = 289262>
dlx.kernel @from_memory attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<1048576xf32>):
  %y = dl.neg %x : (tensor<1048576xf32>) -> tensor<1048576xf32>
  dl.yield %y : tensor<1048576xf32>
}
// CHECK-LABEL: dlx.kernel @from_cache
// CHECK-SAME: ns = 137>
dlx.kernel @from_cache attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<1024xf32>):
  %y = dl.neg %x : (tensor<1024xf32>) -> tensor<1024xf32>
  dl.yield %y : tensor<1024xf32>
}
}
