// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions{separate})))' | FileCheck %s

// To compare with: ops that would share a kernel have one each, numbers too.
// CHECK-LABEL: @epilogue
// CHECK: dl.fusion
// CHECK-NEXT: dl.full
// CHECK-NEXT: dl.yield
// CHECK: dl.fusion
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dl.mul
// CHECK-NEXT: dl.yield
// CHECK: dl.fusion({{.*}}) {edges = [#dl.edge<input = 0, reader = "relu", producer = "mul", why = separate>]}
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dl.relu
// CHECK-NEXT: dl.yield
func.func @epilogue(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = dl.full 2.0 : f32 -> tensor<8xf32>
  %1 = dl.mul %x, %0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = dl.relu %1 : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
