// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(narrow-products)))' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(narrow-products,form-fusions),outline-kernels))' -split-input-file | FileCheck %s --check-prefix=KERNELS

// Both operands lie in memory in bytes and are read as they are: the product's kernel takes the zero point away, and the sums,
// scaled, become u8 in it.
// CHECK-LABEL: @QLinearMatMul
// CHECK: %[[W:.*]] = dl.weight "w"
// CHECK: %[[C:.*]] = dl.cast %arg0 {dtype = i32}
// CHECK-NEXT: %[[Z:.*]] = dl.full 3 : i32
// CHECK-NEXT: %[[A:.*]] = dl.sub %[[C]], %[[Z]]
// CHECK-NEXT: %[[B:.*]] = dl.cast %[[W]] {dtype = i32}
// CHECK-NEXT: dl.matmul %[[A]], %[[B]]
// KERNELS-LABEL: dlx.program @QLinearMatMul
// KERNELS: %[[W:.*]] = dlx.weight "w"
// KERNELS-NEXT: %[[Y:.*]] = dlx.alloc : <tensor<4x5xui8>>
// KERNELS-NEXT: dlx.launch @{{.*}}(%arg0, %[[W]]) -> (%[[Y]])
// KERNELS-NEXT: dlx.return %[[Y]]
func.func @QLinearMatMul(%x: tensor<4x9xui8>) -> tensor<4x5xui8> {
  %w = dl.weight "w" : tensor<9x5xi8>
  %zero = dl.full 3 : i32 -> tensor<4x9xi32>
  %scale = dl.full 0.125 : f32 -> tensor<4x5xf32>
  %0 = dl.cast %x {dtype = i32} : (tensor<4x9xui8>) -> tensor<4x9xi32>
  %1 = dl.sub %0, %zero : (tensor<4x9xi32>, tensor<4x9xi32>) -> tensor<4x9xi32>
  %2 = dl.cast %w {dtype = i32} : (tensor<9x5xi8>) -> tensor<9x5xi32>
  %3 = dl.matmul %1, %2 : (tensor<4x9xi32>, tensor<9x5xi32>) -> tensor<4x5xi32>
  %4 = dl.cast %3 {dtype = f32} : (tensor<4x5xi32>) -> tensor<4x5xf32>
  %5 = dl.mul %4, %scale : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %6 = dl.cast %5 {dtype = ui8} : (tensor<4x5xf32>) -> tensor<4x5xui8>
  return %6 : tensor<4x5xui8>
}

// -----

// Two convolutions read one image of bytes, and each casts it for itself. A weight of u8 less 128 fits i8, and is stored so at load; less 5 it needs
// i16. Taps outside of the image are 0.
// CHECK-LABEL: @Convolutions
// CHECK: %[[W:.*]] = dl.cast %{{.*}} {dtype = i8}
// CHECK: %[[V:.*]] = dl.cast %{{.*}} {dtype = i16}
// CHECK: %[[A:.*]] = dl.cast %arg0 {dtype = i32}
// CHECK-NEXT: %[[B:.*]] = dl.cast %[[W]] {dtype = i32}
// CHECK-NEXT: dl.conv2d %[[A]], %[[B]]
// CHECK: %[[C:.*]] = dl.cast %arg0 {dtype = i32}
// CHECK-NEXT: %[[D:.*]] = dl.cast %[[V]] {dtype = i32}
// CHECK-NEXT: dl.conv2d %[[C]], %[[D]]
// KERNELS-LABEL: dlx.program @Convolutions
// KERNELS-DAG: %[[W:.*]] = dlx.alloc {persistent} : <tensor<4x3x3x3xi8>>
// KERNELS-DAG: %[[V:.*]] = dlx.alloc {persistent} : <tensor<4x3x3x3xi16>>
// KERNELS-DAG: dlx.launch @{{.*}}(%arg0, %[[W]])
// KERNELS-DAG: dlx.launch @{{.*}}(%arg0, %[[V]])
func.func @Convolutions(%x: tensor<1x3x8x8xui8>) -> (tensor<1x4x8x8xi32>, tensor<1x4x8x8xi32>) {
  %w = dl.weight "w" : tensor<4x3x3x3xui8>
  %zero = dl.full 128 : i32 -> tensor<4x3x3x3xi32>
  %five = dl.full 5 : i32 -> tensor<4x3x3x3xi32>
  %0 = dl.cast %x {dtype = i32} : (tensor<1x3x8x8xui8>) -> tensor<1x3x8x8xi32>
  %1 = dl.cast %w {dtype = i32} : (tensor<4x3x3x3xui8>) -> tensor<4x3x3x3xi32>
  %2 = dl.sub %1, %zero : (tensor<4x3x3x3xi32>, tensor<4x3x3x3xi32>) -> tensor<4x3x3x3xi32>
  %3 = dl.sub %1, %five : (tensor<4x3x3x3xi32>, tensor<4x3x3x3xi32>) -> tensor<4x3x3x3xi32>
  %4 = dl.conv2d %0, %2 {padding = array<i64: 1, 1>} : (tensor<1x3x8x8xi32>, tensor<4x3x3x3xi32>) -> tensor<1x4x8x8xi32>
  %5 = dl.conv2d %0, %3 {padding = array<i64: 1, 1>} : (tensor<1x3x8x8xi32>, tensor<4x3x3x3xi32>) -> tensor<1x4x8x8xi32>
  return %4, %5 : tensor<1x4x8x8xi32>, tensor<1x4x8x8xi32>
}

