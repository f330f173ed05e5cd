// RUN: dlc-opt %s -pass-pipeline='builtin.module(builtin.module(func.func(store-two-of-four)))' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(builtin.module(func.func(store-two-of-four{explain=true})))' -split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// The numbers are cast where they are stored, and the places keep their byte.
// CHECK-LABEL: @linear
// CHECK-DAG: %[[V:.*]] = dl.weight "w.values" {dl.stored_numbers = 2097152 : i64, file = "weights in few bits", offset = -1 : i64} : tensor<1024x2048xf32>
// CHECK-DAG: %[[P:.*]] = dl.weight "w.places" {{.*}} : tensor<1024x512xui8>
// CHECK-NOT: dl.weight "w"
// CHECK-DAG: %[[C:.*]] = dl.cast %[[V]] {dtype = f16}
// CHECK: %[[W:.*]] = dl.expand_two_of_four %[[C]], %[[P]] : (tensor<1024x2048xf16>, tensor<1024x512xui8>) -> tensor<1024x4096xf16>
// CHECK: dl.linear %{{.*}}, %[[W]], %{{.*}} -> tensor<1x1024xf16>
// WHY: remark: weight 'w' is stored as two of each four numbers on cuda ({{1[0-9.]+}}x)
module { module @cuda {
func.func @linear(%x: tensor<1x4096xf16>, %b: tensor<1024xf16>) -> tensor<1x1024xf16> {
  %w = dl.weight "w" {file = "m.safetensors", dl.full_groups = 0 : i64} : tensor<1024x4096xf32>
  %h = dl.cast %w {dtype = f16} : (tensor<1024x4096xf32>) -> tensor<1024x4096xf16>
  %0 = dl.linear %x, %h, %b : (tensor<1x4096xf16>, tensor<1024x4096xf16>, tensor<1024xf16>) -> tensor<1x1024xf16>
  return %0 : tensor<1x1024xf16>
}
} }

// -----

// A matmul of [K, N] and a factor for each row of another weight, which multiplies the stored numbers.
// CHECK-LABEL: @matmul
// CHECK: %[[V:.*]] = dl.weight "w.values" {{.*}} : tensor<1024x2048xf32>
// CHECK: dl.linear %{{.*}} : (tensor<2x1x4096xbf16>, tensor<1024x4096xbf16>) -> tensor<2x1x1024xbf16>
// CHECK: %[[F:.*]] = dl.broadcast %{{.*}} : (tensor<1024x1xf32>) -> tensor<1024x2048xf32>
// CHECK: dl.mul %{{.*}}, %[[F]]
module { module @cuda {
func.func @matmul(%x: tensor<2x1x4096xbf16>) -> (tensor<2x1x1024xbf16>, tensor<2x1x1024xbf16>) {
  %w = dl.weight "w" {dl.full_groups = 0 : i64} : tensor<4096x1024xf32>
  %h = dl.cast %w {dtype = bf16} : (tensor<4096x1024xf32>) -> tensor<4096x1024xbf16>
  %0 = dl.matmul %x, %h : (tensor<2x1x4096xbf16>, tensor<4096x1024xbf16>) -> tensor<2x1x1024xbf16>
  %s = dl.weight "s" {dl.full_groups = 0 : i64} : tensor<1024x4096xf32>
  %g = dl.weight "g" : tensor<1024x1xf32>
  %r = dl.broadcast %g : (tensor<1024x1xf32>) -> tensor<1024x4096xf32>
  %m = dl.mul %s, %r : (tensor<1024x4096xf32>, tensor<1024x4096xf32>) -> tensor<1024x4096xf32>
  %c = dl.cast %m {dtype = bf16} : (tensor<1024x4096xf32>) -> tensor<1024x4096xbf16>
  %1 = dl.linear %x, %c : (tensor<2x1x4096xbf16>, tensor<1024x4096xbf16>) -> tensor<2x1x1024xbf16>
  return %0, %1 : tensor<2x1x1024xbf16>, tensor<2x1x1024xbf16>
}
} }

// -----

// A convolution of one tap over channels that lie innermost is a sum over them.
// CHECK-LABEL: @channels
// CHECK: %[[W:.*]] = dl.expand_two_of_four
// CHECK: %[[Y:.*]] = dl.contract %{{.*}}, %[[W]] {other_loops = array<i64: 1, 4>, rank = 4 : i64, x_loops = array<i64: 0, 4, 2, 3>} : {{.*}} -> tensor<1x1024x2x2xf16, #dl.t<[1, 1024, 2, 2], order = [0, 2, 3, 1]>>
// CHECK: dl.add %[[Y]], %{{.*}} -> tensor<1x1024x2x2xf16, #dl.t<[1, 1024, 2, 2], order = [0, 2, 3, 1]>>
!x = tensor<1x4096x2x2xf16, #dl.t<[1, 4096, 2, 2], order = [0, 2, 3, 1]>>
!y = tensor<1x1024x2x2xf16, #dl.t<[1, 1024, 2, 2], order = [0, 2, 3, 1]>>
module { module @cuda {
func.func @channels(%x: !x, %b: tensor<1024xf16>) -> !y {
  %w = dl.weight "w" {dl.full_groups = 0 : i64} : tensor<1024x4096x1x1xf32>
  %h = dl.cast %w {dtype = f16} : (tensor<1024x4096x1x1xf32>) -> tensor<1024x4096x1x1xf16>
  %0 = dl.conv2d %x, %h, %b : (!x, tensor<1024x4096x1x1xf16>, tensor<1024xf16>) -> !y
  return %0 : !y
}
} }

// -----

