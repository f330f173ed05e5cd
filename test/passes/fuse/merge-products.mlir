// RUN: dlc-opt %s --merge-products -split-input-file | FileCheck %s

// Query, key and value of an attention, with biases that are added after them, are slices of one product.
// CHECK-LABEL: @Attention
// CHECK: %[[W:.*]] = dl.cat %{{.*}}, %{{.*}}, %{{.*}} {dim = 1 : i64} : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x24xf32>
// CHECK: %[[B:.*]] = dl.cat %{{.*}}, %{{.*}}, %{{.*}} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<24xf32>
// CHECK: %[[P:.*]] = dl.matmul %arg0, %[[W]] : (tensor<9x16xf32>, tensor<16x24xf32>) -> tensor<9x24xf32>
// CHECK: %[[R:.*]] = dl.broadcast %[[B]] : (tensor<24xf32>) -> tensor<9x24xf32>
// CHECK: %[[S:.*]] = dl.add %[[P]], %[[R]]
// CHECK: %[[V:.*]] = dl.reshape %[[S]] {{.*}} : (tensor<9x24xf32>) -> tensor<9x6x4xf32>
// CHECK: %[[Q:.*]] = dl.slice %{{.*}} {dim = 1 : i64, end = 2 : i64, start = 0 : i64} : (tensor<9x6x4xf32>) -> tensor<9x2x4xf32>
// CHECK: %[[K:.*]] = dl.slice %{{.*}} {dim = 1 : i64, end = 4 : i64, start = 2 : i64}
// CHECK: %[[Z:.*]] = dl.slice %{{.*}} {dim = 1 : i64, end = 6 : i64, start = 4 : i64}
// CHECK-NOT: dl.matmul
// CHECK: dl.attention(%[[Q]], %[[K]], %[[Z]])
!w = tensor<16x8xf32>
!b = tensor<8xf32>
!y = tensor<9x8xf32>
!h = tensor<9x2x4xf32>
!s = tensor<2x9x9xf32>
func.func @Attention(%x: tensor<9x16xf32>) -> !h {
  %wq = dl.weight "wq" : !w
  %bq = dl.weight "bq" : !b
  %0 = dl.matmul %x, %wq : (tensor<9x16xf32>, !w) -> !y
  %1 = dl.broadcast %bq : (!b) -> !y
  %2 = dl.add %0, %1 : (!y, !y) -> !y
  %q = dl.reshape %2 {shape = affine_map<() -> (9, 2, 4)>} : (!y) -> !h
  %wk = dl.weight "wk" : !w
  %bk = dl.weight "bk" : !b
  %3 = dl.matmul %x, %wk : (tensor<9x16xf32>, !w) -> !y
  %4 = dl.broadcast %bk : (!b) -> !y
  %5 = dl.add %3, %4 : (!y, !y) -> !y
  %k = dl.reshape %5 {shape = affine_map<() -> (9, 2, 4)>} : (!y) -> !h
  %wv = dl.weight "wv" : !w
  %bv = dl.weight "bv" : !b
  %6 = dl.matmul %x, %wv : (tensor<9x16xf32>, !w) -> !y
  %7 = dl.broadcast %bv : (!b) -> !y
  %8 = dl.add %6, %7 : (!y, !y) -> !y
  %v = dl.reshape %8 {shape = affine_map<() -> (9, 2, 4)>} : (!y) -> !h
  %z = dl.attention(%q, %k, %v) : (!h, !h, !h) -> !h {
  ^bb0(%a: !h, %c: !h, %d: !h):
    %9 = dl.contract %a, %c {other_loops = array<i64: 2, 0, 3>, rank = 3 : i64, x_loops = array<i64: 1, 0, 3>} : (!h, !h) -> !s
    %10 = dl.softmax %9 {dim = -1 : i64} : (!s) -> !s
    %11 = dl.contract %10, %d {other_loops = array<i64: 3, 1, 2>, rank = 3 : i64, x_loops = array<i64: 1, 0, 3>} : (!s, !h) -> !h
    dl.yield %11 : !h
  }
  return %z : !h
}

// -----

// Layers with fewer heads of keys than of queries, over rows of any number; a rotation is a map that reads elsewhere.
// CHECK-LABEL: @Grouped
// CHECK: %[[W:.*]] = dl.cat %{{.*}}, %{{.*}} : (tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<12x16xf32>
// CHECK: %[[B:.*]] = dl.cat
// CHECK: dl.linear %arg0, %[[W]], %[[B]]
// CHECK-NOT: dl.linear
// CHECK: return
!x = tensor<?x16xf32, #dl.t<[s0, 16]>>
!y = tensor<?x8xf32, #dl.t<[s0, 8]>>
!z = tensor<?x4xf32, #dl.t<[s0, 4]>>
func.func @Grouped(%x: !x) -> (tensor<8x?xf32, #dl.t<[8, s0]>>, !z) {
  %wq = dl.weight "wq" : tensor<8x16xf32>
  %bq = dl.weight "bq" : tensor<8xf32>
  %wk = dl.weight "wk" : tensor<4x16xf32>
  %bk = dl.weight "bk" : tensor<4xf32>
  %0 = dl.linear %x, %wq, %bq : (!x, tensor<8x16xf32>, tensor<8xf32>) -> !y
  %1 = dl.linear %x, %wk, %bk : (!x, tensor<4x16xf32>, tensor<4xf32>) -> !z
  %2 = dl.flip %0 {dims = array<i64: 1>} : (!y) -> !y
  %3 = dl.permute %2 {dims = array<i64: 1, 0>} : (!y) -> tensor<8x?xf32, #dl.t<[8, s0]>>
  %4 = dl.flip %1 {dims = array<i64: 1>} : (!z) -> !z
  return %3, %4 : tensor<8x?xf32, #dl.t<[8, s0]>>, !z
}

