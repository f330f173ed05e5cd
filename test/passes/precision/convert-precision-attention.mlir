// RUN: dlc-opt %s -convert-precision=dtype=f16 -split-input-file | FileCheck %s
// RUN: dlc-opt %s -convert-precision='dtype=f16 keep-f32=attention' -split-input-file | FileCheck %s --check-prefix=KEPT
// RUN: dlc-opt %s -allow-tf32 -split-input-file | FileCheck %s --check-prefix=TF32
// RUN: dlc-opt %s -allow-tf32=keep-f32=attention -split-input-file | FileCheck %s --check-prefix=EXACT

// The products of an attention read 16 bits, the softmax is in f32, and a mask stays as it is. What is cast is cast outside.
// CHECK-LABEL: @masked
// CHECK-DAG: %[[Q:.*]] = dl.cast %arg0 {dtype = f16}
// CHECK-DAG: %[[K:.*]] = dl.cast %arg1 {dtype = f16}
// CHECK-DAG: %[[V:.*]] = dl.cast %arg2 {dtype = f16}
// CHECK: %[[Y:.*]] = dl.attention(%arg3, %[[Q]], %[[K]], %[[V]]) : (tensor<8x9xf32>, tensor<8x4xf16>, tensor<9x4xf16>, tensor<9x4xf16>) -> tensor<8x4xf16> {
// CHECK: dl.contract {{.*}} -> tensor<8x9xf16>
// CHECK: dl.add {{.*}} -> tensor<8x9xf32>
// CHECK: dl.softmax {{.*}} -> tensor<8x9xf32>
// CHECK: %[[Z:.*]] = dl.matmul {{.*}} -> tensor<8x4xf16>
// CHECK-NEXT: dl.yield %[[Z]] : tensor<8x4xf16>
// CHECK: %[[W:.*]] = dl.cast %[[Y]] {dtype = f32}
// CHECK: return %[[W]]
// KEPT-LABEL: @masked
// KEPT-NOT: f16
// TF32-LABEL: @masked
// TF32-COUNT-2: dl.tf32
// TF32-NOT: dl.tf32
// TF32: return
// EXACT-LABEL: @masked
// EXACT-NOT: dl.tf32
// EXACT: return
func.func @masked(%q: tensor<8x4xf32>, %k: tensor<9x4xf32>, %v: tensor<9x4xf32>, %mask: tensor<8x9xf32>) -> tensor<8x4xf32> {
  %y = dl.attention(%q, %k, %v, %mask) : (tensor<8x4xf32>, tensor<9x4xf32>, tensor<9x4xf32>, tensor<8x9xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>, %b: tensor<9x4xf32>, %c: tensor<9x4xf32>, %m: tensor<8x9xf32>):
    %0 = dl.contract %a, %b {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (tensor<8x4xf32>, tensor<9x4xf32>) -> tensor<8x9xf32>
    %1 = dl.add %0, %m : (tensor<8x9xf32>, tensor<8x9xf32>) -> tensor<8x9xf32>
    %2 = dl.softmax %1 {dim = 1 : i64} : (tensor<8x9xf32>) -> tensor<8x9xf32>
    %3 = dl.matmul %2, %c : (tensor<8x9xf32>, tensor<9x4xf32>) -> tensor<8x4xf32>
    dl.yield %3 : tensor<8x4xf32>
  }
  return %y : tensor<8x4xf32>
}

// -----

// A product before it is read as it is, and one after it reads its result; the layer that the user names stays.
// CHECK-LABEL: @between
// CHECK: %[[Q:.*]] = dl.linear {{.*}} -> tensor<8x4xf16>
// CHECK: %[[Y:.*]] = dl.attention(%[[Q]]) : (tensor<8x4xf16>) -> tensor<8x4xf16>
// CHECK: dl.linear %[[Y]], {{.*}} -> tensor<8x4xf16>
// TF32-LABEL: @between
// TF32-COUNT-4: dl.tf32
// EXACT-LABEL: @between
// EXACT: dl.linear {{.*}} {dl.tf32}
// EXACT: dl.contract {{[^}]*}} {other_loops
// EXACT: dl.linear {{.*}} {dl.tf32}
// KEPT-LABEL: @between
// KEPT: dl.linear {{.*}} -> tensor<8x4xf16>
// KEPT: dl.attention{{.*}} -> tensor<8x4xf32>
// KEPT-NOT: f16
// KEPT: dl.yield
// KEPT: dl.linear {{.*}} -> tensor<8x4xf16>
func.func @between(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %q = dl.linear %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %y = dl.attention(%q) : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>):
    %0 = dl.contract %a, %a {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
    %1 = dl.softmax %0 {dim = 1 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = dl.matmul %1, %a : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    dl.yield %2 : tensor<8x4xf32>
  }
  %z = dl.linear %y, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %z : tensor<8x4xf32>
}