// Numbers that nobody counted, groups with more than two, another dtype, a stride, sums without
// whole steps, results that are no neighbours, a product so small that its bytes do not count.
// CHECK-LABEL: @whole
// CHECK-NOT: expand_two_of_four
// WHY: remark: weight 'unknown' is multiplied whole on cuda: its numbers are not known when the model is compiled
// WHY: remark: weight 'full' is multiplied whole on cuda: 1,234 of its 1,048,576 groups of four have more than two numbers
// WHY: remark: weight 'wide' is multiplied whole on cuda: products read it in another dtype than f16 and bf16
// WHY: remark: weight 'strided' is multiplied whole on cuda: a convolution with a stride reads it
// WHY: remark: weight 'short' is multiplied whole on cuda: its sums have no multiple of 64 terms
// WHY: remark: weight 'odd' is multiplied whole on cuda: its sums have no multiple of 64 terms
// WHY: remark: weight 'turned' is multiplied whole on cuda: the results of a product with it are no neighbours in memory
// WHY: remark: weight 'small' is multiplied whole on cuda: that is not slower (0.{{[0-9]+}}x)
module { module @cuda {
func.func @whole(%x: tensor<1x4096xf16>, %y: tensor<1x4096xf32>, %i: tensor<1x64x8x8xf16>, %s: tensor<1x72xf16>, %t: tensor<64x8xf16>, %o: tensor<1x20xf16>) -> (tensor<1x64xf16>, tensor<1x1024xf16>, tensor<1x1024xf16>, tensor<1x1024xf32>, tensor<1x64x4x4xf16>, tensor<1x64xf16>, tensor<32x8xf16>, tensor<1x64xf16>) {
  %unknown = dl.weight "unknown" : tensor<1024x4096xf32>
  %full = dl.weight "full" {dl.full_groups = 1234 : i64} : tensor<1024x4096xf32>
  %wide = dl.weight "wide" {dl.full_groups = 0 : i64} : tensor<1024x4096xf32>
  %strided = dl.weight "strided" {dl.full_groups = 0 : i64} : tensor<64x64x1x1xf32>
  %short = dl.weight "short" {dl.full_groups = 0 : i64} : tensor<64x72xf32>
  %odd = dl.weight "odd" : tensor<64x20xf16>
  %turned = dl.weight "turned" {dl.full_groups = 0 : i64} : tensor<32x64xf32>
  %small = dl.weight "small" {dl.full_groups = 0 : i64} : tensor<64x64xf32>
  %h0 = dl.cast %unknown {dtype = f16} : (tensor<1024x4096xf32>) -> tensor<1024x4096xf16>
  %h1 = dl.cast %full {dtype = f16} : (tensor<1024x4096xf32>) -> tensor<1024x4096xf16>
  %h3 = dl.cast %strided {dtype = f16} : (tensor<64x64x1x1xf32>) -> tensor<64x64x1x1xf16>
  %h4 = dl.cast %short {dtype = f16} : (tensor<64x72xf32>) -> tensor<64x72xf16>
  %h5 = dl.cast %turned {dtype = f16} : (tensor<32x64xf32>) -> tensor<32x64xf16>
  %h6 = dl.cast %small {dtype = f16} : (tensor<64x64xf32>) -> tensor<64x64xf16>
  %z = dl.slice %x {dim = 1 : i64, end = 64 : i64, start = 0 : i64} : (tensor<1x4096xf16>) -> tensor<1x64xf16>
  %0 = dl.linear %x, %h0 : (tensor<1x4096xf16>, tensor<1024x4096xf16>) -> tensor<1x1024xf16>
  %1 = dl.linear %x, %h1 : (tensor<1x4096xf16>, tensor<1024x4096xf16>) -> tensor<1x1024xf16>
  %2 = dl.linear %y, %wide : (tensor<1x4096xf32>, tensor<1024x4096xf32>) -> tensor<1x1024xf32>
  %3 = dl.conv2d %i, %h3 {stride = array<i64: 2, 2>} : (tensor<1x64x8x8xf16>, tensor<64x64x1x1xf16>) -> tensor<1x64x4x4xf16>
  %4 = dl.linear %s, %h4 : (tensor<1x72xf16>, tensor<64x72xf16>) -> tensor<1x64xf16>
  %7 = dl.linear %o, %odd : (tensor<1x20xf16>, tensor<64x20xf16>) -> tensor<1x64xf16>
  %5 = dl.contract %t, %h5 {x_loops = array<i64: 2, 1>, other_loops = array<i64: 0, 2>, rank = 2 : i64} : (tensor<64x8xf16>, tensor<32x64xf16>) -> tensor<32x8xf16>
  %6 = dl.linear %z, %h6 : (tensor<1x64xf16>, tensor<64x64xf16>) -> tensor<1x64xf16>
  return %7, %0, %1, %2, %3, %4, %5, %6 : tensor<1x64xf16>, tensor<1x1024xf16>, tensor<1x1024xf16>, tensor<1x1024xf32>, tensor<1x64x4x4xf16>, tensor<1x64xf16>, tensor<32x8xf16>, tensor<1x64xf16>
}
} }

// -----

// CPUs multiply the whole weight.
// CHECK-LABEL: @cpu
// CHECK-NOT: expand_two_of_four
// CHECK: dl.linear
module { module @cpu {
func.func @cpu(%x: tensor<1x4096xf16>) -> tensor<1x1024xf16> {
  %w = dl.weight "w" {dl.full_groups = 0 : i64} : tensor<1024x4096xf32>
  %h = dl.cast %w {dtype = f16} : (tensor<1024x4096xf32>) -> tensor<1024x4096xf16>
  %0 = dl.linear %x, %h : (tensor<1x4096xf16>, tensor<1024x4096xf16>) -> tensor<1x1024xf16>
  return %0 : tensor<1x1024xf16>
}
} }
