// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cuda},builtin.module(func.func(form-fusions),outline-kernels))' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions),outline-kernels))' -split-input-file | FileCheck %s --check-prefix=CPU

// Bias and activation stand between, another map behind; what no window reads falls away; equal layers are launches of one
// kernel. The CPU keeps two kernels.
// CPU-LABEL: dlx.program @Layers
// CPU-COUNT-4: dlx.launch
// CHECK-LABEL: dlx.program @Layers
// CHECK-NEXT: ^bb0(%[[X:.*]]: {{.*}}, %[[W:.*]]: {{.*}}, %[[B:.*]]: {{.*}}):
// CHECK-NEXT: %[[Y:.*]] = dlx.alloc : <tensor<2x8x4x5xf32>>
// CHECK-NEXT: dlx.launch @conv2d_relu_max_pool2d_neg(%[[X]], %[[W]], %[[B]]) -> (%[[Y]])
// CHECK-NEXT: %[[Z:.*]] = dlx.alloc : <tensor<2x8x4x5xf32>>
// CHECK-NEXT: dlx.launch @conv2d_relu_max_pool2d_neg(%[[X]], %[[W]], %[[B]]) -> (%[[Z]])
// CHECK-NEXT: dlx.return %[[Y]], %[[Z]]
// CHECK: dlx.kernel @conv2d_relu_max_pool2d_neg attributes {kind = #dlx.kind<contraction>} {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<2x8x9x11xf32>, %{{.*}}: tensor<8x8x3x3xf32>, %{{.*}}: tensor<8xf32>):
// CHECK-NEXT: %[[C:.*]] = dl.conv2d
// CHECK-NEXT: %[[R:.*]] = dl.relu %[[C]]
// CHECK-NEXT: %[[P:.*]] = dl.max_pool2d %[[R]]
// CHECK-NEXT: dl.neg %[[P]]
// CHECK-NOT: dlx.kernel
module {
  func.func @Layers(%x: tensor<2x8x9x11xf32>, %w: tensor<8x8x3x3xf32>, %b: tensor<8xf32>) -> (tensor<2x8x4x5xf32>, tensor<2x8x4x5xf32>) {
    %c = dl.conv2d %x, %w, %b {padding = array<i64: 1, 1>} : (tensor<2x8x9x11xf32>, tensor<8x8x3x3xf32>, tensor<8xf32>) -> tensor<2x8x9x11xf32>
    %r = dl.relu %c : (tensor<2x8x9x11xf32>) -> tensor<2x8x9x11xf32>
    %p = dl.max_pool2d %r {kernel_size = array<i64: 2, 2>} : (tensor<2x8x9x11xf32>) -> tensor<2x8x4x5xf32>
    %y = dl.neg %p : (tensor<2x8x4x5xf32>) -> tensor<2x8x4x5xf32>
    %c2 = dl.conv2d %x, %w, %b {padding = array<i64: 1, 1>} : (tensor<2x8x9x11xf32>, tensor<8x8x3x3xf32>, tensor<8xf32>) -> tensor<2x8x9x11xf32>
    %r2 = dl.relu %c2 : (tensor<2x8x9x11xf32>) -> tensor<2x8x9x11xf32>
    %p2 = dl.max_pool2d %r2 {kernel_size = array<i64: 2, 2>} : (tensor<2x8x9x11xf32>) -> tensor<2x8x4x5xf32>
    %y2 = dl.neg %p2 : (tensor<2x8x4x5xf32>) -> tensor<2x8x4x5xf32>
    return %y, %y2 : tensor<2x8x4x5xf32>, tensor<2x8x4x5xf32>
  }
}

// -----

// Means, at a step longer than the window.
// CHECK-LABEL: dlx.program @Means
// CHECK-COUNT-1: dlx.launch
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @Means(%x: tensor<2x8x9x11xf32>, %w: tensor<8x8x3x3xf32>) -> tensor<2x8x3x3xf32> {
    %c = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<2x8x9x11xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x9x11xf32>
    %y = dl.avg_pool2d %c {kernel_size = array<i64: 2, 3>, stride = array<i64: 3, 4>} : (tensor<2x8x9x11xf32>) -> tensor<2x8x3x3xf32>
    return %y : tensor<2x8x3x3xf32>
  }
}

// -----

// Windows that overlap: a result would be computed for each of them.
// CHECK-LABEL: dlx.program @Overlap
// CHECK-COUNT-2: dlx.launch
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @Overlap(%x: tensor<2x8x9x11xf32>, %w: tensor<8x8x3x3xf32>) -> tensor<2x8x4x5xf32> {
    %c = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<2x8x9x11xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x9x11xf32>
    %y = dl.max_pool2d %c {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>} : (tensor<2x8x9x11xf32>) -> tensor<2x8x4x5xf32>
    return %y : tensor<2x8x4x5xf32>
  }
}

// -----

// Padded windows.
// CHECK-LABEL: dlx.program @Padded
// CHECK-COUNT-2: dlx.launch
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @Padded(%x: tensor<2x8x9x11xf32>, %w: tensor<8x8x3x3xf32>) -> tensor<2x8x5x6xf32> {
    %c = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<2x8x9x11xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x9x11xf32>
    %y = dl.max_pool2d %c {kernel_size = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x8x9x11xf32>) -> tensor<2x8x5x6xf32>
    return %y : tensor<2x8x5x6xf32>
  }
}

// -----

