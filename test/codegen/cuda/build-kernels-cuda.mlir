// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' --split-input-file --verify-diagnostics | FileCheck %s
// What the pass records for the launch, and where it does nothing.

// CHECK: #[[DIMS:.*]] = affine_map<()[s0] -> (s0)>
// CHECK: #[[GRID:.*]] = affine_map<()[s0] -> ((s0 * 15) ceildiv 512, 1, 1)>
// CHECK: #[[ZERO:.*]] = affine_map<() -> (0)>
module attributes {dl.symbols = [#dl.symbol<"N", 0, 64>]} {
// Another target's kernels stay.
// CHECK-LABEL: module @cpu
module @cpu {
  // CHECK: dlx.kernel @relu attributes {kind = #dlx.kind<map>}
  dlx.kernel @relu attributes {kind = #dlx.kind<map>} {
  ^bb0(%x: tensor<8xf32>):
    %0 = dl.relu %x : (tensor<8xf32>) -> tensor<8xf32>
    dl.yield %0 : tensor<8xf32>
  }
}
// CHECK-LABEL: module @cuda
module @cuda {
  // CHECK: dlx.kernel @relu attributes {block = array<i64: 256, 1, 1>, dims = #[[DIMS]], entry = "dlc_relu", grid = #[[GRID]], kind = #dlx.kind<map>, plan = #dlx.plan<schedule = "map", ns = {{[0-9]+}}>, scratch = #[[ZERO]]}
  dlx.kernel @relu attributes {kind = #dlx.kind<map>} {
  ^bb0(%x: tensor<?x30xf32, #dl.t<[s0, 30]>>):
    %0 = dl.relu %x : (tensor<?x30xf32, #dl.t<[s0, 30]>>) -> tensor<?x30xf32, #dl.t<[s0, 30]>>
    dl.yield %0 : tensor<?x30xf32, #dl.t<[s0, 30]>>
  }
  // A kernel that has code keeps it.
  // CHECK: dlx.kernel @done attributes {{.*}}entry = "other"
  dlx.kernel @done attributes {kind = #dlx.kind<map>, entry = "other", dims = affine_map<() -> ()>, grid = affine_map<() -> (1, 1, 1)>} {
  ^bb0(%x: tensor<8xf32>):
    %0 = dl.relu %x : (tensor<8xf32>) -> tensor<8xf32>
    dl.yield %0 : tensor<8xf32>
  }
  // CHECK: gpu.module @kernels
  // CHECK: gpu.func @dlc_relu(
  // CHECK-SAME: %{{.*}}: memref<?xf32> {dlc.role = "x", llvm.noalias}, %{{.*}}: memref<?xf32> {dlc.role = "y", llvm.noalias}, %{{.*}}: i64 {dlc.role = "s0_arg"})
  // CHECK-SAME: kernel attributes {dlc.comment = ["map: relu ({{.*}}30]) -> {{.*}}", "from {{.*}}"], dlc.index_bits = 32 : i32, known_block_size = array<i32: 256, 1, 1>}
  // CHECK-NOT: gpu.func @dlc_done
}
}

// -----

module @cuda {
  // expected-error @below {{is of kind 'attention' and has 0 dl.attention in its body; expected one}}
  dlx.kernel @k attributes {kind = #dlx.kind<attention>} {
  ^bb0(%x: tensor<8xf32>):
    %0 = dl.softmax %x {dim = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
    dl.yield %0 : tensor<8xf32>
  }
}

// -----

module @cuda {
  // expected-error @below {{in tiles; cuda kernels write plain layouts and read any}}
  dlx.kernel @k attributes {kind = #dlx.kind<map>} {
  ^bb0(%x: tensor<20x8xf32>):
    %0 = dl.convert_layout %x : (tensor<20x8xf32>) -> tensor<20x8xf32, #dl.t<[20, 8], order = [0, 1], tile = 16 of 0>>
    dl.yield %0 : tensor<20x8xf32, #dl.t<[20, 8], order = [0, 1], tile = 16 of 0>>
  }
}
