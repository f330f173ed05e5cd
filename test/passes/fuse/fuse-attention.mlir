// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(form-fusions),outline-kernels{targets=cuda},builtin.module(fuse-attention))' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(form-fusions),outline-kernels{targets=cpu},builtin.module(fuse-attention))' -split-input-file | FileCheck %s --check-prefix=CPU

// Two layers are launches of one kernel, in whatever order their ops stand; the mask is made in it, and what only the scores
// were for is gone.
// CPU-NOT: "attention"
// CHECK-LABEL: module @cuda
// CHECK-NEXT: dlx.program @Layers
// CHECK-NEXT: ^bb0(%[[Q:.*]]: {{.*}}, %[[K:.*]]: {{.*}}, %[[V:.*]]: !dlx.buffer<tensor<2x9x4xf32>>):
// CHECK-NEXT: %[[A:.*]] = dlx.alloc : <tensor<2x8x4xf32>>
// CHECK-NEXT: dlx.launch @attention(%[[Q]], %[[K]], %[[V]]) -> (%[[A]])
// CHECK-NEXT: %[[B:.*]] = dlx.alloc : <tensor<2x8x4xf32>>
// CHECK-NEXT: dlx.launch @attention(%[[A]], %[[K]], %[[V]]) -> (%[[B]])
// CHECK-NEXT: dlx.return %[[B]]
// CHECK: dlx.kernel @attention attributes {kind = #dlx.kind<attention>} {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<2x8x4xf32>, %{{.*}}: tensor<2x9x4xf32>, %{{.*}}: tensor<2x9x4xf32>):
// CHECK-NEXT: %[[S:.*]] = dl.contract
// CHECK-NEXT: %[[C:.*]] = dl.causal_mask
// CHECK-NEXT: %[[M:.*]] = dl.broadcast %[[C]]
// CHECK-NEXT: %[[D:.*]] = dl.add %[[S]], %[[M]]
// CHECK-NEXT: %[[W:.*]] = dl.softmax %[[D]]
// CHECK-NEXT: dl.matmul %[[W]]
// CHECK-NOT: dlx.kernel
module {
  func.func @Layers(%q: tensor<2x8x4xf32>, %k: tensor<2x9x4xf32>, %v: tensor<2x9x4xf32>) -> tensor<2x8x4xf32> {
    %c = dl.causal_mask : () -> tensor<8x9xf32>
    %s = dl.contract %q, %k {other_loops = array<i64: 0, 2, 3>, rank = 3 : i64, x_loops = array<i64: 0, 1, 3>} : (tensor<2x8x4xf32>, tensor<2x9x4xf32>) -> tensor<2x8x9xf32>
    %m = dl.broadcast %c : (tensor<8x9xf32>) -> tensor<2x8x9xf32>
    %d = dl.add %s, %m : (tensor<2x8x9xf32>, tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
    %w = dl.softmax %d {dim = -1 : i64} : (tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
    %y = dl.matmul %w, %v : (tensor<2x8x9xf32>, tensor<2x9x4xf32>) -> tensor<2x8x4xf32>
    %m2 = dl.broadcast %c : (tensor<8x9xf32>) -> tensor<2x8x9xf32>
    %s2 = dl.contract %y, %k {other_loops = array<i64: 0, 2, 3>, rank = 3 : i64, x_loops = array<i64: 0, 1, 3>} : (tensor<2x8x4xf32>, tensor<2x9x4xf32>) -> tensor<2x8x9xf32>
    %d2 = dl.add %s2, %m2 : (tensor<2x8x9xf32>, tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
    %w2 = dl.softmax %d2 {dim = -1 : i64} : (tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
    %y2 = dl.matmul %w2, %v : (tensor<2x8x9xf32>, tensor<2x9x4xf32>) -> tensor<2x8x4xf32>
    return %y2 : tensor<2x8x4xf32>
  }
}

// -----

// The weights are an output as well: they are stored, and so are the scores.
// CHECK-LABEL: dlx.program @Weights
// CHECK-COUNT-3: dlx.launch
// CHECK-NOT: "attention"
module {
  func.func @Weights(%q: tensor<8x4xf32>, %k: tensor<4x9xf32>, %v: tensor<9x4xf32>) -> (tensor<8x4xf32>, tensor<8x9xf32>) {
    %s = dl.matmul %q, %k : (tensor<8x4xf32>, tensor<4x9xf32>) -> tensor<8x9xf32>
    %w = dl.softmax %s {dim = -1 : i64} : (tensor<8x9xf32>) -> tensor<8x9xf32>
    %y = dl.matmul %w, %v : (tensor<8x9xf32>, tensor<9x4xf32>) -> tensor<8x4xf32>
    return %y, %w : tensor<8x4xf32>, tensor<8x9xf32>
  }
}

// -----

// A softmax along the queries.
// CHECK-LABEL: dlx.program @Along
// CHECK-COUNT-3: dlx.launch
// CHECK-NOT: "attention"
module {
  func.func @Along(%q: tensor<8x4xf32>, %k: tensor<4x9xf32>, %v: tensor<9x4xf32>) -> tensor<8x4xf32> {
    %s = dl.matmul %q, %k : (tensor<8x4xf32>, tensor<4x9xf32>) -> tensor<8x9xf32>
    %w = dl.softmax %s {dim = 0 : i64} : (tensor<8x9xf32>) -> tensor<8x9xf32>
    %y = dl.matmul %w, %v : (tensor<8x9xf32>, tensor<9x4xf32>) -> tensor<8x4xf32>
    return %y : tensor<8x4xf32>
  }
}

// -----

// Doubles.
// CHECK-LABEL: dlx.program @Doubles
// CHECK-COUNT-3: dlx.launch
// CHECK-NOT: "attention"
module {
  func.func @Doubles(%q: tensor<8x4xf64>, %k: tensor<4x9xf64>, %v: tensor<9x4xf64>) -> tensor<8x4xf64> {
    %s = dl.matmul %q, %k : (tensor<8x4xf64>, tensor<4x9xf64>) -> tensor<8x9xf64>
    %w = dl.softmax %s {dim = -1 : i64} : (tensor<8x9xf64>) -> tensor<8x9xf64>
    %y = dl.matmul %w, %v : (tensor<8x9xf64>, tensor<9x4xf64>) -> tensor<8x4xf64>
    return %y : tensor<8x4xf64>
  }
}

// -----

// Heads wider than a block's registers hold.
// CHECK-LABEL: dlx.program @Wide
// CHECK-COUNT-3: dlx.launch
// CHECK-NOT: "attention"
module {
  func.func @Wide(%q: tensor<8x4xf32>, %k: tensor<4x9xf32>, %v: tensor<9x257xf32>) -> tensor<8x257xf32> {
    %s = dl.matmul %q, %k : (tensor<8x4xf32>, tensor<4x9xf32>) -> tensor<8x9xf32>
    %w = dl.softmax %s {dim = -1 : i64} : (tensor<8x9xf32>) -> tensor<8x9xf32>
    %y = dl.matmul %w, %v : (tensor<8x9xf32>, tensor<9x257xf32>) -> tensor<8x257xf32>
    return %y : tensor<8x257xf32>
  }
}
