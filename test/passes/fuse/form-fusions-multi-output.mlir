// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cuda},builtin.module(func.func(form-fusions),outline-kernels))' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions),outline-kernels))' -split-input-file | FileCheck %s --check-prefix=CPU

// The sum before the activation is wanted again: both are stored by the kernel of the product. The CPU keeps three launches.
// CPU-LABEL: dlx.program @Residual
// CPU-COUNT-3: dlx.launch
// CHECK-LABEL: dlx.program @Residual
// CHECK-NEXT: ^bb0(%[[X:.*]]: {{.*}}, %[[W:.*]]: {{.*}}, %[[V:.*]]: !dlx.buffer<tensor<16x16xf32>>):
// CHECK: %[[R:.*]] = dlx.alloc
// CHECK-NEXT: %[[H:.*]] = dlx.alloc
// CHECK-NEXT: dlx.launch @linear_gelu(%[[X]], %[[W]]) -> (%[[R]], %[[H]])
// CHECK-NEXT: %[[Y:.*]] = dlx.alloc
// CHECK-NEXT: dlx.launch @linear_add(%[[R]], %[[V]], %[[H]]) -> (%[[Y]])
// CHECK: dlx.kernel @linear_gelu attributes {kind = #dlx.kind<contraction>} {
// CHECK: %[[L:.*]] = dl.linear
// CHECK-NEXT: %[[G:.*]] = dl.gelu %[[L]]
// CHECK-NEXT: dl.yield %[[G]], %[[L]]
// CHECK: dlx.kernel @linear_add
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
// CHECK: dlx.launch @exp(%{{.*}}) -> (%[[C:[^,]*]], %[[E:[^)]*]])
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

// The other reader of the value computes what the map waits for: no order runs the map with the product.
// CHECK-LABEL: dlx.program @Between
// CHECK: dlx.launch @linear(
// CHECK: dlx.launch @softmax_add({{.*}}) -> (%{{[^,]*}}, %{{[^,]*}})
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @Between(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
    %h = dl.linear %x, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %s = dl.softmax %h {dim = 0 : i64} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %y = dl.add %h, %s : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    return %y, %s : tensor<8x16xf32>, tensor<8x16xf32>
  }
}

// -----

// One reader of two products goes with the later one.
// CHECK-LABEL: dlx.program @Later
// CHECK: dlx.launch @exp(
// CHECK: dlx.launch @linear_add({{.*}}) -> (%[[Y:[^,]*]], %[[L:[^)]*]])
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

// A reduction stores what maps make of its rows, too.
// CHECK-LABEL: dlx.program @Reduced
// CHECK: dlx.launch @softmax_exp({{.*}}) -> (%{{[^,]*}}, %{{[^,]*}})
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @Reduced(%x: tensor<16x64xf32>) -> (tensor<16x64xf32>, tensor<16x64xf32>) {
    %h = dl.softmax %x {dim = 1 : i64} : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %y = dl.exp %h : (tensor<16x64xf32>) -> tensor<16x64xf32>
    return %h, %y : tensor<16x64xf32>, tensor<16x64xf32>
  }
}

// -----

// The softmax reads the value before what the map waits for is there: it comes after both.
// CHECK-LABEL: dlx.program @Moved
// CHECK: dlx.launch @running_sum(
// CHECK: dlx.launch @exp_softmax_add({{.*}}) -> (%{{[^,]*}}, %{{[^,]*}})
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @Moved(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %h = dl.exp %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %s = dl.softmax %h {dim = 1 : i64} : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %c = dl.running_sum %x {dim = 1 : i64} : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %y = dl.add %h, %c : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return %y, %s : tensor<8x64xf32>, tensor<8x64xf32>
  }
}

// -----

// A path through a view is one too.
// CHECK-LABEL: dlx.program @View
// CHECK-COUNT-3: dlx.launch
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @View(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<16x8xf32>) {
    %h = dl.exp %x : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %v = dl.reshape %h {shape = affine_map<() -> (16, 8)>} : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %s = dl.softmax %v {dim = 0 : i64} : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %t = dl.reshape %s {shape = affine_map<() -> (8, 16)>} : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %y = dl.add %h, %t : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    return %y, %s : tensor<8x16xf32>, tensor<16x8xf32>
  }
}

// -----

// Two maps that would each wait for the other's kernel: the first joins its product, the second cannot any more and
// joins the softmax.
// CHECK-LABEL: dlx.program @Crossed
// CHECK: dlx.launch @linear(
// CHECK: dlx.launch @softmax(
// CHECK: dlx.launch @linear_add({{.*}}) -> (%{{[^,]*}}, %{{[^,]*}})
// CHECK: dlx.launch @softmax_add{{.*}}({{.*}}) -> (%{{[^,]*}}, %{{[^,]*}})
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @Crossed(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %v: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
    %a = dl.linear %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %b = dl.linear %x, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %s = dl.softmax %b {dim = 0 : i64} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %t = dl.softmax %a {dim = 1 : i64} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %y = dl.add %a, %s : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %z = dl.add %b, %t : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %y, %z, %s, %t : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  }
}

