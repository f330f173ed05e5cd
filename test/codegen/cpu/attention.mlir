// RUN: dlc-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(dl-select-schedules-cpu,dl-build-kernels-cpu)' | FileCheck %s
// Two tiles of 128 rows for each head. Vectors run along the rows of a group, and elements of keys and values are repeated in them; the
// scores of 48 keys live in scratch memory. On AVX-512 eight keys times two vectors of rows are summed at once.

module @cpu {
// CHECK: #[[TILES:.*]] = affine_map<() -> (6)>
// CHECK: #[[SCRATCH:.*]] = affine_map<() -> ({{[0-9]+}})>
// CHECK-LABEL: dlx.kernel @causal
// CHECK-SAME: grid = #[[TILES]],
// CHECK-SAME: plan = #dlx.plan<schedule = "attention", ns = {{[1-9][0-9]*}}>, scratch = #[[SCRATCH]]}

// CHECK-LABEL: module @avx512
// CHECK: func.func @causal
// Rows are turned; keys that no row of the tile sees are left out.
// CHECK: arith.muli %{{.*}}, %c128{{.*}} : index
// CHECK: vector.shuffle
// CHECK: arith.minsi %{{.*}}, %c48{{.*}} : index
// A group of two vectors.
// CHECK: scf.if
// CHECK: scf.for {{.*}} step %c8
// CHECK: %[[SUMS:.*]]:16 = scf.for {{.*}} step %c1
// CHECK: vector.broadcast %{{.*}} : f32 to vector<16xf32>
// CHECK: math.fma
// A key that a row does not see has no weight.
// CHECK: %[[SEEN:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : vector<16xi32>
// CHECK: arith.select %[[SEEN]], %{{.*}}, %{{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: arith.maximumf
// CHECK: math.exp %{{.*}} : vector<16xf32>
// CHECK: arith.addf
// Six columns of the value.
// CHECK: :12 = scf.for
// CHECK: return
dlx.kernel @causal attributes {kind = #dlx.kind<attention>} {
^bb0(%q: tensor<3x200x8xf32>, %k: tensor<3x90x8xf32>, %v: tensor<3x90x6xf32>):
  %y = dl.attention(%q, %k, %v) {is_causal} : (tensor<3x200x8xf32>, tensor<3x90x8xf32>, tensor<3x90x6xf32>) -> tensor<3x200x6xf32> {
  ^bb0(%a: tensor<3x200x8xf32>, %b: tensor<3x90x8xf32>, %c: tensor<3x90x6xf32>):
    %0 = dl.contract %a, %b {x_loops = array<i64: 0, 1, 3>, other_loops = array<i64: 0, 2, 3>, rank = 3 : i64} : (tensor<3x200x8xf32>, tensor<3x90x8xf32>) -> tensor<3x200x90xf32>
    %1 = dl.softmax %0 {dim = 2 : i64} : (tensor<3x200x90xf32>) -> tensor<3x200x90xf32>
    %2 = dl.matmul %1, %c : (tensor<3x200x90xf32>, tensor<3x90x6xf32>) -> tensor<3x200x6xf32>
    dl.yield %2 : tensor<3x200x6xf32>
  }
  dl.yield %y : tensor<3x200x6xf32>
}
}

// -----

module @cpu {
  // expected-error @below {{is of kind 'attention' and has 0 dl.attention in its body; expected one}}
  dlx.kernel @k attributes {kind = #dlx.kind<attention>} {
  ^bb0(%x: tensor<8xf32>):
    %0 = dl.softmax %x {dim = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
    dl.yield %0 : tensor<8xf32>
  }
}
