// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | dlc-translate --mlir-to-cuda | FileCheck %s
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | FileCheck %s --check-prefix=PLAN
// A vector of joined tensors lies in one of them: its buffer and place are chosen, and loaded once. Where vectors may lie in two,
// or what follows reads at another index, each element is loaded from every tensor that may have it.
module @cuda {
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_along(
// CHECK: const dlc::vec<dlc::f16, 8> joined = dlc::load<8>((test ? tensors1 : tensors0) + at);
// CHECK: for (int e = 0; e < 8; ++e) {
// CHECK-NEXT: y8[e] = dlc::from_f<dlc::f16>(dlc::to_f(joined[e]) * dlc::to_f(other8[e]));
// CHECK-NEXT: }
// PLAN-LABEL: dlx.kernel @along
// PLAN-SAME: other_plans = [#dlx.plan<schedule = "map"
// PLAN-SAME: plan = #dlx.plan<schedule = "joined"
dlx.kernel @along attributes {kind = #dlx.kind<map>} {
^bb0(%a: tensor<40x32xf16>, %b: tensor<40x64xf16>, %s: tensor<96xf16>):
  %0 = dl.cat %a, %b {dim = 1 : i64} : (tensor<40x32xf16>, tensor<40x64xf16>) -> tensor<40x96xf16>
  %1 = dl.broadcast %s : (tensor<96xf16>) -> tensor<40x96xf16>
  %2 = dl.mul %0, %1 : (tensor<40x96xf16>, tensor<40x96xf16>) -> tensor<40x96xf16>
  dl.yield %2 : tensor<40x96xf16>
}

// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_many(
// CHECK: const float *buffer = {{.*}} ? tensors2 : {{.*}}tensors0;
// CHECK: const dlc::vec<float, 4> joined = dlc::load<4>((
dlx.kernel @many attributes {kind = #dlx.kind<map>} {
^bb0(%a: tensor<40x8xf32>, %b: tensor<40x8xf32>, %c: tensor<40x8xf32>, %d: tensor<40x8xf32>, %e: tensor<40x8xf32>, %f: tensor<40x8xf32>):
  %0 = dl.cat %a, %b, %c, %d, %e, %f {dim = 1 : i64} : (tensor<40x8xf32>, tensor<40x8xf32>, tensor<40x8xf32>, tensor<40x8xf32>, tensor<40x8xf32>, tensor<40x8xf32>) -> tensor<40x48xf32>
  dl.yield %0 : tensor<40x48xf32>
}

// What a part moves is loaded from where it is stored: rows of one tensor that follow each other in another order, and every other
// row of a second one.
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_moved(
// CHECK: const dlc::vec<float, 4> joined = dlc::load<4>(({{.*}} ? tensors2 : {{.*}} ? in0 : in0) + at);
// PLAN-LABEL: dlx.kernel @moved
// PLAN-SAME: plan = #dlx.plan<schedule = "joined"
dlx.kernel @moved attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<40x16xf32>, %z: tensor<20x32xf32>):
  %a = dl.slice %x {dim = 0 : i64, start = 10 : i64} : (tensor<40x16xf32>) -> tensor<30x16xf32>
  %b = dl.slice %x {dim = 0 : i64, end = 10 : i64} : (tensor<40x16xf32>) -> tensor<10x16xf32>
  %c = dl.slice %z {dim = 0 : i64, step = 2 : i64} : (tensor<20x32xf32>) -> tensor<10x32xf32>
  %d = dl.slice %c {dim = 1 : i64, start = 16 : i64} : (tensor<10x32xf32>) -> tensor<10x16xf32>
  %0 = dl.cat %a, %b, %d {dim = 0 : i64} : (tensor<30x16xf32>, tensor<10x16xf32>, tensor<10x16xf32>) -> tensor<50x16xf32>
  dl.yield %0 : tensor<50x16xf32>
}

// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_odd(
// CHECK-NOT: joined ={{.*}}load
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_turned(
// CHECK-NOT: joined ={{.*}}load
dlx.kernel @odd attributes {kind = #dlx.kind<map>} {
^bb0(%a: tensor<40x30xf32>, %b: tensor<40x66xf32>):
  %0 = dl.cat %a, %b {dim = 1 : i64} : (tensor<40x30xf32>, tensor<40x66xf32>) -> tensor<40x96xf32>
  dl.yield %0 : tensor<40x96xf32>
}
dlx.kernel @turned attributes {kind = #dlx.kind<map>} {
^bb0(%a: tensor<40x32xf32>, %b: tensor<40x64xf32>):
  %0 = dl.cat %a, %b {dim = 1 : i64} : (tensor<40x32xf32>, tensor<40x64xf32>) -> tensor<40x96xf32>
  %1 = dl.flip %0 {dims = array<i64: 1>} : (tensor<40x96xf32>) -> tensor<40x96xf32>
  %2 = dl.add %0, %1 : (tensor<40x96xf32>, tensor<40x96xf32>) -> tensor<40x96xf32>
  dl.yield %2 : tensor<40x96xf32>
}
}