// -----

// Stored in two layouts, the two have no index in common at which a thread stores both side by side.
// CHECK-LABEL: dlx.program @Layouts
// CHECK-COUNT-3: dlx.launch
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @Layouts(%x: tensor<2x8x4x4xf32>, %w: tensor<8x8x1x1xf32>) -> (tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>) {
    %h = dl.conv2d %x, %w : (tensor<2x8x4x4xf32>, tensor<8x8x1x1xf32>) -> tensor<2x8x4x4xf32, #dl.t<[2, 8, 4, 4], order = [0, 2, 3, 1]>>
    %y = dl.convert_layout %h : (tensor<2x8x4x4xf32, #dl.t<[2, 8, 4, 4], order = [0, 2, 3, 1]>>) -> tensor<2x8x4x4xf32>
    %p = dl.max_pool2d %h {kernel_size = array<i64: 1, 1>} : (tensor<2x8x4x4xf32, #dl.t<[2, 8, 4, 4], order = [0, 2, 3, 1]>>) -> tensor<2x8x4x4xf32>
    return %y, %p : tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>
  }
}

// -----

// In a layout of one's own nothing is against a value that is not stored.
// CHECK-LABEL: dlx.program @Converted
// CHECK-COUNT-1: dlx.launch
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module {
  func.func @Converted(%x: tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32> {
    %h = dl.exp %x : (tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32, #dl.t<[2, 8, 4, 4], order = [0, 2, 3, 1]>>
    %s = dl.sigmoid %h : (tensor<2x8x4x4xf32, #dl.t<[2, 8, 4, 4], order = [0, 2, 3, 1]>>) -> tensor<2x8x4x4xf32, #dl.t<[2, 8, 4, 4], order = [0, 2, 3, 1]>>
    %m = dl.mul %h, %s : (tensor<2x8x4x4xf32, #dl.t<[2, 8, 4, 4], order = [0, 2, 3, 1]>>, tensor<2x8x4x4xf32, #dl.t<[2, 8, 4, 4], order = [0, 2, 3, 1]>>) -> tensor<2x8x4x4xf32, #dl.t<[2, 8, 4, 4], order = [0, 2, 3, 1]>>
    %y = dl.convert_layout %m : (tensor<2x8x4x4xf32, #dl.t<[2, 8, 4, 4], order = [0, 2, 3, 1]>>) -> tensor<2x8x4x4xf32>
    return %y : tensor<2x8x4x4xf32>
  }
}

// -----

// Symbolic dims, equal as polynomials.
// CHECK-LABEL: dlx.program @Symbols
// CHECK: dlx.launch @linear_relu({{.*}}) -> (%{{[^,]*}}, %{{[^,]*}})
// CHECK-NOT: dlx.launch
// CHECK: dlx.return
module attributes {dl.symbols = [#dl.symbol<"N", 1, 8>]} {
  func.func @Symbols(%x: tensor<?x16xf32, #dl.t<[s0, 16]>>, %w: tensor<16x16xf32>) -> (tensor<?x16xf32, #dl.t<[s0, 16]>>, tensor<?x16xf32, #dl.t<[s0, 16]>>) {
    %h = dl.linear %x, %w : (tensor<?x16xf32, #dl.t<[s0, 16]>>, tensor<16x16xf32>) -> tensor<?x16xf32, #dl.t<[s0, 16]>>
    %y = dl.relu %h : (tensor<?x16xf32, #dl.t<[s0, 16]>>) -> tensor<?x16xf32, #dl.t<[s0, 16]>>
    return %h, %y : tensor<?x16xf32, #dl.t<[s0, 16]>>, tensor<?x16xf32, #dl.t<[s0, 16]>>
  }
}

// -----

// A step of Adam, whose moments are stored: a map with several results joins what it reads, too.
// CHECK-LABEL: dlx.program @Step
// CHECK: dlx.launch @{{.*}}(%{{.*}}) -> (%[[W:.*]], %[[V:.*]], %[[M:.*]]) :
// CHECK-NOT: dlx.launch
// CHECK: dlx.return %[[M]], %[[V]], %[[W]]
// CPU-LABEL: dlx.program @Step
// CPU-COUNT-1: dlx.launch
// CPU-NOT: dlx.launch
// CPU: dlx.return
module {
  func.func @Step(%g: tensor<8x16xf32>, %m: tensor<8x16xf32>, %v: tensor<8x16xf32>, %w: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
    %n = dl.add %m, %g : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %q = dl.mul %g, %g : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %u = dl.add %v, %q : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %r = dl.sqrt %u : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %d = dl.div %n, %r : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %x = dl.sub %w, %d : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    return %n, %u, %x : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
  }
}
