// RUN: dlc-opt %s -split-targets -split-input-file | FileCheck %s
// RUN: dlc-opt %s -split-targets=targets=cuda -split-input-file | FileCheck %s --check-prefix=ONE
// RUN: not dlc-opt %s -split-targets=targets=tpu 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not dlc-opt %s -split-targets=targets=cpu,cpu 2>&1 | FileCheck %s --check-prefix=TWICE

// RUN: dlc-opt %s -split-targets=gpu=86 -split-input-file | FileCheck %s --check-prefix=GPU
// The choices for cuda are for the GPU that is named.
// GPU: module @cpu attributes {dl.symbols
// GPU: module @cuda attributes {dl.gpu = 86 : i64
// UNKNOWN: error: unknown target 'tpu'; expected cpu or cuda
// TWICE: error: target 'cpu' is named twice

// Each target has the model, and its symbols.
// CHECK: module attributes {dl.symbols = [#dl.symbol<"N", 1, 8>]} {
// CHECK-NEXT: module @cpu attributes {dl.symbols = [#dl.symbol<"N", 1, 8>]} {
// CHECK-NEXT: func.func @Net
// CHECK-NEXT: dl.relu
// CHECK: module @cuda attributes {dl.symbols = [#dl.symbol<"N", 1, 8>]} {
// CHECK-NEXT: func.func @Net
// CHECK-NEXT: dl.relu
// One that is not asked for has none.
// ONE-NOT: @cpu
// ONE: module @cuda
// ONE-NOT: @cpu
module attributes {dl.symbols = [#dl.symbol<"N", 1, 8>]} {
  func.func @Net(%x: tensor<?x4xf32, #dl.t<[s0, 4]>>) -> tensor<?x4xf32, #dl.t<[s0, 4]>> {
    %0 = dl.relu %x : (tensor<?x4xf32, #dl.t<[s0, 4]>>) -> tensor<?x4xf32, #dl.t<[s0, 4]>>
    return %0 : tensor<?x4xf32, #dl.t<[s0, 4]>>
  }
}

// -----

// A product that would be slower on one target stays as it is there alone: neither has it a range, nor are means corrected, in a bias
// or after it. The correction of what it reads is another product's.
// CHECK-LABEL: func.func @Kept
// CHECK: %[[W:.*]] = dl.weight "w"
// CHECK-NEXT: %[[B:.*]] = dl.weight "b"
// CHECK-NEXT: %[[LOST:.*]] = dl.weight "lost"
// CHECK-NEXT: %[[READ:.*]] = dl.add %{{.*}}, %[[LOST]] {dl.correction}
// CHECK-NEXT: %[[Y:.*]] = dl.linear %[[READ]], %[[W]], %[[B]] {dl.kept_by_cost = "int8 0.82x on cpu (convert 36 us)"}
// CHECK-NEXT: %[[Z:.*]] = dl.matmul %[[Y]], %[[W]] {dl.kept_by_cost = "int8 0.90x on cpu (convert 1 us)"}
// CHECK-NEXT: return %[[Z]]
// CHECK-LABEL: module @cuda
// CHECK: dl.add
// CHECK-NEXT: %[[SUM:.*]] = dl.add %{{.*}}, %{{.*}} {dl.correction}
// CHECK-NEXT: dl.linear %{{.*}}, %{{.*}}, %[[SUM]] {dl.activation_range
// CHECK-NEXT: dl.matmul {{.*}} {dl.activation_range
// CHECK-NEXT: %[[CORRECTED:.*]] = dl.add %{{.*}}, %{{.*}} {dl.correction}
// CHECK-NEXT: return %[[CORRECTED]]
// ONE-LABEL: func.func @Kept
// ONE-NOT: kept_on
func.func @Kept(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %w = dl.weight "w" : tensor<8x8xf32>
  %b = dl.weight "b" : tensor<8xf32>
  %c = dl.weight "c" : tensor<8xf32>
  %lost = dl.weight "lost" : tensor<8x8xf32>
  %read = dl.add %x, %lost {dl.correction} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %sum = dl.add %b, %c {dl.correction} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %y = dl.linear %read, %w, %sum {dl.activation_range = array<f64: 0.0, 1.0>, dl.kept_on = {cpu = "int8 0.82x on cpu (convert 36 us)"}} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  %z = dl.matmul %y, %w {dl.activation_range = array<f64: 0.0, 1.0>, dl.kept_on = {cpu = "int8 0.90x on cpu (convert 1 us)"}} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %corrected = dl.add %z, %lost {dl.correction} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %corrected : tensor<8x8xf32>
}