// -----

// One of the operands has numbers of more than 16 bits: nothing changes. Nor do products of floats.
// CHECK-LABEL: @Wide
// CHECK-NOT: dl.cast
// CHECK: %[[W:.*]] = dl.cast %{{.*}} {dtype = i32}
// CHECK-NEXT: %[[Y:.*]] = dl.matmul %arg0, %[[W]]
// CHECK-NEXT: %[[Z:.*]] = dl.matmul %arg1, %arg1
// CHECK-NEXT: return %[[Y]], %[[Z]]
func.func @Wide(%x: tensor<4x9xi32>, %f: tensor<4x4xf32>) -> (tensor<4x5xi32>, tensor<4x4xf32>) {
  %w = dl.weight "w" : tensor<9x5xi8>
  %0 = dl.cast %w {dtype = i32} : (tensor<9x5xi8>) -> tensor<9x5xi32>
  %1 = dl.matmul %x, %0 : (tensor<4x9xi32>, tensor<9x5xi32>) -> tensor<4x5xi32>
  %2 = dl.matmul %f, %f : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1, %2 : tensor<4x5xi32>, tensor<4x4xf32>
}

// -----

// Integers of 8 bits with a sign become bytes without one, 128 more; what else reads them reads these bytes: the wide ones are
// never stored.
// CHECK-LABEL: @Shared
// CHECK: %[[X:.*]] = dl.mul
// CHECK-NEXT: %[[MORE:.*]] = dl.full 127 : i32
// CHECK-NEXT: %[[S:.*]] = dl.add %[[X]], %[[MORE]]
// CHECK-NEXT: %[[N:.*]] = dl.cast %[[S]] {dtype = ui8}
// CHECK: %[[C:.*]] = dl.cast %[[N]] {dtype = i32}
// CHECK-NEXT: %[[Z:.*]] = dl.full 127 : i32
// CHECK-NEXT: %[[F:.*]] = dl.sub %[[C]], %[[Z]]
// CHECK-NEXT: dl.cast %[[F]] {dtype = f32}
// CHECK: %[[D:.*]] = dl.cast %[[N]] {dtype = i32}
// CHECK-NEXT: %[[Y:.*]] = dl.full 127 : i32
// CHECK-NEXT: %[[A:.*]] = dl.sub %[[D]], %[[Y]]
// CHECK-NEXT: %[[B:.*]] = dl.cast %{{.*}} {dtype = i32}
// CHECK-NEXT: dl.matmul %[[A]], %[[B]]
// KERNELS-LABEL: dlx.program @Shared
// KERNELS-NOT: xi32>>
// KERNELS: dlx.return
func.func @Shared(%x: tensor<4x9xi8>) -> (tensor<4x5xf32>, tensor<4x9xf32>) {
  %w = dl.weight "w" : tensor<9x5xi8>
  %one = dl.full 1 : i32 -> tensor<4x9xi32>
  %low = dl.full -127 : i32 -> tensor<4x9xi32>
  %wide = dl.cast %x {dtype = i32} : (tensor<4x9xi8>) -> tensor<4x9xi32>
  %0 = dl.maximum %wide, %low : (tensor<4x9xi32>, tensor<4x9xi32>) -> tensor<4x9xi32>
  %1 = dl.mul %0, %one : (tensor<4x9xi32>, tensor<4x9xi32>) -> tensor<4x9xi32>
  %2 = dl.cast %1 {dtype = f32} : (tensor<4x9xi32>) -> tensor<4x9xf32>
  %3 = dl.cast %w {dtype = i32} : (tensor<9x5xi8>) -> tensor<9x5xi32>
  %4 = dl.matmul %1, %3 : (tensor<4x9xi32>, tensor<9x5xi32>) -> tensor<4x5xi32>
  %5 = dl.cast %4 {dtype = f32} : (tensor<4x5xi32>) -> tensor<4x5xf32>
  return %5, %2 : tensor<4x5xf32>, tensor<4x9xf32>
}

