// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cuda},builtin.module(func.func(form-fusions),outline-kernels),plan-buffers)' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions),outline-kernels),plan-buffers)' -split-input-file | FileCheck %s --check-prefix=CPU

// Two products write their halves of the joined tensor; what reads it says why it is apart.
// CHECK: #[[FIRST:.*]] = affine_map<() -> (0, 48)>
// CHECK: #[[SECOND:.*]] = affine_map<() -> (16, 48)>
// CHECK: dlx.program @Joined
// CHECK: %[[Y:.*]] = dlx.alloc {{.*}} : <tensor<8x48xf32>>
// CHECK-NEXT: dlx.launch @linear_into_cat(%{{.*}}) -> (%[[Y]])
// CHECK-NEXT: dlx.launch @linear_relu_into_cat(%{{.*}}) -> (%[[Y]])
// CHECK: dlx.launch @linear(%[[Y]], %{{.*}}) -> (%{{.*}}) {edges = [#dl.edge<input = 0, reader = "linear", producer = "cat", why = in_place
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

// It is a kernel: the model returns a part.
// CHECK-LABEL: dlx.program @Returned
// CHECK-COUNT-1: dlx.launch @cat({{.*}}why = part_read_dense
module {
  func.func @Returned(%x: tensor<8x16xf32>, %v: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> (tensor<8x32xf32>, tensor<8x16xf32>) {
    %a = dl.linear %x, %v : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %b = dl.linear %x, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %c = dl.cat %a, %b {dim = 1 : i64} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
    return %c, %a : tensor<8x32xf32>, tensor<8x16xf32>
  }
}

// -----

// It is a kernel: an input of the model is a part, and what the caller gives lies where it lies.
// CHECK-LABEL: dlx.program @Input
// CHECK-COUNT-1: dlx.launch @cat({{.*}}why = part_not_computed
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
// CHECK-COUNT-1: dlx.launch @cat({{.*}}why = part_unaligned
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
// CHECK-COUNT-1: dlx.launch @cat({{.*}}why = no_fuse
module {
  func.func @Asked(%x: tensor<8x16xf32>, %v: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<8x32xf32> {
    %a = dl.linear %x, %v : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %b = dl.linear %x, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %c = dl.cat %a, %b {dim = 1 : i64, dl.no_fuse} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
    return %c : tensor<8x32xf32>
  }
}

// -----

// All tensors are only moved: one kernel moves and joins them, where kernels of their own could write them in place. A slice that
// only moves read is made by each of them.
// CHECK-LABEL: dlx.program @Moved
// CHECK-NOT: dlx.launch
// CHECK: dlx.launch @[[NAME:.*]](%arg0) -> (%{{.*}})
// CHECK-NOT: dlx.launch
// CHECK: dlx.kernel @[[NAME]] attributes {kind = #dlx.kind<map>} {
// CHECK-COUNT-6: dl.slice
// CHECK: dl.cat
// CHECK: }
// CPU-LABEL: dlx.program @Moved
// CPU-COUNT-1: dlx.launch
// CPU-NOT: dlx.launch
// CPU: dlx.kernel
module {
  func.func @Moved(%x: tensor<1x8x8x16xf32>) -> tensor<1x4x4x48xf32> {
    %even = dl.slice %x {dim = 1 : i64, step = 2 : i64} : (tensor<1x8x8x16xf32>) -> tensor<1x4x8x16xf32>
    %odd = dl.slice %x {dim = 1 : i64, start = 1 : i64, step = 2 : i64} : (tensor<1x8x8x16xf32>) -> tensor<1x4x8x16xf32>
    %a = dl.slice %even {dim = 2 : i64, step = 2 : i64} : (tensor<1x4x8x16xf32>) -> tensor<1x4x4x16xf32>
    %b = dl.slice %even {dim = 2 : i64, start = 1 : i64, step = 2 : i64} : (tensor<1x4x8x16xf32>) -> tensor<1x4x4x16xf32>
    %c = dl.slice %odd {dim = 2 : i64, step = 2 : i64} : (tensor<1x4x8x16xf32>) -> tensor<1x4x4x16xf32>
    %y = dl.cat %a, %b, %c {dim = 3 : i64} : (tensor<1x4x4x16xf32>, tensor<1x4x4x16xf32>, tensor<1x4x4x16xf32>) -> tensor<1x4x4x48xf32>
    return %y : tensor<1x4x4x48xf32>
  }
}

// -----

// The same of symbolic dims, and of a tensor as it is beside one that is moved.
// CHECK-LABEL: dlx.program @MovedSymbolic
// CHECK-COUNT-1: dlx.launch @permute_cat(
// CHECK-NOT: dlx.launch
// CHECK: dlx.kernel
// CPU-LABEL: dlx.program @MovedSymbolic
// CPU-COUNT-1: dlx.launch @permute_cat(
// CPU-NOT: dlx.launch
// CPU: dlx.kernel
#n = #dl.t<[s0, 16]>
#t = #dl.t<[16, s0]>
#m = #dl.t<[2 * s0, 16]>
module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>]} {
  func.func @MovedSymbolic(%x: tensor<?x16xf32, #n>, %z: tensor<16x?xf32, #t>) -> tensor<?x16xf32, #m> {
    %a = dl.permute %z {dims = array<i64: 1, 0>} : (tensor<16x?xf32, #t>) -> tensor<?x16xf32, #n>
    %y = dl.cat %a, %x : (tensor<?x16xf32, #n>, tensor<?x16xf32, #n>) -> tensor<?x16xf32, #m>
    return %y : tensor<?x16xf32, #m>
  }
}

// -----

// A product beside a slice is written in place, and so is the slice: joined by a kernel, the product would be copied.
// CHECK-LABEL: dlx.program @Mixed
// CHECK: dlx.launch @slice_into_cat(
// CHECK-NEXT: dlx.launch @linear_into_cat(
// CHECK-NOT: dlx.launch
// CHECK: dlx.kernel
module {
  func.func @Mixed(%x: tensor<8x16xf32>, %v: tensor<16x16xf32>) -> tensor<8x24xf32> {
    %a = dl.slice %x {dim = 1 : i64, end = 8 : i64} : (tensor<8x16xf32>) -> tensor<8x8xf32>
    %b = dl.linear %x, %v : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %c = dl.cat %a, %b {dim = 1 : i64} : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x24xf32>
    return %c : tensor<8x24xf32>
  }
}

// -----

// Where it has to be copied (its rows begin between the GPU's vectors), the slice is read by the kernel that copies.
// CHECK-LABEL: dlx.program @MixedUnaligned
// CHECK: dlx.launch @linear(
// CHECK: dlx.launch @slice_cat(
// CHECK-NOT: dlx.launch
// CHECK: dlx.kernel
// CPU-LABEL: dlx.program @MixedUnaligned
// CPU: dlx.launch @slice_into_cat(
// CPU-NEXT: dlx.launch @linear_into_cat(
// CPU-NOT: dlx.launch
// CPU: dlx.kernel
module {
  func.func @MixedUnaligned(%x: tensor<8x16xf32>, %v: tensor<10x16xf32>) -> tensor<8x13xf32> {
    %a = dl.slice %x {dim = 1 : i64, end = 3 : i64} : (tensor<8x16xf32>) -> tensor<8x3xf32>
    %b = dl.linear %x, %v : (tensor<8x16xf32>, tensor<10x16xf32>) -> tensor<8x10xf32>
    %c = dl.cat %a, %b {dim = 1 : i64} : (tensor<8x3xf32>, tensor<8x10xf32>) -> tensor<8x13xf32>
    return %c : tensor<8x13xf32>
  }
}

// -----

// A tensor that is computed, not only moved, is formed first.
// CHECK-LABEL: dlx.program @Computed
// CHECK: dlx.launch @relu(
// CHECK: dlx.launch @cat(%{{.*}}) -> (%{{.*}}) {edges = [#dl.edge<input = {{[01]}}, reader = "cat", producer = "relu", why = part_not_computed>]}
module {
  func.func @Computed(%x: tensor<8x16xf32>) -> tensor<8x32xf32> {
    %a = dl.relu %x : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %c = dl.cat %a, %x {dim = 1 : i64} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
    return %c : tensor<8x32xf32>
  }
}

// -----

// Rows that are joined and normalised: the GPU's kernel chooses for each element, and moves what it reads; the CPU's vectors would
// not, so that the rows are formed first. Joined across rows, they are whole.
// CHECK-LABEL: dlx.program @Rows
// CHECK-COUNT-2: dlx.launch @{{.*}}cat_softmax
// CHECK-NOT: dlx.launch
// CHECK: dlx.kernel
// CPU-LABEL: dlx.program @Rows
// CPU: dlx.launch @slice_slice_cat(
// CPU: dlx.launch @softmax({{.*}}why = joined_rows
// CPU: dlx.launch @slice_slice_cat_softmax(
// CPU-NOT: dlx.launch
// CPU: dlx.kernel
module {
  func.func @Rows(%x: tensor<8x32xf32>) -> (tensor<8x16xf32>, tensor<16x16xf32>) {
    %a = dl.slice %x {dim = 1 : i64, end = 8 : i64} : (tensor<8x32xf32>) -> tensor<8x8xf32>
    %b = dl.slice %x {dim = 1 : i64, start = 24 : i64} : (tensor<8x32xf32>) -> tensor<8x8xf32>
    %c = dl.cat %a, %b {dim = 1 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x16xf32>
    %y = dl.softmax %c {dim = 1 : i64} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %d = dl.slice %x {dim = 1 : i64, end = 16 : i64} : (tensor<8x32xf32>) -> tensor<8x16xf32>
    %e = dl.slice %x {dim = 1 : i64, start = 16 : i64} : (tensor<8x32xf32>) -> tensor<8x16xf32>
    %f = dl.cat %d, %e {dim = 0 : i64} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
    %z = dl.softmax %f {dim = 1 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32>
    return %y, %z : tensor<8x16xf32>, tensor<16x16xf32>
  }
}

// -----

// What is written in place stays apart from a map that reads it, which would choose for each element.
// CHECK-LABEL: dlx.program @ReadWhole
// CHECK: dlx.launch @linear_into_cat(
// CHECK-NEXT: dlx.launch @linear_into_cat_0(
// CHECK: dlx.launch @relu({{.*}}producer = "cat", why = in_place
// CHECK-NOT: dlx.launch
// CHECK: dlx.kernel
module {
  func.func @ReadWhole(%x: tensor<8x16xf32>, %v: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<8x32xf32> {
    %a = dl.linear %x, %v : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %b = dl.linear %x, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %c = dl.cat %a, %b {dim = 1 : i64} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
    %y = dl.relu %c : (tensor<8x32xf32>) -> tensor<8x32xf32>
    return %y : tensor<8x32xf32>
  }
}

// -----

// A skip connection: what a pooling reads as well is written in place, and the pooling reads it where it lies.
// CHECK-LABEL: dlx.program @Skip
// CHECK: %[[Y:.*]] = dlx.alloc {{.*}} : <tensor<1x12x8x8xf32>>
// CHECK-NEXT: dlx.launch @conv2d_relu_into_cat(%{{.*}}) -> (%[[Y]])
// CHECK: dlx.launch @max_pool2d(%[[Y]]) -> (%[[P:[0-9]+]])
// CHECK: dlx.launch @slice_interpolate_into_cat(%[[P]]) -> (%[[Y]])
// CHECK-NOT: dlx.launch
// CHECK: dlx.kernel @max_pool2d attributes
// CHECK-NEXT: ^bb0(%[[WHOLE:.*]]: tensor<1x12x8x8xf32>):
// CHECK-NEXT: %[[PART:.*]] = dl.part %[[WHOLE]] {dim = 1 : i64, length = #{{.*}}, start = #{{.*}}} : (tensor<1x12x8x8xf32>) -> tensor<1x8x8x8xf32>
// CHECK-NEXT: dl.max_pool2d %[[PART]]
// CPU-LABEL: dlx.program @Skip
// CPU-NOT: dlx.launch @cat(
// CPU: dlx.kernel
module {
  func.func @Skip(%x: tensor<1x3x8x8xf32>, %w: tensor<8x3x1x1xf32>) -> tensor<1x12x8x8xf32> {
    %c = dl.conv2d %x, %w : (tensor<1x3x8x8xf32>, tensor<8x3x1x1xf32>) -> tensor<1x8x8x8xf32>
    %a = dl.relu %c : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
    %p = dl.max_pool2d %a {kernel_size = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<1x8x8x8xf32>) -> tensor<1x8x4x4xf32>
    %q = dl.slice %p {dim = 1 : i64, end = 4 : i64} : (tensor<1x8x4x4xf32>) -> tensor<1x4x4x4xf32>
    %b = dl.interpolate %q {size = affine_map<() -> (8, 8)>, mode = "nearest"} : (tensor<1x4x4x4xf32>) -> tensor<1x4x8x8xf32>
    %y = dl.cat %a, %b {dim = 1 : i64} : (tensor<1x8x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x12x8x8xf32>
    return %y : tensor<1x12x8x8xf32>
  }
}

// -----

// It is a kernel: a product reads a part, and reads dense rows.
// CHECK-LABEL: dlx.program @ReadByProduct
// CHECK: dlx.launch @cat({{.*}}why = part_read_dense
// CHECK-NOT: into_cat
// CPU-LABEL: dlx.program @ReadByProduct
// CPU: dlx.launch @cat(
// CPU-NOT: into_cat
module {
  func.func @ReadByProduct(%x: tensor<8x16xf32>, %v: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> (tensor<8x32xf32>, tensor<8x16xf32>) {
    %a = dl.linear %x, %v : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %b = dl.linear %x, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %c = dl.cat %a, %b {dim = 1 : i64} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
    %z = dl.linear %a, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    return %c, %z : tensor<8x32xf32>, tensor<8x16xf32>
  }
}

// -----

// It is a kernel: the one of a part would read another part of the buffer that it writes.
// CHECK-LABEL: dlx.program @PartOfPart
// CHECK: dlx.launch @{{.*}}cat({{.*}}why = part_reads_part
// CHECK-NOT: into_cat
// CPU-LABEL: dlx.program @PartOfPart
// CPU: dlx.launch @cat(
// CPU-NOT: into_cat
module {
  func.func @PartOfPart(%x: tensor<8x16xf32>, %v: tensor<16x16xf32>) -> tensor<8x32xf32> {
    %a = dl.linear %x, %v : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %b = dl.exp %a : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %c = dl.cat %a, %b {dim = 1 : i64} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
    return %c : tensor<8x32xf32>
  }
}

// -----

// Maps read parts of one concatenation and write those of another, also where rows are symbols.
// CHECK-LABEL: dlx.program @TwoWholes
// CHECK-COUNT-2: dlx.launch @linear_into_cat
// CHECK-COUNT-2: dlx.launch @exp_into_cat
// CHECK-NOT: dlx.launch
// CHECK: dlx.kernel
// CPU-LABEL: dlx.program @TwoWholes
// CPU-COUNT-2: dlx.launch @linear_into_cat
// CPU-COUNT-2: dlx.launch @exp_into_cat
// CPU-NOT: dlx.launch
// CPU: dlx.kernel
#n = #dl.t<[s0, 16]>
#m = #dl.t<[2 * s0, 16]>
module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>]} {
  func.func @TwoWholes(%x: tensor<?x16xf32, #n>, %v: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> (tensor<?x16xf32, #m>, tensor<?x16xf32, #m>) {
    %a = dl.linear %x, %v : (tensor<?x16xf32, #n>, tensor<16x16xf32>) -> tensor<?x16xf32, #n>
    %b = dl.linear %x, %w : (tensor<?x16xf32, #n>, tensor<16x16xf32>) -> tensor<?x16xf32, #n>
    %c = dl.cat %a, %b : (tensor<?x16xf32, #n>, tensor<?x16xf32, #n>) -> tensor<?x16xf32, #m>
    %d = dl.exp %a : (tensor<?x16xf32, #n>) -> tensor<?x16xf32, #n>
    %e = dl.exp %b : (tensor<?x16xf32, #n>) -> tensor<?x16xf32, #n>
    %f = dl.cat %d, %e : (tensor<?x16xf32, #n>, tensor<?x16xf32, #n>) -> tensor<?x16xf32, #m>
    return %c, %f : tensor<?x16xf32, #m>, tensor<?x16xf32, #m>
  }
}

// -----

// It is a kernel: a tensor is in it twice.
// CHECK-LABEL: dlx.program @Twice
// CHECK: dlx.launch @cat({{.*}}why = part_twice
module {
  func.func @Twice(%x: tensor<8x16xf32>, %v: tensor<16x16xf32>) -> tensor<8x32xf32> {
    %a = dl.linear %x, %v : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %c = dl.cat %a, %a {dim = 1 : i64} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
    return %c : tensor<8x32xf32>
  }
}

// -----

// It is a kernel: a tensor lies otherwise than the result.
// CHECK-LABEL: dlx.program @Layouts
// CHECK: dlx.launch @cat({{.*}}why = part_layout
#channelsLast = #dl.t<[1, 8, 4, 4], order = [0, 2, 3, 1]>
module {
  func.func @Layouts(%x: tensor<1x8x4x4xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x16x4x4xf32> {
    %a = dl.conv2d %x, %w : (tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32, #channelsLast>
    %b = dl.conv2d %x, %w : (tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32>
    %c = dl.cat %a, %b {dim = 1 : i64} : (tensor<1x8x4x4xf32, #channelsLast>, tensor<1x8x4x4xf32>) -> tensor<1x16x4x4xf32>
    return %c : tensor<1x16x4x4xf32>
  }
}