// A last window that ends outside.
// CHECK-LABEL: dlx.program @Ceil
// CHECK-COUNT-2: dlx.launch
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @Ceil(%x: tensor<2x8x9x11xf32>, %w: tensor<8x8x3x3xf32>) -> tensor<2x8x5x6xf32> {
    %c = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<2x8x9x11xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x9x11xf32>
    %y = dl.max_pool2d %c {kernel_size = array<i64: 2, 2>, ceil_mode = true} : (tensor<2x8x9x11xf32>) -> tensor<2x8x5x6xf32>
    return %y : tensor<2x8x5x6xf32>
  }
}

// -----

// What the window reads is an output as well.
// CHECK-LABEL: dlx.program @Both
// CHECK-COUNT-2: dlx.launch
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @Both(%x: tensor<2x8x9x11xf32>, %w: tensor<8x8x3x3xf32>) -> (tensor<2x8x4x5xf32>, tensor<2x8x9x11xf32>) {
    %c = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<2x8x9x11xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x9x11xf32>
    %y = dl.max_pool2d %c {kernel_size = array<i64: 2, 2>} : (tensor<2x8x9x11xf32>) -> tensor<2x8x4x5xf32>
    return %y, %c : tensor<2x8x4x5xf32>, tensor<2x8x9x11xf32>
  }
}

// -----

// More totals in a window than a thread shall hold.
// CHECK-LABEL: dlx.program @Large
// CHECK-COUNT-2: dlx.launch
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @Large(%x: tensor<2x8x9x11xf32>, %w: tensor<8x8x3x3xf32>) -> tensor<2x8x1x2xf32> {
    %c = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<2x8x9x11xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x9x11xf32>
    %y = dl.max_pool2d %c {kernel_size = array<i64: 5, 5>} : (tensor<2x8x9x11xf32>) -> tensor<2x8x1x2xf32>
    return %y : tensor<2x8x1x2xf32>
  }
}

// -----

// Groups are many small products.
// CHECK-LABEL: dlx.program @Groups
// CHECK-COUNT-2: dlx.launch
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @Groups(%x: tensor<2x8x9x11xf32>, %w: tensor<8x2x3x3xf32>) -> tensor<2x8x4x5xf32> {
    %c = dl.conv2d %x, %w {padding = array<i64: 1, 1>, groups = 4 : i64} : (tensor<2x8x9x11xf32>, tensor<8x2x3x3xf32>) -> tensor<2x8x9x11xf32>
    %y = dl.max_pool2d %c {kernel_size = array<i64: 2, 2>} : (tensor<2x8x9x11xf32>) -> tensor<2x8x4x5xf32>
    return %y : tensor<2x8x4x5xf32>
  }
}

// -----

// A filter of one place is a plain matrix product, which other kernels compute faster.
// CHECK-LABEL: dlx.program @Pointwise
// CHECK-COUNT-2: dlx.launch
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @Pointwise(%x: tensor<2x8x9x11xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<2x8x4x5xf32> {
    %c = dl.conv2d %x, %w : (tensor<2x8x9x11xf32>, tensor<8x8x1x1xf32>) -> tensor<2x8x9x11xf32>
    %y = dl.max_pool2d %c {kernel_size = array<i64: 2, 2>} : (tensor<2x8x9x11xf32>) -> tensor<2x8x4x5xf32>
    return %y : tensor<2x8x4x5xf32>
  }
}

// -----

// No template multiplies doubles.
// CHECK-LABEL: dlx.program @Doubles
// CHECK-COUNT-2: dlx.launch
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @Doubles(%x: tensor<2x8x9x11xf64>, %w: tensor<8x8x3x3xf64>) -> tensor<2x8x4x5xf64> {
    %c = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<2x8x9x11xf64>, tensor<8x8x3x3xf64>) -> tensor<2x8x9x11xf64>
    %y = dl.max_pool2d %c {kernel_size = array<i64: 2, 2>} : (tensor<2x8x9x11xf64>) -> tensor<2x8x4x5xf64>
    return %y : tensor<2x8x4x5xf64>
  }
}

// -----

// On a Hopper, where wgmma multiplies 64 channels by 128 filters, two kernels take less time.
// CHECK-LABEL: dlx.program @Apart
// CHECK: dlx.launch @conv2d_relu(
// CHECK: dlx.launch @max_pool2d({{.*}}reader = "max_pool2d", producer = "relu", why = two_roots
#image = #dl.t<[8, 64, 56, 56], order = [0, 2, 3, 1]>
#result = #dl.t<[8, 128, 56, 56], order = [0, 2, 3, 1]>
#pooled = #dl.t<[8, 128, 28, 28], order = [0, 2, 3, 1]>
module {
  func.func @Apart(%x: tensor<8x64x56x56xf16, #image>) -> tensor<8x128x28x28xf16, #pooled> {
    %w = dl.weight "w" : tensor<128x64x3x3xf16>
    %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<8x64x56x56xf16, #image>, tensor<128x64x3x3xf16>) -> tensor<8x128x56x56xf16, #result>
    %1 = dl.relu %0 : (tensor<8x128x56x56xf16, #result>) -> tensor<8x128x56x56xf16, #result>
    %2 = dl.max_pool2d %1 {kernel_size = array<i64: 2, 2>} : (tensor<8x128x56x56xf16, #result>) -> tensor<8x128x28x28xf16, #pooled>
    return %2 : tensor<8x128x28x28xf16, #pooled>
  }
}
