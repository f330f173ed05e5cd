// RUN: dlc-opt %s -outline-kernels -split-input-file | FileCheck %s

// Two fusions that compute the same launch one kernel; what depends on weights alone runs at load.
// CHECK: module attributes {dl.symbols = [#dl.symbol<"N", 1, 8>]}
// CHECK-NEXT: dlx.program @Tiny attributes {input_names = ["x"], output_names = ["y", "output1"]}
// CHECK-NEXT: ^bb0(%[[X:.*]]: !dlx.buffer<tensor<?x4xf32, #dl.t<[s0, 4]>>>):
// CHECK-NEXT: %[[W:.*]] = dlx.weight "user's name" {file = "f", offset = 8 : i64}
// CHECK-NEXT: %[[P:.*]] = dlx.alloc {persistent}
// CHECK-NEXT: dlx.launch @neg(%[[W]]) -> (%[[P]]) {init}
// CHECK-NEXT: %[[A:.*]] = dlx.alloc : <tensor<?x4xf32
// CHECK-NEXT: dlx.launch @relu(%[[X]]) -> (%[[A]]) :
// CHECK-NEXT: %[[B:.*]] = dlx.alloc
// CHECK-NEXT: dlx.launch @relu(%[[A]]) -> (%[[B]]) :
// CHECK-NEXT: %[[V:.*]] = dlx.view %[[B]]
// CHECK-NEXT: dlx.return %[[V]], %[[P]]
// CHECK: dlx.kernel @neg attributes {kind = #dlx.kind<map>}
// CHECK-COUNT-1: dlx.kernel @relu attributes {kind = #dlx.kind<map>}
// CHECK-NOT: dlx.kernel
module attributes {dl.symbols = [#dl.symbol<"N", 1, 8>]} {
  func.func @Tiny(%x: tensor<?x4xf32, #dl.t<[s0, 4]>> {dl.name = "x"}) -> (tensor<?xf32, #dl.t<[s0 * 4]>> {dl.name = "y"}, tensor<4xf32>) {
    %w = dl.weight "user's name" {file = "f", offset = 8 : i64} : tensor<4xf32>
    %p = dl.fusion (%w) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%i: tensor<4xf32>):
      %0 = dl.neg %i : (tensor<4xf32>) -> tensor<4xf32>
      dl.yield %0 : tensor<4xf32>
    }
    %a = dl.fusion (%x) : (tensor<?x4xf32, #dl.t<[s0, 4]>>) -> tensor<?x4xf32, #dl.t<[s0, 4]>> {
    ^bb0(%i: tensor<?x4xf32, #dl.t<[s0, 4]>>):
      %0 = dl.relu %i : (tensor<?x4xf32, #dl.t<[s0, 4]>>) -> tensor<?x4xf32, #dl.t<[s0, 4]>>
      dl.yield %0 : tensor<?x4xf32, #dl.t<[s0, 4]>>
    }
    %b = dl.fusion (%a) : (tensor<?x4xf32, #dl.t<[s0, 4]>>) -> tensor<?x4xf32, #dl.t<[s0, 4]>> {
    ^bb0(%i: tensor<?x4xf32, #dl.t<[s0, 4]>>):
      %0 = dl.relu %i : (tensor<?x4xf32, #dl.t<[s0, 4]>>) -> tensor<?x4xf32, #dl.t<[s0, 4]>>
      dl.yield %0 : tensor<?x4xf32, #dl.t<[s0, 4]>>
    }
    %v = dl.reshape %b {shape = affine_map<()[s0] -> (s0 * 4)>} : (tensor<?x4xf32, #dl.t<[s0, 4]>>) -> tensor<?xf32, #dl.t<[s0 * 4]>>
    return %v, %p : tensor<?xf32, #dl.t<[s0 * 4]>>, tensor<4xf32>
  }
}

// -----

// No input is read, and yet the count of terms is known only when the shapes of the inputs are: this runs each time.
// CHECK-LABEL: dlx.program @Counted
// CHECK: %[[A:.*]] = dlx.alloc : <tensor<3xf32>>
// CHECK-NEXT: dlx.launch @{{.*}}() -> (%[[A]]) :
module attributes {dl.symbols = [#dl.symbol<"N", 1, 8>]} {
  func.func @Counted(%x: tensor<?xf32, #dl.t<[s0]>>) -> tensor<3xf32> {
    %a = dl.fusion () : () -> tensor<3xf32> {
      %0 = dl.full 2.0 : f32 -> tensor<3x?xf32, #dl.t<[3, s0]>>
      %1 = dl.sum %0 {dim = array<i64: 1>} : (tensor<3x?xf32, #dl.t<[3, s0]>>) -> tensor<3xf32>
      dl.yield %1 : tensor<3xf32>
    }
    return %a : tensor<3xf32>
  }
}

// -----

// Other dims are another kernel, under a name of its own; the kind follows the op with stages.
// CHECK: dlx.kernel @relu attributes {kind = #dlx.kind<map>}
// CHECK: dlx.kernel @relu_0 attributes {kind = #dlx.kind<map>}
// CHECK: dlx.kernel @max_pool2d attributes {kind = #dlx.kind<window>}
// CHECK: dlx.kernel @sum_relu attributes {kind = #dlx.kind<reduce>}
// CHECK: dlx.kernel @matmul attributes {kind = #dlx.kind<contraction>}
module {
  func.func @Kinds(%x: tensor<4xf32>, %y: tensor<8xf32>, %z: tensor<1x1x4x4xf32>, %a: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<8xf32>, tensor<1x1x2x2xf32>, tensor<4xf32>, tensor<4x4xf32>) {
    %0 = dl.fusion (%x) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%i: tensor<4xf32>):
      %r = dl.relu %i : (tensor<4xf32>) -> tensor<4xf32>
      dl.yield %r : tensor<4xf32>
    }
    %1 = dl.fusion (%y) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%i: tensor<8xf32>):
      %r = dl.relu %i : (tensor<8xf32>) -> tensor<8xf32>
      dl.yield %r : tensor<8xf32>
    }
    %2 = dl.fusion (%z) : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32> {
    ^bb0(%i: tensor<1x1x4x4xf32>):
      %r = dl.max_pool2d %i {kernel_size = array<i64: 2, 2>} : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32>
      dl.yield %r : tensor<1x1x2x2xf32>
    }
    %3 = dl.fusion (%a) : (tensor<4x4xf32>) -> tensor<4xf32> {
    ^bb0(%i: tensor<4x4xf32>):
      %r = dl.sum %i {dim = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4xf32>
      %s = dl.relu %r : (tensor<4xf32>) -> tensor<4xf32>
      dl.yield %s : tensor<4xf32>
    }
    %4 = dl.fusion (%a) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
    ^bb0(%i: tensor<4x4xf32>):
      %r = dl.matmul %i, %i : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      dl.yield %r : tensor<4x4xf32>
    }
    return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<8xf32>, tensor<1x1x2x2xf32>, tensor<4xf32>, tensor<4x4xf32>
  }
}
