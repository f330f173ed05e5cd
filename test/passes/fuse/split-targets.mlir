// RUN: dlc-opt %s -split-targets | FileCheck %s
// RUN: dlc-opt %s -split-targets=targets=cuda | FileCheck %s --check-prefix=ONE
// RUN: not dlc-opt %s -split-targets=targets=tpu 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not dlc-opt %s -split-targets=targets=cpu,cpu 2>&1 | FileCheck %s --check-prefix=TWICE

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
// CHECK-NOT: func.func
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
