// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cuda},builtin.module(func.func(form-fusions),outline-kernels),plan-buffers)' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions),outline-kernels),plan-buffers)' -split-input-file | FileCheck %s --check-prefix=CPU

// Two products write their halves of the joined tensor; what reads it says why it is apart.
// CHECK: #[[FIRST:.*]] = affine_map<() -> (0, 48)>
// CHECK: #[[SECOND:.*]] = affine_map<() -> (16, 48)>
// CHECK: dlx.program @Joined
// CHECK: %[[Y:.*]] = dlx.alloc {{.*}} : <tensor<8x48xf32>>
// CHECK-NEXT: dlx.launch @linear_into_cat(%{{.*}}) -> (%[[Y]])
// CHECK-NEXT: dlx.launch @linear_relu_into_cat(%{{.*}}) -> (%[[Y]])
// CHECK: dlx.launch @linear(%[[Y]], %{{.*}}) -> (%{{.*}}) {edges = [#dl.edge<input = 0, reader = "linear", producer = "cat", why = "
// CHECK-NOT: dlx.launch
// CHECK: dlx.kernel @linear_into_cat attributes {{{.*}}part = #dlx.part<dim = 1, within = #[[FIRST]]>} {
// CHECK: dlx.kernel @linear_relu_into_cat attributes {{{.*}}part = #dlx.part<dim = 1, within = #[[SECOND]]>} {
module {
  func.func @Joined(%x: tensor<8x16xf32>, %v: tensor<16x16xf32>, %w: tensor<32x16xf32>, %u: tensor<4x48xf32>) -> tensor<8x4xf32> {
    %a = dl.linear %x, %v : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %b = dl.linear %x, %w : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
    %c = dl.relu %b : (tensor<8x32xf32>) -> tensor<8x32xf32>
    %d = dl.cat %a, %c {dim = -1 : i64} : (tensor<8x16xf32>, tensor<8x32xf32>) -> tensor<8x48xf32>
    %y = dl.linear %d, %u : (tensor<8x48xf32>, tensor<4x48xf32>) -> tensor<8x4xf32>
    return %y : tensor<8x4xf32>
  }
}

// -----

// Equal products at two places of the whole are two kernels. What lies before a part may be symbolic.
// CHECK: #[[FIRST:.*]] = affine_map<()[s0] -> (0, s0 * 2)>
// CHECK: #[[SECOND:.*]] = affine_map<()[s0] -> (s0, s0 * 2)>
// CHECK: dlx.program @Symbolic
// CHECK: dlx.launch @linear_into_cat(
// CHECK-NEXT: dlx.launch @linear_into_cat_0(
// CHECK-NOT: dlx.launch
// CHECK: dlx.kernel @linear_into_cat attributes {{{.*}}part = #dlx.part<dim = 0, within = #[[FIRST]]>} {
// CHECK: dlx.kernel @linear_into_cat_0 attributes {{{.*}}part = #dlx.part<dim = 0, within = #[[SECOND]]>} {
#n = #dl.t<[s0, 16]>
#m = #dl.t<[2 * s0, 16]>
module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>]} {
  func.func @Symbolic(%x: tensor<?x16xf32, #n>, %w: tensor<16x16xf32>, %v: tensor<16x16xf32>) -> tensor<?x16xf32, #m> {
    %a = dl.linear %x, %w : (tensor<?x16xf32, #n>, tensor<16x16xf32>) -> tensor<?x16xf32, #n>
    %b = dl.linear %x, %v : (tensor<?x16xf32, #n>, tensor<16x16xf32>) -> tensor<?x16xf32, #n>
    %y = dl.cat %a, %b : (tensor<?x16xf32, #n>, tensor<?x16xf32, #n>) -> tensor<?x16xf32, #m>
    return %y : tensor<?x16xf32, #m>
  }
}

// -----

// It is a kernel: something else reads a part.
// CHECK-LABEL: dlx.program @ReadTwice
// CHECK-COUNT-1: dlx.launch @cat(
module {
  func.func @ReadTwice(%x: tensor<8x16xf32>, %v: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> (tensor<8x32xf32>, tensor<8x16xf32>) {
    %a = dl.linear %x, %v : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %b = dl.linear %x, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %c = dl.cat %a, %b {dim = 1 : i64} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
    return %c, %a : tensor<8x32xf32>, tensor<8x16xf32>
  }
}

// -----

// It is a kernel: an input of the model is a part, and what the caller gives lies where it lies.
// CHECK-LABEL: dlx.program @Input
// CHECK-COUNT-1: dlx.launch @cat(
module {
  func.func @Input(%x: tensor<8x16xf32>, %v: tensor<16x16xf32>) -> tensor<8x32xf32> {
    %a = dl.linear %x, %v : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %c = dl.cat %a, %x {dim = 1 : i64} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
    return %c : tensor<8x32xf32>
  }
}

// -----

// It is a kernel on the GPU: rows of 40 + 12 bytes would begin between its vectors. The CPU stores its own where they come to lie.
// CHECK-LABEL: dlx.program @Unaligned
// CHECK-COUNT-1: dlx.launch @cat(
// CPU-LABEL: dlx.program @Unaligned
// CPU-NOT: dlx.launch @cat(
// CPU: dlx.kernel
module {
  func.func @Unaligned(%x: tensor<8x16xf32>, %v: tensor<10x16xf32>, %w: tensor<3x16xf32>) -> tensor<8x13xf32> {
    %a = dl.linear %x, %v : (tensor<8x16xf32>, tensor<10x16xf32>) -> tensor<8x10xf32>
    %b = dl.linear %x, %w : (tensor<8x16xf32>, tensor<3x16xf32>) -> tensor<8x3xf32>
    %c = dl.cat %a, %b {dim = 1 : i64} : (tensor<8x10xf32>, tensor<8x3xf32>) -> tensor<8x13xf32>
    return %c : tensor<8x13xf32>
  }
}

// -----

// It is a kernel: the text says so.
// CHECK-LABEL: dlx.program @Asked
// CHECK-COUNT-1: dlx.launch @cat(
module {
  func.func @Asked(%x: tensor<8x16xf32>, %v: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<8x32xf32> {
    %a = dl.linear %x, %v : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %b = dl.linear %x, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %c = dl.cat %a, %b {dim = 1 : i64, dl.no_fuse} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
    return %c : tensor<8x32xf32>
  }
}