// -----

// The numbers of u8 less those of another tensor may need 9 bits and more: i16, as of a product of two activations the second.
// CHECK-LABEL: @TwoActivations
// CHECK: %[[X:.*]] = dl.sub
// CHECK-NEXT: %[[N:.*]] = dl.cast %[[X]] {dtype = i16}
// CHECK: %[[R:.*]] = dl.relu
// CHECK-NEXT: %[[M:.*]] = dl.cast %[[R]] {dtype = i16}
// CHECK: %[[A:.*]] = dl.cast %[[N]] {dtype = i32}
// CHECK-NEXT: %[[B:.*]] = dl.cast %[[M]] {dtype = i32}
// CHECK-NEXT: dl.matmul %[[A]], %[[B]]
func.func @TwoActivations(%x: tensor<4x9xui8>, %z: tensor<4x9xui8>, %u: tensor<9x5xui8>) -> tensor<4x5xi32> {
  %0 = dl.cast %x {dtype = i32} : (tensor<4x9xui8>) -> tensor<4x9xi32>
  %1 = dl.cast %z {dtype = i32} : (tensor<4x9xui8>) -> tensor<4x9xi32>
  %2 = dl.sub %0, %1 : (tensor<4x9xi32>, tensor<4x9xi32>) -> tensor<4x9xi32>
  %3 = dl.cast %u {dtype = i32} : (tensor<9x5xui8>) -> tensor<9x5xi32>
  %4 = dl.relu %3 : (tensor<9x5xi32>) -> tensor<9x5xi32>
  %5 = dl.matmul %2, %4 : (tensor<4x9xi32>, tensor<9x5xi32>) -> tensor<4x5xi32>
  return %5 : tensor<4x5xi32>
}

// -----

// For any number of rows.
// CHECK-LABEL: @of_any_rows
// CHECK: %[[C:.*]] = dl.cast %arg0 {dtype = i32}
// CHECK-NEXT: %[[Z:.*]] = dl.full 3 : i32 -> tensor<?x9xi32, #dl.t<[s0, 9]>>
// CHECK-NEXT: %[[A:.*]] = dl.sub %[[C]], %[[Z]]
// CHECK-NEXT: %[[B:.*]] = dl.cast %{{.*}} {dtype = i32}
// CHECK-NEXT: dl.matmul %[[A]], %[[B]]
// KERNELS-LABEL: dlx.program @of_any_rows
// KERNELS: dlx.launch @{{.*}}(%arg0, %{{.*}})
func.func @of_any_rows(%x: tensor<?x9xui8, #dl.t<[s0, 9]>>) -> tensor<?x5xui8, #dl.t<[s0, 5]>> {
  %w = dl.weight "w" : tensor<9x5xi8>
  %zero = dl.full 3 : i32 -> tensor<?x9xi32, #dl.t<[s0, 9]>>
  %scale = dl.full 0.125 : f32 -> tensor<?x5xf32, #dl.t<[s0, 5]>>
  %0 = dl.cast %x {dtype = i32} : (tensor<?x9xui8, #dl.t<[s0, 9]>>) -> tensor<?x9xi32, #dl.t<[s0, 9]>>
  %1 = dl.sub %0, %zero : (tensor<?x9xi32, #dl.t<[s0, 9]>>, tensor<?x9xi32, #dl.t<[s0, 9]>>) -> tensor<?x9xi32, #dl.t<[s0, 9]>>
  %2 = dl.cast %w {dtype = i32} : (tensor<9x5xi8>) -> tensor<9x5xi32>
  %3 = dl.matmul %1, %2 : (tensor<?x9xi32, #dl.t<[s0, 9]>>, tensor<9x5xi32>) -> tensor<?x5xi32, #dl.t<[s0, 5]>>
  %4 = dl.cast %3 {dtype = f32} : (tensor<?x5xi32, #dl.t<[s0, 5]>>) -> tensor<?x5xf32, #dl.t<[s0, 5]>>
  %5 = dl.mul %4, %scale : (tensor<?x5xf32, #dl.t<[s0, 5]>>, tensor<?x5xf32, #dl.t<[s0, 5]>>) -> tensor<?x5xf32, #dl.t<[s0, 5]>>
  %6 = dl.cast %5 {dtype = ui8} : (tensor<?x5xf32, #dl.t<[s0, 5]>>) -> tensor<?x5xui8, #dl.t<[s0, 5]>>
  return %6 : tensor<?x5xui8, #dl.t<[s0, 5]>>
}
