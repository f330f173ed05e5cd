// RUN: dlc-opt %s | dlc-opt | FileCheck %s
// RUN: dlc-opt %s -mlir-print-op-generic | dlc-opt | FileCheck %s

// Symbolic dims follow through the ops as expressions over the module's symbols; a static row-major tensor has no encoding.

// CHECK: module attributes {dl.symbols = [#dl.symbol<"N", 1, 1024>, #dl.symbol<"T", 1, 64>]}
module attributes {dl.symbols = [#dl.symbol<"N", 1, 1024>, #dl.symbol<"T", 1, 64>]} {
  // CHECK-LABEL: func.func @conv
  // CHECK: dl.conv2d {{.*}} -> tensor<?x4x?x3xf32, #dl.t<[s0, 4, s1 - 1, 3]>>
  func.func @conv(%x: tensor<?x3x?x8xf32, #dl.t<[s0, 3, s1 * 2, 8]>>, %w: tensor<4x3x3x3xf32>)
      -> tensor<?x4x?x3xf32, #dl.t<[s0, 4, s1 - 1, 3]>> {
    %y = dl.conv2d %x, %w {stride = array<i64: 2, 2>}
      : (tensor<?x3x?x8xf32, #dl.t<[s0, 3, s1 * 2, 8]>>, tensor<4x3x3x3xf32>) -> tensor<?x4x?x3xf32, #dl.t<[s0, 4, s1 - 1, 3]>>
    return %y : tensor<?x4x?x3xf32, #dl.t<[s0, 4, s1 - 1, 3]>>
  }

  // CHECK-LABEL: func.func @flatten
  // CHECK: dl.flatten {{.*}} -> tensor<?x?xf32, #dl.t<[s0, s1 * 6]>>
  func.func @flatten(%x: tensor<?x2x?x3xf32, #dl.t<[s0, 2, s1, 3]>>) -> tensor<?x?xf32, #dl.t<[s0, s1 * 6]>> {
    %y = dl.flatten %x {start_dim = 1 : i64} : (tensor<?x2x?x3xf32, #dl.t<[s0, 2, s1, 3]>>) -> tensor<?x?xf32, #dl.t<[s0, s1 * 6]>>
    return %y : tensor<?x?xf32, #dl.t<[s0, s1 * 6]>>
  }

  // Layouts: channels last, and panels of 16 rows.
  // CHECK-LABEL: func.func private @layouts
  // CHECK-SAME: tensor<?x3x4x4xf32, #dl.t<[s0, 3, 4, 4], order = [0, 2, 3, 1]>>
  // CHECK-SAME: tensor<100x784xf32, #dl.t<[100, 784], order = [0, 1], tile = 16 of 0>>
  func.func private @layouts(tensor<?x3x4x4xf32, #dl.t<[s0, 3, 4, 4], order = [0, 2, 3, 1]>>,
                             tensor<100x784xf32, #dl.t<[100, 784], order = [0, 1], tile = 16 of 0>>)
}
