// RUN: dlc-opt %s --decompose-ops | FileCheck %s
// RUN: dlc-opt %s --decompose-ops --canonicalize | FileCheck %s --check-prefix=CANONICAL

// An op with two results becomes an op for each of them, which inherit its annotations; ops with loops stay.
// CHECK-LABEL: func.func @max
// CHECK-NEXT: %[[E:.*]] = dl.exp %{{.*}} : (tensor<4x8xf32>)
// CHECK-NEXT: %[[V:.*]] = dl.amax %[[E]] {dim = array<i64: 1>, dlc.note = "kept"} : (tensor<4x8xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[I:.*]] = dl.argmax %[[E]] {dim = 1 : i64, dlc.note = "kept"} : (tensor<4x8xf32>) -> tensor<4xi64>
// CHECK-NEXT: return %[[V]], %[[I]]
func.func @max(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xi64>) {
  %e = dl.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %values, %indices = dl.max_dim %e {dim = 1 : i64, dlc.note = "kept"} : (tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  return %values, %indices : tensor<4xf32>, tensor<4xi64>
}

// A network becomes one product over all steps and one op of the steps for each layer and direction; states join at the end.
// CHECK-LABEL: func.func @gru
// CHECK: %[[G:.*]] = dl.linear %arg0, %arg1 : (tensor<5x2x3xf32>, tensor<12x3xf32>) -> tensor<5x2x12xf32>
// CHECK: %[[W:.*]] = dl.reshape %arg2 {{.*}} -> tensor<3x4x4xf32>
// CHECK: %[[Y:.*]], %[[H:.*]] = dl.gru_steps %[[G]], %[[W]]
// CHECK: %[[B:.*]], %{{.*}} = dl.gru_steps {{.*}}reverse = true
// CHECK: dl.cat %[[Y]], %[[B]] {dim = 2 : i64} : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x8xf32>
// CHECK: dl.cat {{.*}} -> tensor<2x2x4xf32>
func.func @gru(%x: tensor<5x2x3xf32>, %a: tensor<12x3xf32>, %b: tensor<12x4xf32>, %c: tensor<12x3xf32>, %d: tensor<12x4xf32>) -> (tensor<5x2x8xf32>, tensor<2x2x4xf32>) {
  %y, %hn = dl.gru %x, %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 0, 4, 0>, bidirectional = true} : (tensor<5x2x3xf32>, tensor<12x3xf32>, tensor<12x4xf32>, tensor<12x3xf32>, tensor<12x4xf32>) -> (tensor<5x2x8xf32>, tensor<2x2x4xf32>)
  return %y, %hn : tensor<5x2x8xf32>, tensor<2x2x4xf32>
}

// A transposed convolution is one of all phases as channels, whose weights are rearranged, and their interleaving.
// CHECK-LABEL: func.func @transposed
// CHECK: %[[W:.*]] = dl.reshape {{.*}} -> tensor<12x8x2x2xf32>
// CHECK: %[[B:.*]] = dl.reshape {{.*}} -> tensor<12xf32>
// CHECK: %[[C:.*]] = dl.conv2d %arg0, %[[W]], %[[B]] {padding = array<i64: 1, 1>} : {{.*}} -> tensor<1x12x6x7xf32>
// CHECK-NEXT: %[[Y:.*]] = dl.depth_to_space %[[C]] {block = array<i64: 2, 2>, crop = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
// CHECK-NEXT: return %[[Y]]
func.func @transposed(%x: tensor<1x8x5x6xf32>, %w: tensor<8x3x4x4xf32>, %b: tensor<3xf32>) -> tensor<1x3x10x12xf32> {
  %y = dl.conv_transpose2d %x, %w, %b {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} :
      (tensor<1x8x5x6xf32>, tensor<8x3x4x4xf32>, tensor<3xf32>) -> tensor<1x3x10x12xf32>
  return %y : tensor<1x3x10x12xf32>
}

// Heads that are shared are dims of size 1: nothing is repeated in memory.
// CHECK-LABEL: func.func @shared_heads
// CHECK: dl.contract %{{.*}}, %{{.*}} {{.*}} : (tensor<2x2x2x8x16xf32>, tensor<2x2x1x9x16xf32>) -> tensor<2x2x2x8x9xf32>
// CHECK-NOT: dl.broadcast
// CHECK: dl.softmax
// CHECK: dl.contract %{{.*}}, %{{.*}} {{.*}} : (tensor<2x2x2x8x9xf32>, tensor<2x2x1x9x16xf32>) -> tensor<2x2x2x8x16xf32>
func.func @shared_heads(%q: tensor<2x4x8x16xf32>, %k: tensor<2x2x9x16xf32>, %v: tensor<2x2x9x16xf32>) -> tensor<2x4x8x16xf32> {
  %y = dl.scaled_dot_product_attention %q, %k, %v {enable_gqa = true} :
      (tensor<2x4x8x16xf32>, tensor<2x2x9x16xf32>, tensor<2x2x9x16xf32>) -> tensor<2x4x8x16xf32>
  return %y : tensor<2x4x8x16xf32>
}