// -----

// Elementwise readers are part of their product's kernel; a result is stored where it lies; @no_fuse keeps a product apart; another
// factor, another type and a weight that is computed are no part of it.
// CHECK-LABEL: @Apart
// CHECK-NOT: dl.cat
// CHECK: return
!x = tensor<9x16xf32>
!w = tensor<16x8xf32>
!y = tensor<9x8xf32>
func.func @Apart(%x: !x, %x2: !x, %given: !w) -> (!y, !y, !y, !y, !y, !y, !y) {
  %w0 = dl.weight "w0" : !w
  %w1 = dl.weight "w1" : !w
  %w2 = dl.weight "w2" : !w
  %gate = dl.matmul %x, %w0 : (!x, !w) -> !y
  %g = dl.silu %gate : (!y) -> !y
  %up = dl.matmul %x, %w1 : (!x, !w) -> !y
  %u = dl.exp %up : (!y) -> !y
  %out = dl.matmul %x, %w2 : (!x, !w) -> !y
  %0 = dl.matmul %x, %w0 {dl.no_fuse} : (!x, !w) -> !y
  %1 = dl.flip %0 {dims = array<i64: 1>} : (!y) -> !y
  %2 = dl.matmul %x2, %w1 : (!x, !w) -> !y
  %3 = dl.flip %2 {dims = array<i64: 1>} : (!y) -> !y
  %4 = dl.matmul %x, %given : (!x, !w) -> !y
  %5 = dl.flip %4 {dims = array<i64: 1>} : (!y) -> !y
  %6 = dl.matmul %x, %w2 {dl.tf32} : (!x, !w) -> !y
  %7 = dl.flip %6 {dims = array<i64: 1>} : (!y) -> !y
  return %g, %u, %out, %1, %3, %5, %7 : !y, !y, !y, !y, !y, !y, !y
}

// -----

// Rows of 2:4 matrices are stacked as they are stored; a whole matrix is no part of that.
// CHECK-LABEL: @TwoOfFour
// CHECK-DAG: %[[V:.*]] = dl.cat %{{.*}}, %{{.*}} : (tensor<8x32xf16>, tensor<4x32xf16>) -> tensor<12x32xf16>
// CHECK-DAG: %[[P:.*]] = dl.cat %{{.*}}, %{{.*}} : (tensor<8x8xui8>, tensor<4x8xui8>) -> tensor<12x8xui8>
// CHECK: %[[W:.*]] = dl.expand_two_of_four %[[V]], %[[P]]
// CHECK: dl.linear %arg0, %[[W]] : {{.*}} -> tensor<9x12xf16>
// CHECK: dl.linear %arg0, %{{.*}} : {{.*}} -> tensor<9x6xf16>
// CHECK-NOT: dl.linear
!x = tensor<9x64xf16>
func.func @TwoOfFour(%x: !x) -> (tensor<9x8xf16>, tensor<9x4xf16>, tensor<9x6xf16>) {
  %vq = dl.weight "vq" : tensor<8x32xf16>
  %pq = dl.weight "pq" : tensor<8x8xui8>
  %vk = dl.weight "vk" : tensor<4x32xf16>
  %pk = dl.weight "pk" : tensor<4x8xui8>
  %wv = dl.weight "wv" : tensor<6x64xf16>
  %wq = dl.expand_two_of_four %vq, %pq : (tensor<8x32xf16>, tensor<8x8xui8>) -> tensor<8x64xf16>
  %wk = dl.expand_two_of_four %vk, %pk : (tensor<4x32xf16>, tensor<4x8xui8>) -> tensor<4x64xf16>
  %0 = dl.linear %x, %wq : (!x, tensor<8x64xf16>) -> tensor<9x8xf16>
  %1 = dl.flip %0 {dims = array<i64: 1>} : (tensor<9x8xf16>) -> tensor<9x8xf16>
  %2 = dl.linear %x, %wk : (!x, tensor<4x64xf16>) -> tensor<9x4xf16>
  %3 = dl.flip %2 {dims = array<i64: 1>} : (tensor<9x4xf16>) -> tensor<9x4xf16>
  %4 = dl.linear %x, %wv : (!x, tensor<6x64xf16>) -> tensor<9x6xf16>
  %5 = dl.flip %4 {dims = array<i64: 1>} : (tensor<9x6xf16>) -> tensor<9x6xf16>
  return %1, %3, %5 : tensor<9x8xf16>, tensor<9x4xf16>, tensor<9x6xf16>
}
