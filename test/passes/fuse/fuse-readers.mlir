// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cuda},builtin.module(func.func(form-fusions),outline-kernels,fuse-readers))' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions),outline-kernels,fuse-readers))' -split-input-file | FileCheck %s --check-prefix=CPU

// The sum before the activation is wanted again: both are stored by the kernel of the product. The CPU keeps three launches.
// CPU-LABEL: dlx.program @Residual
// CPU-COUNT-3: dlx.launch
// CHECK-LABEL: dlx.program @Residual
// CHECK-NEXT: ^bb0(%[[X:.*]]: {{.*}}, %[[W:.*]]: {{.*}}, %[[V:.*]]: !dlx.buffer<tensor<16x16xf32>>):
// CHECK: %[[H:.*]] = dlx.alloc
// CHECK-NEXT: %[[R:.*]] = dlx.alloc
// CHECK-NEXT: dlx.launch @linear_gelu(%[[X]], %[[W]]) -> (%[[R]], %[[H]])
// CHECK-NEXT: %[[Y:.*]] = dlx.alloc
// CHECK-NEXT: dlx.launch @linear_add(%[[R]], %[[V]], %[[H]]) -> (%[[Y]])
// CHECK: dlx.kernel @linear_gelu attributes {kind = #dlx.kind<contraction>} {
// CHECK: %[[L:.*]] = dl.linear
// CHECK-NEXT: %[[G:.*]] = dl.gelu %[[L]]
// CHECK-NEXT: dl.yield %[[G]], %[[L]]
// CHECK-NOT: dlx.kernel
module {
  func.func @Residual(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %v: tensor<16x16xf32>) -> tensor<8x16xf32> {
    %h = dl.linear %x, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %r = dl.gelu %h : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %l = dl.linear %r, %v : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %y = dl.add %l, %h : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    return %y : tensor<8x16xf32>
  }
}

// -----

// Nobody else reads it: it is not stored.
// CHECK-LABEL: dlx.program @Swish
// CHECK-COUNT-1: dlx.launch @linear_sigmoid_mul(%{{.*}}, %{{.*}}) -> (%{{[0-9]+}})
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @Swish(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>) -> tensor<8x16xf32> {
    %h = dl.linear %x, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %s = dl.sigmoid %h : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %y = dl.mul %h, %s : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    return %y : tensor<8x16xf32>
  }
}

// -----

// A map and its reader, in two dtypes; both are results.
// CHECK-LABEL: dlx.program @Maps
// CHECK: dlx.launch @exp_cast(%{{.*}}) -> (%[[C:.*]], %[[E:.*]]) :
// CHECK-NOT: dlx.launch
// CHECK: dlx.return %[[E]], %[[C]]
module {
  func.func @Maps(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf16>) {
    %e = dl.exp %x : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %c = dl.cast %e {dtype = f16} : (tensor<8x16xf32>) -> tensor<8x16xf16>
    return %e, %c : tensor<8x16xf32>, tensor<8x16xf16>
  }
}

// -----

// The other reader stands before what the map waits for: there is no place for one launch of both.
// CHECK-LABEL: dlx.program @Between
// CHECK-COUNT-3: dlx.launch
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @Between(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
    %h = dl.exp %x : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %s = dl.softmax %h {dim = 0 : i64} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %y = dl.add %h, %s : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    return %y, %s : tensor<8x16xf32>, tensor<8x16xf32>
  }
}

// -----

// One reader of two products goes with the later one.
// CHECK-LABEL: dlx.program @Later
// CHECK: dlx.launch @exp(
// CHECK: dlx.launch @linear_add({{.*}}) -> (%[[Y:.*]], %[[L:.*]]) :
// CHECK: dlx.return %[[Y]], %[[L]]
module {
  func.func @Later(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
    %h = dl.exp %x : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %l = dl.linear %h, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %y = dl.add %h, %l : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    return %y, %l : tensor<8x16xf32>, tensor<8x16xf32>
  }
}

// -----

// Other places than its own.
// CHECK-LABEL: dlx.program @Turned
// CHECK-COUNT-2: dlx.launch
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @Turned(%x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
    %h = dl.exp %x : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %y = dl.permute %h {dims = array<i64: 1, 0>} : (tensor<16x16xf32>) -> tensor<16x16xf32>
    return %h, %y : tensor<16x16xf32>, tensor<16x16xf32>
  }
}

// -----

// A reduction stores one result.
// CHECK-LABEL: dlx.program @Reduced
// CHECK-COUNT-2: dlx.launch
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @Reduced(%x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
    %h = dl.softmax %x {dim = 1 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %y = dl.exp %h : (tensor<16x16xf32>) -> tensor<16x16xf32>
    return %h, %y : tensor<16x16xf32>, tensor<16x16xf32>
  }
}