// Windows that are alike become one pool.
// CHECK-LABEL: func.func @pool
// CHECK-NEXT: dl.avg_pool2d %arg0 {kernel_size = array<i64: 1, 3>, stride = array<i64: 1, 3>}
// CHECK-NEXT: return
func.func @pool(%x: tensor<1x3x7x9xf32>) -> tensor<1x3x7x3xf32> {
  %y = dl.adaptive_avg_pool2d %x {output_size = array<i64: -1, 3>} : (tensor<1x3x7x9xf32>) -> tensor<1x3x7x3xf32>
  return %y : tensor<1x3x7x3xf32>
}

// A bool mask chooses the scores.
// CHECK-LABEL: func.func @masked
// CHECK: dl.contract
// CHECK: %[[M:.*]] = dl.broadcast %arg3
// CHECK: %[[I:.*]] = dl.full 0xFF800000
// CHECK: %[[S:.*]] = dl.where %[[M]], %{{.*}}, %[[I]]
// CHECK-NEXT: dl.softmax %[[S]]
func.func @masked(%q: tensor<2x8x16xf32>, %k: tensor<2x9x16xf32>, %v: tensor<2x9x16xf32>, %m: tensor<8x9xi1>) -> tensor<2x8x16xf32> {
  %y = dl.scaled_dot_product_attention %q, %k, %v, %m : (tensor<2x8x16xf32>, tensor<2x9x16xf32>, tensor<2x9x16xf32>, tensor<8x9xi1>) -> tensor<2x8x16xf32>
  return %y : tensor<2x8x16xf32>
}

// Heads are cut up where they lie, and joined after the product has given its result in order: no permutation is left.
// CANONICAL-LABEL: func.func @heads_inside
// CANONICAL-NOT: dl.permute
// CANONICAL: return
func.func @heads_inside(%q: tensor<2x8x4x16xf32>, %k: tensor<2x9x2x16xf32>, %v: tensor<2x9x2x16xf32>) -> tensor<2x8x64xf32> {
  %a = dl.transpose %q {dim0 = 1 : i64, dim1 = 2 : i64} : (tensor<2x8x4x16xf32>) -> tensor<2x4x8x16xf32>
  %b = dl.transpose %k {dim0 = 1 : i64, dim1 = 2 : i64} : (tensor<2x9x2x16xf32>) -> tensor<2x2x9x16xf32>
  %c = dl.transpose %v {dim0 = 1 : i64, dim1 = 2 : i64} : (tensor<2x9x2x16xf32>) -> tensor<2x2x9x16xf32>
  %y = dl.scaled_dot_product_attention %a, %b, %c {enable_gqa = true} :
      (tensor<2x4x8x16xf32>, tensor<2x2x9x16xf32>, tensor<2x2x9x16xf32>) -> tensor<2x4x8x16xf32>
  %t = dl.transpose %y {dim0 = 1 : i64, dim1 = 2 : i64} : (tensor<2x4x8x16xf32>) -> tensor<2x8x4x16xf32>
  %z = dl.reshape %t {shape = affine_map<() -> (2, 8, 64)>} : (tensor<2x8x4x16xf32>) -> tensor<2x8x64xf32>
  return %z : tensor<2x8x64xf32>
}

// Updates are made line by line, with an index that is not repeated where it was; the few of them are looked for.
// CHECK-LABEL: func.func @rows_added
// CHECK-SAME: (%[[X:.*]]: tensor<8x3xf16>, %[[I:.*]]: tensor<9x1xi64>, %[[S:.*]]: tensor<9x3xf16>)
// CHECK-DAG: %[[WIDE:.*]] = dl.cast %[[X]] {{.*}} -> tensor<8x3xf32>
// CHECK-DAG: %[[SRC:.*]] = dl.cast %[[S]] {{.*}} -> tensor<9x3xf32>
// CHECK: %[[Y:.*]] = dl.scatter_apply %[[WIDE]], %[[I]], %[[SRC]] {dim = 0 : i64, reduce = "sum"}
// CHECK: dl.cast %[[Y]] {{.*}} -> tensor<8x3xf16>
func.func @rows_added(%x: tensor<8x3xf16>, %i: tensor<9x1xi64>, %s: tensor<9x3xf16>) -> tensor<8x3xf16> {
  %index = dl.broadcast %i : (tensor<9x1xi64>) -> tensor<9x3xi64>
  %y = dl.scatter_add %x, %index, %s {dim = 0 : i64} : (tensor<8x3xf16>, tensor<9x3xi64>, tensor<9x3xf16>) -> tensor<8x3xf16>
  return %y : tensor<8x3xf16>
}

