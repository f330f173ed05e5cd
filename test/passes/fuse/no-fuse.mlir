// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions)))' | FileCheck %s

// @no_fuse: an op of its own kernel, between those that would have taken it in. What it repeats costs nothing and joins it.
// CHECK-LABEL: @kept_out
// CHECK: %[[A:.*]] = dl.fusion
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dl.neg
// CHECK-NEXT: dl.yield
// CHECK: %[[B:.*]] = dl.fusion(%[[A]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dl.full
// CHECK-NEXT: dl.mul {{.*}}dl.no_fuse
// CHECK-NEXT: dl.yield
// CHECK: %[[C:.*]] = dl.fusion(%[[B]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dl.relu
// CHECK-NEXT: dl.sqrt
// CHECK-NEXT: dl.yield
// CHECK: return %[[C]]
func.func @kept_out(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %half = dl.full 0.5 : f32 -> tensor<4x8xf32>
  %0 = dl.neg %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dl.mul %0, %half {dl.no_fuse} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = dl.relu %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = dl.sqrt %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}
