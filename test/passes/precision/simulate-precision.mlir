// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(simulate-precision))' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(simulate-precision{dtype=bf16 keep-f32=matmul}))' -split-input-file | FileCheck %s --check-prefix=BF16
// RUN: not dlc-opt %s -pass-pipeline='builtin.module(func.func(simulate-precision{dtype=f32}))' -split-input-file 2>&1 | FileCheck %s --check-prefix=DTYPE
// DTYPE: error: dtype is f16 or bf16, got 'f32'
// RUN: not dlc-opt %s -pass-pipeline='builtin.module(func.func(simulate-precision{keep-f32=[a}))' -split-input-file 2>&1 | FileCheck %s --check-prefix=GLOB
// GLOB: error: keep-f32: '[a' is no pattern:

// Two layers, and what depends on both: three conditions. Both operands of a product are rounded, its
// result where it goes to memory; relu, which a kernel takes in, is not rounded before it, and exp is in f32. So
// nothing reads the third condition, that of the sum.
// CHECK-LABEL: @chain
// CHECK-SAME: (%[[NARROW:.*]]: tensor<3xi1> {dl.name = "narrow.layers"}, %[[X:.*]]: tensor<4x8xf32> {dl.name = "x"})
// CHECK-SAME: -> (tensor<f32> {dl.name = "low.0"}, tensor<f32> {dl.name = "high.0"}, tensor<f32> {dl.name = "low.1"}, tensor<f32> {dl.name = "high.1"}, tensor<4x8xf32> {dl.name = "y"})
// CHECK: dl.slice %[[NARROW]] {end = 2 : i64, start = 1 : i64}
// CHECK: dl.slice %[[NARROW]] {end = 1 : i64, start = 0 : i64}
// CHECK-NOT: dl.slice
// CHECK: %[[XN:.*]] = dl.cast %[[X]] {dtype = f16}
// CHECK: %[[XW:.*]] = dl.cast %[[XN]] {dtype = f32}
// CHECK: %[[XC:.*]] = dl.where %{{.*}}, %[[XW]], %[[X]]
// CHECK: %[[WC:.*]] = dl.where
// CHECK: %[[A:.*]] = dl.linear %[[XC]], %[[WC]]
// CHECK-NEXT: %[[R:.*]] = dl.relu %[[A]]
// CHECK: %[[RC:.*]] = dl.where %{{.*}}, %{{.*}}, %[[R]]
// CHECK: dl.linear
// CHECK-NOT: dl.where
// CHECK: %[[S:.*]] = dl.add
// CHECK-NEXT: dl.exp %[[S]]
// BF16-LABEL: @chain
// BF16: dl.cast %{{.*}} {dtype = bf16}
func.func @chain(%x: tensor<4x8xf32> {dl.name = "x"}) -> (tensor<4x8xf32> {dl.name = "y"}) {
  %w = dl.weight "w" : tensor<8x8xf32>
  %0 = dl.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = dl.relu %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = dl.linear %1, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %3 = dl.add %1, %2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = dl.exp %3 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// The rows of a table of weights are a layer: nothing before them decides. What is kept has none, and a
// function without layers stays as it is.
// CHECK-LABEL: @table
// CHECK-SAME: tensor<2xi1>
// CHECK-SAME: "low.1"
// BF16-LABEL: @table
// BF16-SAME: (%{{.*}}: tensor<1xi1> {dl.name = "narrow.layers"}
// BF16: dl.matmul %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<8x8xf32>)
func.func @table(%i: tensor<4xi64> {dl.name = "i"}, %m: tensor<8x8xf32> {dl.name = "m"}) -> (tensor<4x8xf32> {dl.name = "y"}) {
  %t = dl.weight "t" : tensor<16x8xf32>
  %0 = dl.embedding %i, %t : (tensor<4xi64>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %1 = dl.matmul %0, %m : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: @none
// CHECK-SAME: (%{{.*}}: tensor<4xf32>) -> tensor<4xf32>
func.func @none(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// For any number of rows.
// CHECK-LABEL: @of_any_rows
// CHECK-SAME: (%[[NARROW:.*]]: tensor<1xi1> {dl.name = "narrow.layers"}, %[[X:.*]]: tensor<?x8xf32, #dl.t<[s0, 8]>> {dl.name = "x"})
// CHECK: dl.cast %[[X]] {dtype = f16} : {{.*}} -> tensor<?x8xf16, #dl.t<[s0, 8]>>
// CHECK: dl.linear
func.func @of_any_rows(%x: tensor<?x8xf32, #dl.t<[s0, 8]>> {dl.name = "x"}) -> (tensor<?x8xf32, #dl.t<[s0, 8]>> {dl.name = "y"}) {
  %w = dl.weight "w" : tensor<8x8xf32>
  %0 = dl.linear %x, %w : (tensor<?x8xf32, #dl.t<[s0, 8]>>, tensor<8x8xf32>) -> tensor<?x8xf32, #dl.t<[s0, 8]>>
  return %0 : tensor<?x8xf32, #dl.t<[s0, 8]>>
}
