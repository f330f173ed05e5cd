// Tables of which look-ups take rows, in quantize-products: i8, and a scale for each row.
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-products))' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-products{scheme=dynamic}))' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-products{per-tensor}))' -split-input-file | FileCheck %s --check-prefix=TENSOR
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-products{keep-f32=embedding}))' -split-input-file | FileCheck %s --check-prefix=KEPT
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-products{scheme=fp8}))' -split-input-file | FileCheck %s --check-prefix=KEPT
// RUN: dlc-opt %s -pass-pipeline='builtin.module(dlc-simplify,func.func(quantize-products),cse,split-targets{targets=cpu},dlc-fuse)' -split-input-file | FileCheck %s --check-prefix=FUSED

// Look-ups take rows of the bytes and of the scales; no table of f32 is left for them.
// CHECK-LABEL: @table
// CHECK: %[[W:.*]] = dl.weight "w"
// CHECK: %[[MOST:.*]] = dl.amax %{{.*}} {dim = array<i64: 1>, keepdim = true} : (tensor<16x32xf32>) -> tensor<16x1xf32>
// CHECK: %[[SCALE:.*]] = dl.div %[[MOST]],
// CHECK: %[[BYTES:.*]] = dl.cast %{{.*}} {dtype = i8} : (tensor<16x32xf32>) -> tensor<16x32xi8>
// CHECK: %[[ROWS:.*]] = dl.embedding %arg0, %[[BYTES]] : (tensor<3xi64>, tensor<16x32xi8>) -> tensor<3x32xi8>
// CHECK: %[[WIDE:.*]] = dl.cast %[[ROWS]] {dtype = f32}
// CHECK: %[[SCALES:.*]] = dl.embedding %arg0, %[[SCALE]] : (tensor<3xi64>, tensor<16x1xf32>) -> tensor<3x1xf32>
// CHECK: %[[Y:.*]] = dl.mul %[[WIDE]],
// CHECK: return %[[Y]]
// One scale for all is there in each row, so that a place outside of the table gives NaN.
// TENSOR-LABEL: @table
// TENSOR: %[[SCALES:.*]] = dl.broadcast %{{.*}} : (tensor<1x1xf32>) -> tensor<16x1xf32>
// TENSOR: dl.embedding %arg0, %[[SCALES]]
// KEPT-LABEL: @table
// KEPT-NOT: i8
// KEPT: return
// The bytes are made once at load, and the kernel of the look-up computes the numbers.
// FUSED-LABEL: @table
// FUSED: dl.fusion{{.*}} -> tensor<16x1xf32>
// FUSED: dl.fusion{{.*}} -> tensor<16x32xi8>
// FUSED: dl.fusion{{.*}} -> tensor<3x32xf32>
// FUSED-DAG: dl.embedding %{{.*}} -> tensor<3x32xi8>
// FUSED-DAG: dl.embedding %{{.*}} -> tensor<3x1xf32>
// FUSED-NOT: dl.fusion
// FUSED: return
func.func @table(%x: tensor<3xi64>) -> tensor<3x32xf32> {
  %w = dl.weight "w" : tensor<16x32xf32>
  %0 = dl.embedding %x, %w : (tensor<3xi64>, tensor<16x32xf32>) -> tensor<3x32xf32>
  return %0 : tensor<3x32xf32>
}

// -----

// A product of the table, or of its transpose, shares the bytes.
// CHECK-LABEL: @tied
// CHECK-COUNT-1: {dtype = i8} : (tensor<16x32xf32>) -> tensor<16x32xi8>
// CHECK-NOT: {dtype = i8} : (tensor<16x32xf32>)
// CHECK: return
// KEPT-LABEL: @tied
func.func @tied(%x: tensor<3xi64>) -> (tensor<3x16xf32>, tensor<3x16xf32>) {
  %w = dl.weight "w" : tensor<16x32xf32>
  %0 = dl.embedding %x, %w : (tensor<3xi64>, tensor<16x32xf32>) -> tensor<3x32xf32>
  %1 = dl.linear %0, %w {dl.activation_range = array<f64: -1.0, 1.0>} : (tensor<3x32xf32>, tensor<16x32xf32>) -> tensor<3x16xf32>
  %t = dl.permute %w {dims = array<i64: 1, 0>} : (tensor<16x32xf32>) -> tensor<32x16xf32>
  %2 = dl.matmul %0, %t {dl.activation_range = array<f64: -1.0, 1.0>} : (tensor<3x32xf32>, tensor<32x16xf32>) -> tensor<3x16xf32>
  return %1, %2 : tensor<3x16xf32>, tensor<3x16xf32>
}

// -----

// These stay: a table that is computed, one that is also added, one that a product of f32 reads,
// one that the cost model keeps, columns of a table.
// CHECK-LABEL: @kept
// CHECK-NOT: i8
// CHECK-NOT: kept_by_cost
// CHECK: return
func.func @kept(%x: tensor<3xi64>, %h: tensor<16x32xf32>) -> (tensor<3x32xf32>, tensor<3x32xf32>, tensor<16x32xf32>, tensor<3x32xf32>, tensor<16x16xf32>, tensor<3x32xf32>, tensor<16x3xf32>) {
  %a = dl.weight "a" : tensor<16x32xf32>
  %twice = dl.add %a, %a : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  %0 = dl.embedding %x, %twice : (tensor<3xi64>, tensor<16x32xf32>) -> tensor<3x32xf32>
  %b = dl.weight "b" : tensor<16x32xf32>
  %1 = dl.embedding %x, %b : (tensor<3xi64>, tensor<16x32xf32>) -> tensor<3x32xf32>
  %2 = dl.add %h, %b : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  %c = dl.weight "c" : tensor<16x32xf32>
  %3 = dl.embedding %x, %c : (tensor<3xi64>, tensor<16x32xf32>) -> tensor<3x32xf32>
  %4 = dl.linear %h, %c {dl.kept_by_cost = "int8 0.5x on cpu"} : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x16xf32>
  %d = dl.weight "d" : tensor<16x32xf32>
  %5 = dl.embedding %x, %d {dl.kept_by_cost = "int8 0.5x on cpu"} : (tensor<3xi64>, tensor<16x32xf32>) -> tensor<3x32xf32>
  %e = dl.weight "e" : tensor<16x32xf32>
  %6 = dl.index_select %e, %x {dim = 1 : i64} : (tensor<16x32xf32>, tensor<3xi64>) -> tensor<16x3xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<3x32xf32>, tensor<3x32xf32>, tensor<16x32xf32>, tensor<3x32xf32>, tensor<16x16xf32>, tensor<3x32xf32>, tensor<16x3xf32>
}
