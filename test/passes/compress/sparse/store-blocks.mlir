// RUN: dlc-opt %s -pass-pipeline='builtin.module(builtin.module(func.func(store-blocks)))' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(builtin.module(func.func(store-blocks{explain=true})))' -split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// A quarter of 2 * 64 blocks is stored; the last panel has 14 rows.
// CHECK-LABEL: @linear
// CHECK-DAG: %[[V:.*]] = dl.weight "w.values" {file = "weights in few bits", offset = -1 : i64} : tensor<32x16xf32>
// CHECK-DAG: %[[C:.*]] = dl.weight "w.columns" {{.*}} : tensor<32xi32>
// CHECK-DAG: %[[S:.*]] = dl.weight "w.starts" {{.*}} : tensor<3xi32>
// CHECK-NOT: dl.weight "w"
// CHECK: dl.block_sparse_linear %{{.*}}, %[[V]], %[[C]], %[[S]], %{{.*}} {dim = 1 : i64, features = 30 : i64} : {{.*}} -> tensor<128x30xf32>
// WHY: remark: weight 'w' is stored without its blocks of zeros on cpu: 75.0 % of them ({{[0-9.]+}}x)
module { module @cpu {
func.func @linear(%x: tensor<128x64xf32>, %b: tensor<30xf32>) -> tensor<128x30xf32> {
  %w = dl.weight "w" {file = "m.safetensors", dl.stored_blocks = 32 : i64} : tensor<30x64xf32>
  %0 = dl.linear %x, %w, %b : (tensor<128x64xf32>, tensor<30x64xf32>, tensor<30xf32>) -> tensor<128x30xf32>
  return %0 : tensor<128x30xf32>
}
} }

// -----

// Two products read it, one of them a matmul of its transpose; nothing is left of a weight of zeros
// but a block in no panel.
// CHECK-LABEL: @zeros
// CHECK: dl.weight "w.values" : tensor<1x16xf32>
// CHECK: dl.weight "w.starts" : tensor<3xi32>
// CHECK: dl.block_sparse_linear %{{.*}} {dim = 1 : i64, features = 32 : i64}
// CHECK: dl.block_sparse_linear %{{.*}} {dim = 2 : i64, features = 32 : i64}
module { module @cpu {
func.func @zeros(%x: tensor<128x64xf32>, %z: tensor<2x8x64xf32>) -> (tensor<128x32xf32>, tensor<2x8x32xf32>) {
  %w = dl.weight "w" {dl.stored_blocks = 0 : i64} : tensor<32x64xf32>
  %0 = dl.linear %x, %w : (tensor<128x64xf32>, tensor<32x64xf32>) -> tensor<128x32xf32>
  %t = dl.permute %w {dims = array<i64: 1, 0>} : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %1 = dl.matmul %z, %t : (tensor<2x8x64xf32>, tensor<64x32xf32>) -> tensor<2x8x32xf32>
  return %0, %1 : tensor<128x32xf32>, tensor<2x8x32xf32>
}
} }

// -----

