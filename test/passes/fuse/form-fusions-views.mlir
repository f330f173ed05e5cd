// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions)))' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions),outline-kernels))' -split-input-file | FileCheck %s --check-prefix=PROGRAM

// A permutation that leaves the bytes where they are is no kernel: its reader sees what the convolution has written under other
// dims. So does one that only dims of size 1 make another.
// CHECK-LABEL: func.func @channels_last(
// CHECK: %[[CONV:.*]] = dl.fusion(
// CHECK: dl.conv2d
// CHECK: %[[ROWS:.*]] = dl.permute %[[CONV]] {dims = array<i64: 0, 2, 3, 1>} : {{.*}} -> tensor<?x4x4x16xf32
// CHECK: dl.fusion(%[[ROWS]]) {edges = [#dl.edge<input = 0, reader = "softmax", producer = "conv2d", why = reshaped>]}
// CHECK-NOT: dl.permute
// PROGRAM-LABEL: dlx.program @channels_last
// PROGRAM: dlx.view {{.*}} : <tensor<?x16x4x4xf32, #dl.t<[s0, 16, 4, 4], order = [0, 2, 3, 1]>>> -> <tensor<?x4x4x16xf32, #dl.t<[s0, 4, 4, 16]>>>
func.func @channels_last(%x: tensor<?x3x4x4xf32, #dl.t<[s0, 3, 4, 4]>>, %w: tensor<16x3x1x1xf32>) -> tensor<?x4x4x16xf32, #dl.t<[s0, 4, 4, 16]>> {
  %0 = dl.conv2d %x, %w : (tensor<?x3x4x4xf32, #dl.t<[s0, 3, 4, 4]>>, tensor<16x3x1x1xf32>) -> tensor<?x16x4x4xf32, #dl.t<[s0, 16, 4, 4], order = [0, 2, 3, 1]>>
  %1 = dl.permute %0 {dims = array<i64: 0, 2, 3, 1>} : (tensor<?x16x4x4xf32, #dl.t<[s0, 16, 4, 4], order = [0, 2, 3, 1]>>) -> tensor<?x4x4x16xf32, #dl.t<[s0, 4, 4, 16]>>
  %2 = dl.softmax %1 {dim = 3 : i64} : (tensor<?x4x4x16xf32, #dl.t<[s0, 4, 4, 16]>>) -> tensor<?x4x4x16xf32, #dl.t<[s0, 4, 4, 16]>>
  return %2 : tensor<?x4x4x16xf32, #dl.t<[s0, 4, 4, 16]>>
}

// -----

// One that moves bytes is a kernel, and one whose operand its kernel computes is part of that.
// CHECK-LABEL: func.func @moves(
// CHECK: dl.fusion(
// CHECK: dl.permute
// CHECK: dl.fusion(
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dl.relu
// CHECK-NEXT: dl.permute
// CHECK-NOT: dl.permute
// PROGRAM-LABEL: dlx.program @moves
// PROGRAM-NOT: dlx.view
// PROGRAM: dlx.return
func.func @moves(%x: tensor<4x8xf32>, %z: tensor<4x1x8xf32>) -> (tensor<8x4xf32>, tensor<1x4x8xf32>) {
  %0 = dl.permute %x {dims = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = dl.relu %z : (tensor<4x1x8xf32>) -> tensor<4x1x8xf32>
  %2 = dl.permute %1 {dims = array<i64: 1, 0, 2>} : (tensor<4x1x8xf32>) -> tensor<1x4x8xf32>
  return %0, %2 : tensor<8x4xf32>, tensor<1x4x8xf32>
}

// -----

// What reads the old value of a state through such a view runs before the update.
// CHECK-LABEL: func.func @state(
// CHECK-SAME: %[[S:[^:]*]]: tensor<1x2x8xf32> {dl.state}
// CHECK: %[[SEEN:.*]] = dl.permute %[[S]]
// CHECK: dl.fusion(%[[SEEN]])
// CHECK: dl.softmax
// CHECK: dl.fusion(%[[S]], {{.*}}) {in_place}
// CHECK-NOT: dl.fusion
func.func @state(%x: tensor<1x2x3xf32>, %at: tensor<i64>, %s: tensor<1x2x8xf32> {dl.state}) -> (tensor<2x1x8xf32>, tensor<1x2x8xf32> {dl.state}) {
  %n = dl.update_slice %s, %at, %x {dim = 2 : i64} : (tensor<1x2x8xf32>, tensor<i64>, tensor<1x2x3xf32>) -> tensor<1x2x8xf32>
  %p = dl.permute %s {dims = array<i64: 1, 0, 2>} : (tensor<1x2x8xf32>) -> tensor<2x1x8xf32>
  %y = dl.softmax %p {dim = 2 : i64} : (tensor<2x1x8xf32>) -> tensor<2x1x8xf32>
  return %y, %n : tensor<2x1x8xf32>, tensor<1x2x8xf32>
}