// CHECK-LABEL: func.func @few_rows
// CHECK-NOT: dl.scatter_apply
// CHECK: dl.scatter_seek
func.func @few_rows(%x: tensor<8x3xf32>, %i: tensor<4x3xi64>, %s: tensor<4x3xf32>) -> tensor<8x3xf32> {
  %y = dl.scatter_add %x, %i, %s {dim = 0 : i64} : (tensor<8x3xf32>, tensor<4x3xi64>, tensor<4x3xf32>) -> tensor<8x3xf32>
  return %y : tensor<8x3xf32>
}

// Places for which index has no element are given the position -1; what src has too much goes.
// CHECK-LABEL: func.func @part
// CHECK: dl.slice %{{.*}} -> tensor<9x2xf32>
// CHECK: dl.pad {{.*}} -> tensor<9x3xi64>
// CHECK: %[[I:.*]] = dl.sub
// CHECK: dl.scatter_apply %{{.*}}, %[[I]], %{{.*}} {dim = 0 : i64} : (tensor<8x3xf32>, tensor<9x3xi64>, tensor<9x3xf32>)
func.func @part(%x: tensor<8x3xf32>, %i: tensor<9x2xi64>, %s: tensor<9x4xf32>) -> tensor<8x3xf32> {
  %y = dl.scatter %x, %i, %s {dim = 0 : i64} : (tensor<8x3xf32>, tensor<9x2xi64>, tensor<9x4xf32>) -> tensor<8x3xf32>
  return %y : tensor<8x3xf32>
}

// For any number of rows.
// CHECK-LABEL: func.func @max_of_any_rows
// CHECK: dl.amax {{.*}} -> tensor<?xf32, #dl.t<[s0]>>
// CHECK-NEXT: dl.argmax {{.*}} -> tensor<?xi64, #dl.t<[s0]>>
func.func @max_of_any_rows(%x: tensor<?x8xf32, #dl.t<[s0, 8]>>) -> (tensor<?xf32, #dl.t<[s0]>>, tensor<?xi64, #dl.t<[s0]>>) {
  %e = dl.exp %x : (tensor<?x8xf32, #dl.t<[s0, 8]>>) -> tensor<?x8xf32, #dl.t<[s0, 8]>>
  %values, %indices = dl.max_dim %e {dim = 1 : i64, dlc.note = "kept"} : (tensor<?x8xf32, #dl.t<[s0, 8]>>) -> (tensor<?xf32, #dl.t<[s0]>>, tensor<?xi64, #dl.t<[s0]>>)
  return %values, %indices : tensor<?xf32, #dl.t<[s0]>>, tensor<?xi64, #dl.t<[s0]>>
}

// What has no elements is a constant; operands stay, and so do sums over nothing.
// CHECK-LABEL: func.func @no_elements
// CHECK-NEXT: dl.full 0.000000e+00 : f32 -> tensor<5x0xf32>
// CHECK-NEXT: dl.full 0.000000e+00 : f32 -> tensor<1x0x4x4xf32>
// CHECK-NEXT: dl.full 0 : i64 -> tensor<0x3xi64>
// CHECK-NEXT: dl.full 0.000000e+00 : f32 -> tensor<3x0xf32>
// CHECK-NEXT: %[[S:.*]] = dl.sum
// CHECK-NEXT: return {{.*}}, %[[S]]
func.func @no_elements(%x: tensor<3x0xf32>, %z: tensor<1x0x2x2xf32>, %i: tensor<0xi64>) -> (tensor<5x0xf32>, tensor<1x0x4x4xf32>, tensor<0x3xi64>, tensor<3x0xf32>, tensor<3xf32>) {
  %p = dl.pad %x {pad = affine_map<() -> (0, 0, 1, 1)>} : (tensor<3x0xf32>) -> tensor<5x0xf32>
  %s = dl.interpolate %z {size = affine_map<() -> (4, 4)>} : (tensor<1x0x2x2xf32>) -> tensor<1x0x4x4xf32>
  %h = dl.one_hot %i {num_classes = 3 : i64} : (tensor<0xi64>) -> tensor<0x3xi64>
  %c = dl.cumprod %x {dim = 0 : i64} : (tensor<3x0xf32>) -> tensor<3x0xf32>
  %r = dl.sum %x {dim = array<i64: 1>} : (tensor<3x0xf32>) -> tensor<3xf32>
  return %p, %s, %h, %c, %r : tensor<5x0xf32>, tensor<1x0x4x4xf32>, tensor<0x3xi64>, tensor<3x0xf32>, tensor<3xf32>
}