// A convolution of one tap keeps its layout; the factors of a folded batch norm multiply the stored
// blocks.
// CHECK-LABEL: @convolution
// CHECK: %[[V:.*]] = dl.weight "w.values" : tensor<20x16xf32>
// CHECK: %[[P:.*]] = dl.weight "w.panels" : tensor<20xi32>
// CHECK: %[[F:.*]] = dl.index_select %{{.*}}, %[[P]] {dim = 0 : i64} : (tensor<2x16xf32>, tensor<20xi32>) -> tensor<20x16xf32>
// CHECK: %[[M:.*]] = dl.mul %[[V]], %[[F]]
// CHECK: dl.block_sparse_linear %{{.*}}, %[[M]], %{{.*}} {dim = 1 : i64, features = 32 : i64, steps = array<i64: 1, 1, 2, 2>} : {{.*}} -> tensor<1x32x28x28xf32, #dl.t<[1, 32, 28, 28], order = [0, 2, 3, 1]>>
module { module @cpu {
func.func @convolution(%x: tensor<1x64x56x56xf32, #dl.t<[1, 64, 56, 56], order = [0, 2, 3, 1]>>) -> tensor<1x32x28x28xf32, #dl.t<[1, 32, 28, 28], order = [0, 2, 3, 1]>> {
  %w = dl.weight "w" {dl.stored_blocks = 20 : i64} : tensor<32x64x1x1xf32>
  %g = dl.weight "g" : tensor<32xf32>
  %r = dl.reshape %g {shape = affine_map<() -> (32, 1, 1, 1)>} : (tensor<32xf32>) -> tensor<32x1x1x1xf32>
  %s = dl.broadcast %r : (tensor<32x1x1x1xf32>) -> tensor<32x64x1x1xf32>
  %m = dl.mul %w, %s : (tensor<32x64x1x1xf32>, tensor<32x64x1x1xf32>) -> tensor<32x64x1x1xf32>
  %0 = dl.conv2d %x, %m {stride = array<i64: 2, 2>} : (tensor<1x64x56x56xf32, #dl.t<[1, 64, 56, 56], order = [0, 2, 3, 1]>>, tensor<32x64x1x1xf32>) -> tensor<1x32x28x28xf32, #dl.t<[1, 32, 28, 28], order = [0, 2, 3, 1]>>
  return %0 : tensor<1x32x28x28xf32, #dl.t<[1, 32, 28, 28], order = [0, 2, 3, 1]>>
}
} }

// -----

// Too few zeros; numbers that nobody counted, since others may take their place; a convolution of
// several taps; a weight that something else reads, too.
// CHECK-LABEL: @whole
// CHECK-COUNT-3: dl.linear
// CHECK: dl.conv2d
// CHECK-NOT: block_sparse
// WHY: remark: weight 'few' is multiplied whole on cpu: too few of its blocks are zero, 14.1 % ({{[0-9.]+}}x)
// WHY: remark: weight 'unknown' is multiplied whole on cpu: its numbers are not known when the model is compiled
// WHY: remark: weight 'taps' is multiplied whole on cpu: a convolution of several taps reads it
// WHY: remark: weight 'read' is multiplied whole on cpu: also read by relu
module { module @cpu {
func.func @whole(%x: tensor<128x64xf32>, %i: tensor<1x16x8x8xf32>) -> (tensor<128x32xf32>, tensor<128x32xf32>, tensor<128x32xf32>, tensor<32x64xf32>, tensor<1x16x6x6xf32>) {
  %few = dl.weight "few" {dl.stored_blocks = 110 : i64} : tensor<32x64xf32>
  %unknown = dl.weight "unknown" : tensor<32x64xf32>
  %taps = dl.weight "taps" {dl.stored_blocks = 1 : i64} : tensor<16x16x3x3xf32>
  %read = dl.weight "read" {dl.stored_blocks = 1 : i64} : tensor<32x64xf32>
  %0 = dl.linear %x, %few : (tensor<128x64xf32>, tensor<32x64xf32>) -> tensor<128x32xf32>
  %1 = dl.linear %x, %unknown : (tensor<128x64xf32>, tensor<32x64xf32>) -> tensor<128x32xf32>
  %2 = dl.linear %x, %read : (tensor<128x64xf32>, tensor<32x64xf32>) -> tensor<128x32xf32>
  %3 = dl.relu %read : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %4 = dl.conv2d %i, %taps : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x6x6xf32>
  return %0, %1, %2, %3, %4 : tensor<128x32xf32>, tensor<128x32xf32>, tensor<128x32xf32>, tensor<32x64xf32>, tensor<1x16x6x6xf32>
}
} }

// -----

// Another dtype, a padded convolution and one of groups, a product of weights alone, whose sums run
// along both dims.
// CHECK-LABEL: @others
// CHECK-NOT: block_sparse
// WHY: remark: weight 'padded' is multiplied whole on cpu: a convolution of several taps reads it
// WHY: remark: weight 'groups' is multiplied whole on cpu: a convolution of groups reads it
// WHY: remark: weight 'both' is multiplied whole on cpu: products sum along both of its dims
module { module @cpu {
func.func @others(%h: tensor<8x64xf16>, %i: tensor<1x16x8x8xf32>, %x: tensor<8x64xf32>) -> (tensor<8x32xf16>, tensor<1x16x10x10xf32>, tensor<1x16x8x8xf32>, tensor<8x64xf32>) {
  %half = dl.weight "half" {dl.stored_blocks = 1 : i64} : tensor<32x64xf16>
  %padded = dl.weight "padded" {dl.stored_blocks = 1 : i64} : tensor<16x16x1x1xf32>
  %groups = dl.weight "groups" {dl.stored_blocks = 1 : i64} : tensor<16x8x1x1xf32>
  %both = dl.weight "both" {dl.stored_blocks = 1 : i64} : tensor<64x64xf32>
  %0 = dl.linear %h, %half : (tensor<8x64xf16>, tensor<32x64xf16>) -> tensor<8x32xf16>
  %1 = dl.conv2d %i, %padded {padding = array<i64: 1, 1>} : (tensor<1x16x8x8xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x10x10xf32>
  %2 = dl.conv2d %i, %groups {groups = 2 : i64} : (tensor<1x16x8x8xf32>, tensor<16x8x1x1xf32>) -> tensor<1x16x8x8xf32>
  %3 = dl.linear %x, %both : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %4 = dl.matmul %3, %both : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  return %0, %1, %2, %4 : tensor<8x32xf16>, tensor<1x16x10x10xf32>, tensor<1x16x8x8xf32>, tensor<8x64xf32>
}
} }

// -----

// Factors for rows that fill no whole blocks, and a product of weights alone.
// CHECK-LABEL: @factors
// CHECK-NOT: block_sparse
// WHY: remark: weight 'w' is multiplied whole on cpu: a factor for each row multiplies it, and its rows fill no whole blocks
// WHY: remark: weight 'v' is multiplied whole on cpu: a product of weights reads it
module { module @cpu {
func.func @factors(%x: tensor<8x64xf32>) -> (tensor<8x30xf32>, tensor<30x32xf32>) {
  %w = dl.weight "w" {dl.stored_blocks = 1 : i64} : tensor<30x64xf32>
  %v = dl.weight "v" {dl.stored_blocks = 1 : i64} : tensor<32x64xf32>
  %g = dl.weight "g" : tensor<30x1xf32>
  %s = dl.broadcast %g : (tensor<30x1xf32>) -> tensor<30x64xf32>
  %m = dl.mul %w, %s : (tensor<30x64xf32>, tensor<30x64xf32>) -> tensor<30x64xf32>
  %0 = dl.linear %x, %m : (tensor<8x64xf32>, tensor<30x64xf32>) -> tensor<8x30xf32>
  %1 = dl.linear %s, %v : (tensor<30x64xf32>, tensor<32x64xf32>) -> tensor<30x32xf32>
  return %0, %1 : tensor<8x30xf32>, tensor<30x32xf32>
}
} }

// -----

// A product in f16 of a weight of f32, products of two dtypes, and a factor for each column.
// CHECK-LABEL: @narrow
// CHECK-NOT: block_sparse
// WHY: remark: weight 'half' is multiplied whole on cpu: products read it in another dtype than f32
// WHY: remark: weight 'two' is multiplied whole on cpu: products of several dtypes read it
// WHY: remark: weight 'scaled' is multiplied whole on cpu: a factor for each column multiplies it
module { module @cpu {
func.func @narrow(%h: tensor<8x64xf16>, %x: tensor<8x64xf32>) -> (tensor<8x32xf16>, tensor<8x32xf16>, tensor<8x32xf32>, tensor<8x32xf32>) {
  %half = dl.weight "half" {dl.stored_blocks = 1 : i64} : tensor<32x64xf32>
  %two = dl.weight "two" {dl.stored_blocks = 1 : i64} : tensor<32x64xf32>
  %scaled = dl.weight "scaled" {dl.stored_blocks = 1 : i64} : tensor<64x32xf32>
  %0 = dl.cast %half {dtype = f16} : (tensor<32x64xf32>) -> tensor<32x64xf16>
  %1 = dl.linear %h, %0 : (tensor<8x64xf16>, tensor<32x64xf16>) -> tensor<8x32xf16>
  %2 = dl.cast %two {dtype = f16} : (tensor<32x64xf32>) -> tensor<32x64xf16>
  %3 = dl.linear %h, %2 : (tensor<8x64xf16>, tensor<32x64xf16>) -> tensor<8x32xf16>
  %4 = dl.linear %x, %two : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
  %g = dl.weight "g" : tensor<64x1xf32>
  %s = dl.broadcast %g : (tensor<64x1xf32>) -> tensor<64x32xf32>
  %m = dl.mul %scaled, %s : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %5 = dl.matmul %x, %m : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  return %1, %3, %4, %5 : tensor<8x32xf16>, tensor<8x32xf16>, tensor<8x32xf32>, tensor<8x32xf32>
}
} }

// -----

// The data say how many rows there are.
// CHECK-LABEL: @counted
// CHECK-NOT: block_sparse
// WHY: remark: weight 'w' is multiplied whole on cpu: the data say how large a product with it is
module attributes {dl.symbols = [#dl.symbol<"found", 0, 4, most = () -> (4)>]} {
module @cpu attributes {dl.symbols = [#dl.symbol<"found", 0, 4, most = () -> (4)>]} {
func.func @counted(%x: tensor<?x64xf32, #dl.t<[s0, 64]>>) -> tensor<?x32xf32, #dl.t<[s0, 32]>> {
  %w = dl.weight "w" {dl.stored_blocks = 1 : i64} : tensor<32x64xf32>
  %0 = dl.linear %x, %w : (tensor<?x64xf32, #dl.t<[s0, 64]>>, tensor<32x64xf32>) -> tensor<?x32xf32, #dl.t<[s0, 32]>>
  return %0 : tensor<?x32xf32, #dl.t<[s0, 32]>>
}
} }

// -----

// GPUs multiply the whole weight.
// CHECK-LABEL: @gpu
// CHECK-NOT: block_sparse
// CHECK: dl.linear
module { module @cuda {
func.func @gpu(%x: tensor<128x64xf32>) -> tensor<128x32xf32> {
  %w = dl.weight "w" {dl.stored_blocks = 1 : i64} : tensor<32x64xf32>
  %0 = dl.linear %x, %w : (tensor<128x64xf32>, tensor<32x64xf32>) -> tensor<128x32xf32>
  return %0 : tensor<128x32xf32>
}
} }
