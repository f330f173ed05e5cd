// RUN: dlc-opt %s --pass-pipeline='builtin.module(builtin.module(func.func(assign-layouts)))' | FileCheck %s
module {
module @cpu {
// Three channels are read as they come; between convolution, relu, pool and cat everything lies channels last; the
// result is row-major again.
// CHECK-LABEL: @region
// CHECK: dl.conv2d %arg0, {{.*}} -> tensor<2x8x6x6xf32, #dl.t<[2, 8, 6, 6], order = [0, 2, 3, 1]>>
// CHECK: dl.relu {{.*}} -> tensor<2x8x6x6xf32, #dl.t<[2, 8, 6, 6], order = [0, 2, 3, 1]>>
// CHECK: dl.max_pool2d {{.*}} -> tensor<2x8x3x3xf32, #dl.t<[2, 8, 3, 3], order = [0, 2, 3, 1]>>
// CHECK: %[[CAT:.*]] = dl.cat {{.*}} -> tensor<2x16x3x3xf32, #dl.t<[2, 16, 3, 3], order = [0, 2, 3, 1]>>
// CHECK: %[[Y:.*]] = dl.convert_layout %[[CAT]] {why = #dl<converted returned>} : {{.*}} -> tensor<2x16x3x3xf32>
// CHECK: return %[[Y]]
func.func @region(%x: tensor<2x3x8x8xf32>) -> tensor<2x16x3x3xf32> {
  %w = dl.weight "w" : tensor<8x3x3x3xf32>
  %0 = dl.conv2d %x, %w : (tensor<2x3x8x8xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x6x6xf32>
  %1 = dl.relu %0 : (tensor<2x8x6x6xf32>) -> tensor<2x8x6x6xf32>
  %2 = dl.max_pool2d %1 {kernel_size = array<i64: 2, 2>} : (tensor<2x8x6x6xf32>) -> tensor<2x8x3x3xf32>
  %3 = dl.cat %2, %2 {dim = 1 : i64} : (tensor<2x8x3x3xf32>, tensor<2x8x3x3xf32>) -> tensor<2x16x3x3xf32>
  return %3 : tensor<2x16x3x3xf32>
}

// Many row-major channels are converted, once for both readers; so is what a reshape reads.
// CHECK-LABEL: @edges
// CHECK: %[[X:.*]] = dl.convert_layout %arg0 {why = #dl<converted taken>}
// CHECK-NOT: dl.convert_layout
// CHECK: dl.conv2d %[[X]]
// CHECK: dl.conv2d %[[X]]
// CHECK: %[[SUM:.*]] = dl.add {{.*}} order = [0, 2, 3, 1]
// CHECK: %[[ROWS:.*]] = dl.convert_layout %[[SUM]] {why = #dl<converted cheapest>} : {{.*}} -> tensor<?x8x8x8xf32, #dl.t<[s0, 8, 8, 8]>>
// CHECK: dl.reshape %[[ROWS]]
func.func @edges(%x: tensor<?x16x8x8xf32, #dl.t<[s0, 16, 8, 8]>>) -> tensor<?x512xf32, #dl.t<[s0, 512]>> {
  %w = dl.weight "w" : tensor<8x16x1x1xf32>
  %v = dl.weight "v" : tensor<8x16x1x1xf32>
  %0 = dl.conv2d %x, %w : (tensor<?x16x8x8xf32, #dl.t<[s0, 16, 8, 8]>>, tensor<8x16x1x1xf32>) -> tensor<?x8x8x8xf32, #dl.t<[s0, 8, 8, 8]>>
  %1 = dl.conv2d %x, %v : (tensor<?x16x8x8xf32, #dl.t<[s0, 16, 8, 8]>>, tensor<8x16x1x1xf32>) -> tensor<?x8x8x8xf32, #dl.t<[s0, 8, 8, 8]>>
  %2 = dl.add %0, %1 : (tensor<?x8x8x8xf32, #dl.t<[s0, 8, 8, 8]>>, tensor<?x8x8x8xf32, #dl.t<[s0, 8, 8, 8]>>) -> tensor<?x8x8x8xf32, #dl.t<[s0, 8, 8, 8]>>
  %3 = dl.reshape %2 {shape = affine_map<()[s0] -> (s0, 512)>} : (tensor<?x8x8x8xf32, #dl.t<[s0, 8, 8, 8]>>) -> tensor<?x512xf32, #dl.t<[s0, 512]>>
  return %3 : tensor<?x512xf32, #dl.t<[s0, 512]>>
}

// One channel, or pixels of 1x1: the bytes are the same either way, and nothing is converted. A mean reads what it gets.
// CHECK-LABEL: @same_bytes
// CHECK-NOT: dl.convert_layout
// CHECK: dl.conv2d {{.*}} -> tensor<2x1x4x4xf32>
// CHECK: dl.conv2d {{.*}} order = [0, 2, 3, 1]
// CHECK: dl.mean {{.*}} -> tensor<2x8xf32>
// CHECK: dl.avg_pool2d {{.*}} -> tensor<2x8x1x1xf32>
// CHECK: dl.reshape
func.func @same_bytes(%x: tensor<2x1x8x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %w = dl.weight "w" : tensor<1x1x5x5xf32>
  %v = dl.weight "v" : tensor<8x1x1x1xf32>
  %0 = dl.conv2d %x, %w : (tensor<2x1x8x8xf32>, tensor<1x1x5x5xf32>) -> tensor<2x1x4x4xf32>
  %1 = dl.conv2d %0, %v : (tensor<2x1x4x4xf32>, tensor<8x1x1x1xf32>) -> tensor<2x8x4x4xf32>
  %2 = dl.mean %1 {dim = array<i64: 2, 3>} : (tensor<2x8x4x4xf32>) -> tensor<2x8xf32>
  %3 = dl.avg_pool2d %1 {kernel_size = array<i64: 4, 4>} : (tensor<2x8x4x4xf32>) -> tensor<2x8x1x1xf32>
  %4 = dl.reshape %3 {shape = affine_map<() -> (2, 8)>} : (tensor<2x8x1x1xf32>) -> tensor<2x8xf32>
  return %2, %4 : tensor<2x8xf32>, tensor<2x8xf32>
}

// Without a convolution or a pool nothing moves.
// CHECK-LABEL: @no_region
// CHECK-NOT: order =
// CHECK: return
func.func @no_region(%x: tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32> {
  %0 = dl.relu %x : (tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
  %1 = dl.softmax %0 {dim = 1 : i64} : (tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
  return %1 : tensor<2x8x4x4xf32>
}

// Lines have channels too, and channels that become neighbouring elements stay last.
// CHECK-LABEL: @lines
// CHECK: dl.conv1d {{.*}} -> tensor<2x16x20xf32, #dl.t<[2, 16, 20], order = [0, 2, 1]>>
// CHECK: dl.depth_to_space {{.*}} -> tensor<2x8x40xf32, #dl.t<[2, 8, 40], order = [0, 2, 1]>>
// CHECK-NOT: dl.convert_layout
// CHECK: dl.conv1d {{.*}} -> tensor<2x4x38xf32, #dl.t<[2, 4, 38], order = [0, 2, 1]>>
func.func @lines(%x: tensor<2x3x20xf32>, %w: tensor<16x3x1xf32>, %v: tensor<4x8x3xf32>) -> tensor<2x4x38xf32> {
  %0 = dl.conv1d %x, %w : (tensor<2x3x20xf32>, tensor<16x3x1xf32>) -> tensor<2x16x20xf32>
  %1 = dl.depth_to_space %0 {block = array<i64: 2>, crop = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x16x20xf32>) -> tensor<2x8x40xf32>
  %2 = dl.conv1d %1, %v : (tensor<2x8x40xf32>, tensor<4x8x3xf32>) -> tensor<2x4x38xf32>
  return %2 : tensor<2x4x38xf32>
}

// All channels read at the places that an interpolation computes: they lie last. Few channels do not fill a vector, and nearest
// of an even factor computes nothing.
// CHECK-LABEL: @places
// CHECK: dl.interpolate {{.*}}mode = "bilinear"{{.*}} -> tensor<1x16x8x8xf32, #dl.t<[1, 16, 8, 8], order = [0, 2, 3, 1]>>
// CHECK: dl.interpolate {{.*}}mode = "bilinear"{{.*}} -> tensor<1x3x8x8xf32>
// CHECK: dl.interpolate %arg0 {size = #{{.*}}} {{.*}} -> tensor<1x16x8x8xf32>
func.func @places(%x: tensor<1x16x4x4xf32>, %y: tensor<1x3x4x4xf32>) -> (tensor<1x16x8x8xf32>, tensor<1x3x8x8xf32>, tensor<1x16x8x8xf32>) {
  %0 = dl.interpolate %x {size = affine_map<() -> (8, 8)>, mode = "bilinear"} : (tensor<1x16x4x4xf32>) -> tensor<1x16x8x8xf32>
  %1 = dl.interpolate %y {size = affine_map<() -> (8, 8)>, mode = "bilinear"} : (tensor<1x3x4x4xf32>) -> tensor<1x3x8x8xf32>
  %2 = dl.interpolate %x {size = affine_map<() -> (8, 8)>, mode = "nearest"} : (tensor<1x16x4x4xf32>) -> tensor<1x16x8x8xf32>
  return %0, %1, %2 : tensor<1x16x8x8xf32>, tensor<1x3x8x8xf32>, tensor<1x16x8x8xf32>
}

// The same of regions, where there are enough of them: one bin does not read much of its image.
// CHECK-LABEL: @regions
// CHECK: dl.roi_pool {{.*}} -> tensor<8x16x4x4xf32, #dl.t<[8, 16, 4, 4], order = [0, 2, 3, 1]>>
// CHECK: dl.roi_align {{.*}} -> tensor<8x16x4x4xf32, #dl.t<[8, 16, 4, 4], order = [0, 2, 3, 1]>>
// CHECK: dl.roi_pool {{.*}} -> tensor<1x16x1x1xf32>
func.func @regions(%x: tensor<1x16x8x8xf32>, %b: tensor<8x5xf32>, %c: tensor<1x5xf32>) -> (tensor<8x16x4x4xf32>, tensor<8x16x4x4xf32>, tensor<1x16x1x1xf32>) {
  %0 = dl.roi_pool %x, %b {output_size = array<i64: 4, 4>} : (tensor<1x16x8x8xf32>, tensor<8x5xf32>) -> tensor<8x16x4x4xf32>
  %1 = dl.roi_align %x, %b {output_size = array<i64: 4, 4>} : (tensor<1x16x8x8xf32>, tensor<8x5xf32>) -> tensor<8x16x4x4xf32>
  %2 = dl.roi_pool %x, %c {output_size = array<i64: 1, 1>} : (tensor<1x16x8x8xf32>, tensor<1x5xf32>) -> tensor<1x16x1x1xf32>
  return %0, %1, %2 : tensor<8x16x4x4xf32>, tensor<8x16x4x4xf32>, tensor<1x16x1x1xf32>
}

// Three channels of floats stay row-major; of integers, which are multiplied in pairs of neighbours, they lie last.
// CHECK-LABEL: @few_channels
// CHECK: %[[X:.*]] = dl.convert_layout %arg0 {why = #dl<converted taken>} : (tensor<1x3x8x8xi32>) -> tensor<1x3x8x8xi32, #dl.t<[1, 3, 8, 8], order = [0, 2, 3, 1]>>
// CHECK-NEXT: dl.conv2d %[[X]],
// CHECK: dl.conv2d %arg2,
func.func @few_channels(%x: tensor<1x3x8x8xi32>, %w: tensor<16x3x3x3xi32>, %f: tensor<1x3x8x8xf32>, %v: tensor<16x3x3x3xf32>) -> (tensor<1x16x6x6xi32>, tensor<1x16x6x6xf32>) {
  %0 = dl.conv2d %x, %w : (tensor<1x3x8x8xi32>, tensor<16x3x3x3xi32>) -> tensor<1x16x6x6xi32>
  %1 = dl.conv2d %f, %v : (tensor<1x3x8x8xf32>, tensor<16x3x3x3xf32>) -> tensor<1x16x6x6xf32>
  return %0, %1 : tensor<1x16x6x6xi32>, tensor<1x16x6x6xf32>
}

// A permutation to channels last and back is a view of what convolutions write: a norm over the channels in between needs no
// convert, nor does the residual sum, and the sum is where all of its operands are.
// CHECK-LABEL: @norms
// CHECK-NOT: dl.convert_layout
// CHECK: %[[X:.*]] = dl.conv2d %arg0
// CHECK: dl.permute %[[X]] {{.*}} -> tensor<?x8x8x32xf32, #dl.t<[s0, 8, 8, 32]>>
// CHECK: dl.standardize {{.*}} -> tensor<?x8x8x32xf32, #dl.t<[s0, 8, 8, 32]>>
// CHECK: dl.permute {{.*}} -> tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8], order = [0, 2, 3, 1]>>
// CHECK: dl.add {{.*}} -> tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8], order = [0, 2, 3, 1]>>
// CHECK: dl.conv2d
// CHECK: %[[Y:.*]] = dl.convert_layout
// CHECK: return %[[Y]]
func.func @norms(%x: tensor<?x3x8x8xf32, #dl.t<[s0, 3, 8, 8]>>, %w: tensor<32x3x1x1xf32>, %v: tensor<32x32x1x1xf32>, %a: tensor<32xf32>) -> tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8]>> {
  %0 = dl.conv2d %x, %w : (tensor<?x3x8x8xf32, #dl.t<[s0, 3, 8, 8]>>, tensor<32x3x1x1xf32>) -> tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8]>>
  %1 = dl.permute %0 {dims = array<i64: 0, 2, 3, 1>} : (tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8]>>) -> tensor<?x8x8x32xf32, #dl.t<[s0, 8, 8, 32]>>
  %2 = dl.standardize %1, %a {affine_dims = array<i64: 3>, dims = array<i64: 3>, eps = 1.0e-05 : f64} : (tensor<?x8x8x32xf32, #dl.t<[s0, 8, 8, 32]>>, tensor<32xf32>) -> tensor<?x8x8x32xf32, #dl.t<[s0, 8, 8, 32]>>
  %3 = dl.permute %2 {dims = array<i64: 0, 3, 1, 2>} : (tensor<?x8x8x32xf32, #dl.t<[s0, 8, 8, 32]>>) -> tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8]>>
  %4 = dl.add %3, %0 : (tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8]>>, tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8]>>) -> tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8]>>
  %5 = dl.conv2d %4, %v : (tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8]>>, tensor<32x32x1x1xf32>) -> tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8]>>
  return %5 : tensor<?x32x8x8xf32, #dl.t<[s0, 32, 8, 8]>>
}

// A shuffle of channels moves them once, inside of pixels: both reshapes are views.
// CHECK-LABEL: @shuffle
// CHECK-NOT: dl.convert_layout
// CHECK: dl.reshape {{.*}} -> tensor<1x2x16x8x8xf32, #dl.t<[1, 2, 16, 8, 8], order = [0, 3, 4, 1, 2]>>
// CHECK: dl.permute {{.*}} -> tensor<1x16x2x8x8xf32, #dl.t<[1, 16, 2, 8, 8], order = [0, 3, 4, 1, 2]>>
// CHECK: %[[Y:.*]] = dl.reshape {{.*}} -> tensor<1x32x8x8xf32, #dl.t<[1, 32, 8, 8], order = [0, 2, 3, 1]>>
// CHECK: dl.conv2d %[[Y]]
// CHECK: dl.mean
// CHECK: return
func.func @shuffle(%x: tensor<1x3x8x8xf32>, %w: tensor<32x3x1x1xf32>, %v: tensor<32x32x1x1xf32>) -> tensor<1x32xf32> {
  %0 = dl.conv2d %x, %w : (tensor<1x3x8x8xf32>, tensor<32x3x1x1xf32>) -> tensor<1x32x8x8xf32>
  %1 = dl.reshape %0 {shape = affine_map<() -> (1, 2, 16, 8, 8)>} : (tensor<1x32x8x8xf32>) -> tensor<1x2x16x8x8xf32>
  %2 = dl.permute %1 {dims = array<i64: 0, 2, 1, 3, 4>} : (tensor<1x2x16x8x8xf32>) -> tensor<1x16x2x8x8xf32>
  %3 = dl.reshape %2 {shape = affine_map<() -> (1, 32, 8, 8)>} : (tensor<1x16x2x8x8xf32>) -> tensor<1x32x8x8xf32>
  %4 = dl.conv2d %3, %v : (tensor<1x32x8x8xf32>, tensor<32x32x1x1xf32>) -> tensor<1x32x8x8xf32>
  %5 = dl.mean %4 {dim = array<i64: 2, 3>} : (tensor<1x32x8x8xf32>) -> tensor<1x32xf32>
  return %5 : tensor<1x32xf32>
}

// The pixels of an image as the rows of a product are what a convolution has written.
// CHECK-LABEL: @patches
// CHECK: dl.reshape {{.*}} -> tensor<1x32x64xf32, #dl.t<[1, 32, 64], order = [0, 2, 1]>>
// CHECK-NOT: dl.convert_layout
// CHECK: %[[ROWS:.*]] = dl.permute {{.*}} -> tensor<1x64x32xf32>
// CHECK: dl.matmul %[[ROWS]]
func.func @patches(%x: tensor<1x3x8x8xf32>, %w: tensor<32x3x1x1xf32>, %v: tensor<32x16xf32>) -> tensor<1x64x16xf32> {
  %0 = dl.conv2d %x, %w : (tensor<1x3x8x8xf32>, tensor<32x3x1x1xf32>) -> tensor<1x32x8x8xf32>
  %1 = dl.reshape %0 {shape = affine_map<() -> (1, 32, 64)>} : (tensor<1x32x8x8xf32>) -> tensor<1x32x64xf32>
  %2 = dl.permute %1 {dims = array<i64: 0, 2, 1>} : (tensor<1x32x64xf32>) -> tensor<1x64x32xf32>
  %3 = dl.matmul %2, %v : (tensor<1x64x32xf32>, tensor<32x16xf32>) -> tensor<1x64x16xf32>
  return %3 : tensor<1x64x16xf32>
}

// Channels and pixels that become one dim do not lie in order: the image is converted, once.
// CHECK-LABEL: @joined
// CHECK: %[[X:.*]] = dl.convert_layout {{.*}} {why = #dl<converted fixed>} {{.*}} -> tensor<1x32x8x8xf32>
// CHECK-NOT: dl.convert_layout
// CHECK: dl.reshape %[[X]] {{.*}} -> tensor<1x2048xf32>
func.func @joined(%x: tensor<1x3x8x8xf32>, %w: tensor<32x3x1x1xf32>) -> tensor<1x2048xf32> {
  %0 = dl.conv2d %x, %w : (tensor<1x3x8x8xf32>, tensor<32x3x1x1xf32>) -> tensor<1x32x8x8xf32>
  %1 = dl.reshape %0 {shape = affine_map<() -> (1, 2048)>} : (tensor<1x32x8x8xf32>) -> tensor<1x2048xf32>
  return %1 : tensor<1x2048xf32>
}
}
module @cuda {
// Vectors of channels fit into groups of 16. Of groups of 4 neighbouring channels read different ones: they stay row-major, where
// vectors lie along the image.
// CHECK-LABEL: @groups
// CHECK: dl.conv2d {{.*}}groups = 2{{.*}} order = [0, 2, 3, 1]
// CHECK: dl.convert_layout {{.*}} -> tensor<1x32x4x4xf32>
// CHECK: dl.conv2d {{.*}}groups = 8{{.*}} -> tensor<1x32x2x2xf32>
func.func @groups(%x: tensor<1x32x6x6xf32>, %w: tensor<32x16x3x3xf32>, %v: tensor<32x4x3x3xf32>) -> tensor<1x32x2x2xf32> {
  %0 = dl.conv2d %x, %w {groups = 2 : i64} : (tensor<1x32x6x6xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x4x4xf32>
  %1 = dl.conv2d %0, %v {groups = 8 : i64} : (tensor<1x32x4x4xf32>, tensor<32x4x3x3xf32>) -> tensor<1x32x2x2xf32>
  return %1 : tensor<1x32x2x2xf32>
}
}
}
