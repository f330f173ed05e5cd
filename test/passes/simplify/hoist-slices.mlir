// RUN: dlc-opt %s -hoist-slices -canonicalize -cse -split-input-file | FileCheck %s

// The residual and both layers are computed for one token; what is sliced is what is stored.
// CHECK-LABEL: @class_token
// CHECK-SAME: (%[[X:.*]]: tensor<?x9x8xf32
// CHECK: %[[ONE:.*]] = dl.slice %[[X]] {dim = 1 : i64, end = 1 : i64, start = 0 : i64} : {{.*}} -> tensor<?x1x8xf32
// CHECK: %[[NORM:.*]] = dl.standardize %[[ONE]], {{.*}} -> tensor<?x1x8xf32
// CHECK: %[[UP:.*]] = dl.matmul %[[NORM]]
// CHECK: %[[BIAS:.*]] = dl.broadcast %{{.*}} : (tensor<16xf32>) -> tensor<?x1x16xf32
// CHECK: %[[SUM:.*]] = dl.add %[[UP]], %[[BIAS]]
// CHECK: %[[ACTIVE:.*]] = dl.relu %[[SUM]]
// CHECK: %[[DOWN:.*]] = dl.linear %[[ACTIVE]], {{.*}} -> tensor<?x1x8xf32
// CHECK: %[[Y:.*]] = dl.add %[[ONE]], %[[DOWN]]
// CHECK: return %[[Y]]
module attributes {dl.symbols = [#dl.symbol<"N", 1, 8>]} {
func.func @class_token(%x: tensor<?x9x8xf32, #dl.t<[s0, 9, 8]>>) -> tensor<?x1x8xf32, #dl.t<[s0, 1, 8]>> {
  %g = dl.weight "g" : tensor<8xf32>
  %w = dl.weight "w" : tensor<8x16xf32>
  %b = dl.weight "b" : tensor<16xf32>
  %u = dl.weight "u" : tensor<8x16xf32>
  %b3 = dl.broadcast %b : (tensor<16xf32>) -> tensor<?x9x16xf32, #dl.t<[s0, 9, 16]>>
  %0 = dl.standardize %x, %g {dims = array<i64: 2>, affine_dims = array<i64: 2>} : (tensor<?x9x8xf32, #dl.t<[s0, 9, 8]>>, tensor<8xf32>) -> tensor<?x9x8xf32, #dl.t<[s0, 9, 8]>>
  %1 = dl.matmul %0, %w : (tensor<?x9x8xf32, #dl.t<[s0, 9, 8]>>, tensor<8x16xf32>) -> tensor<?x9x16xf32, #dl.t<[s0, 9, 16]>>
  %2 = dl.add %1, %b3 : (tensor<?x9x16xf32, #dl.t<[s0, 9, 16]>>, tensor<?x9x16xf32, #dl.t<[s0, 9, 16]>>) -> tensor<?x9x16xf32, #dl.t<[s0, 9, 16]>>
  %3 = dl.relu %2 : (tensor<?x9x16xf32, #dl.t<[s0, 9, 16]>>) -> tensor<?x9x16xf32, #dl.t<[s0, 9, 16]>>
  %4 = dl.linear %3, %u : (tensor<?x9x16xf32, #dl.t<[s0, 9, 16]>>, tensor<8x16xf32>) -> tensor<?x9x8xf32, #dl.t<[s0, 9, 8]>>
  %5 = dl.add %x, %4 : (tensor<?x9x8xf32, #dl.t<[s0, 9, 8]>>, tensor<?x9x8xf32, #dl.t<[s0, 9, 8]>>) -> tensor<?x9x8xf32, #dl.t<[s0, 9, 8]>>
  %6 = dl.slice %5 {dim = 1 : i64, end = 1 : i64} : (tensor<?x9x8xf32, #dl.t<[s0, 9, 8]>>) -> tensor<?x1x8xf32, #dl.t<[s0, 1, 8]>>
  return %6 : tensor<?x1x8xf32, #dl.t<[s0, 1, 8]>>
}
}

// -----

// One query row: the softmax runs along the keys, which stay whole. The columns of a product are rows of its weight.
// CHECK-LABEL: @rows_and_columns
// CHECK-SAME: (%[[Q:.*]]: tensor<6x4xf32>, %[[K:.*]]: tensor<4x5xf32>)
// CHECK-DAG: %[[W:.*]] = dl.weight "w"
// CHECK-DAG: %[[B:.*]] = dl.weight "b"
// CHECK-DAG: %[[ROW:.*]] = dl.slice %[[Q]] {end = 6 : i64, start = 5 : i64}
// CHECK-DAG: %[[SCORES:.*]] = dl.matmul %[[ROW]], %[[K]] : (tensor<1x4xf32>, tensor<4x5xf32>) -> tensor<1x5xf32>
// CHECK-DAG: dl.softmax %[[SCORES]] {dim = 1 : i64} : (tensor<1x5xf32>) -> tensor<1x5xf32>
// CHECK-DAG: %[[PART:.*]] = dl.slice %[[W]] {{.*}} -> tensor<2x4xf32>
// CHECK-DAG: %[[BIAS:.*]] = dl.slice %[[B]] {{.*}} -> tensor<2xf32>
// CHECK-DAG: dl.linear %[[Q]], %[[PART]], %[[BIAS]] : (tensor<6x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<6x2xf32>
// CHECK: return
func.func @rows_and_columns(%q: tensor<6x4xf32>, %k: tensor<4x5xf32>) -> (tensor<1x5xf32>, tensor<6x2xf32>) {
  %w = dl.weight "w" : tensor<8x4xf32>
  %b = dl.weight "b" : tensor<8xf32>
  %0 = dl.matmul %q, %k : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %1 = dl.softmax %0 {dim = 1 : i64} : (tensor<6x5xf32>) -> tensor<6x5xf32>
  %2 = dl.slice %1 {start = -1 : i64} : (tensor<6x5xf32>) -> tensor<1x5xf32>
  %3 = dl.linear %q, %w, %b : (tensor<6x4xf32>, tensor<8x4xf32>, tensor<8xf32>) -> tensor<6x8xf32>
  %4 = dl.slice %3 {dim = -1 : i64, start = 2 : i64, end = 4 : i64} : (tensor<6x8xf32>) -> tensor<6x2xf32>
  return %2, %4 : tensor<1x5xf32>, tensor<6x2xf32>
}

// -----

// Three parts of one product: it is computed once, and each part is permuted by itself.
// CHECK-LABEL: @parts
// CHECK: %[[Y:.*]] = dl.matmul
// CHECK: %[[SPLIT:.*]] = dl.reshape %[[Y]] {{.*}} -> tensor<4x3x8xf32>
// CHECK-DAG: %[[P:.*]] = dl.slice %[[SPLIT]] {dim = 1 : i64, end = 1 : i64, start = 0 : i64}
// CHECK-DAG: dl.permute %[[P]] {dims = array<i64: 1, 0, 2>} : (tensor<4x1x8xf32>) -> tensor<1x4x8xf32>
// CHECK-DAG: %[[R:.*]] = dl.slice %[[SPLIT]] {dim = 1 : i64, end = 3 : i64, start = 1 : i64}
// CHECK-DAG: dl.permute %[[R]] {dims = array<i64: 1, 0, 2>} : (tensor<4x2x8xf32>) -> tensor<2x4x8xf32>
func.func @parts(%x: tensor<4x5xf32>, %w: tensor<5x24xf32>) -> (tensor<1x4x8xf32>, tensor<2x4x8xf32>) {
  %0 = dl.matmul %x, %w : (tensor<4x5xf32>, tensor<5x24xf32>) -> tensor<4x24xf32>
  %1 = dl.reshape %0 {shape = affine_map<() -> (4, 3, 8)>} : (tensor<4x24xf32>) -> tensor<4x3x8xf32>
  %2 = dl.permute %1 {dims = array<i64: 1, 0, 2>} : (tensor<4x3x8xf32>) -> tensor<3x4x8xf32>
  %3 = dl.slice %2 {end = 1 : i64} : (tensor<3x4x8xf32>) -> tensor<1x4x8xf32>
  %4 = dl.slice %2 {start = 1 : i64} : (tensor<3x4x8xf32>) -> tensor<2x4x8xf32>
  return %3, %4 : tensor<1x4x8xf32>, tensor<2x4x8xf32>
}

// -----

// The halves of channels that two groups are shuffled into.
// CHECK-LABEL: @shuffle
// CHECK: %[[GROUPS:.*]] = dl.reshape %arg0 {{.*}} -> tensor<2x2x4x5xf32>
// CHECK: %[[HALF:.*]] = dl.slice %[[GROUPS]] {dim = 2 : i64, end = 4 : i64, start = 2 : i64}
// CHECK: %[[TURNED:.*]] = dl.permute %[[HALF]] {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x2x2x5xf32>)
// CHECK: dl.reshape %[[TURNED]] {{.*}} -> tensor<2x4x5xf32>
func.func @shuffle(%x: tensor<2x8x5xf32>) -> tensor<2x4x5xf32> {
  %0 = dl.reshape %x {shape = affine_map<() -> (2, 2, 4, 5)>} : (tensor<2x8x5xf32>) -> tensor<2x2x4x5xf32>
  %1 = dl.permute %0 {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x2x4x5xf32>) -> tensor<2x4x2x5xf32>
  %2 = dl.reshape %1 {shape = affine_map<() -> (2, 8, 5)>} : (tensor<2x4x2x5xf32>) -> tensor<2x8x5xf32>
  %3 = dl.slice %2 {dim = 1 : i64, start = 4 : i64} : (tensor<2x8x5xf32>) -> tensor<2x4x5xf32>
  return %3 : tensor<2x4x5xf32>
}

// -----

// What was joined is read where it was; a slice of a slice is one slice.
// CHECK-LABEL: @joined
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xf32>, %[[Y:.*]]: tensor<2x6xf32>)
// CHECK-NEXT: %[[PART:.*]] = dl.slice %[[Y]] {dim = 1 : i64, end = 3 : i64, start = 2 : i64}
// CHECK-NEXT: return %[[X]], %[[PART]]
func.func @joined(%x: tensor<2x4xf32>, %y: tensor<2x6xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>) {
  %0 = dl.cat %x, %y {dim = 1 : i64} : (tensor<2x4xf32>, tensor<2x6xf32>) -> tensor<2x10xf32>
  %1 = dl.slice %0 {dim = 1 : i64, end = 4 : i64} : (tensor<2x10xf32>) -> tensor<2x4xf32>
  %2 = dl.slice %0 {dim = 1 : i64, start = 5 : i64} : (tensor<2x10xf32>) -> tensor<2x5xf32>
  %3 = dl.slice %2 {dim = 1 : i64, start = 1 : i64, end = 2 : i64} : (tensor<2x5xf32>) -> tensor<2x1xf32>
  return %1, %3 : tensor<2x4xf32>, tensor<2x1xf32>
}

// -----

// CHECK-LABEL: @rolled
// CHECK-NEXT: %[[Y:.*]] = dl.roll %arg0 {dims = array<i64: 1>, shifts = array<i64: -3>}
// CHECK-NEXT: return %[[Y]]
func.func @rolled(%x: tensor<2x8x5xf32>) -> tensor<2x8x5xf32> {
  %0 = dl.slice %x {dim = 1 : i64, start = 3 : i64} : (tensor<2x8x5xf32>) -> tensor<2x5x5xf32>
  %1 = dl.slice %x {dim = 1 : i64, end = 3 : i64} : (tensor<2x8x5xf32>) -> tensor<2x3x5xf32>
  %2 = dl.cat %0, %1 {dim = 1 : i64} : (tensor<2x5x5xf32>, tensor<2x3x5xf32>) -> tensor<2x8x5xf32>
  return %2 : tensor<2x8x5xf32>
}

// -----

// CHECK-LABEL: @whole
// CHECK-NEXT: return %arg0
func.func @whole(%x: tensor<2x8x5xf32>) -> tensor<2x8x5xf32> {
  %0 = dl.slice %x {dim = 1 : i64, end = 3 : i64} : (tensor<2x8x5xf32>) -> tensor<2x3x5xf32>
  %1 = dl.slice %x {dim = 1 : i64, start = 3 : i64, end = -1 : i64} : (tensor<2x8x5xf32>) -> tensor<2x4x5xf32>
  %2 = dl.slice %x {dim = 1 : i64, start = -1 : i64} : (tensor<2x8x5xf32>) -> tensor<2x1x5xf32>
  %3 = dl.cat %0, %1, %2 {dim = -2 : i64} : (tensor<2x3x5xf32>, tensor<2x4x5xf32>, tensor<2x1x5xf32>) -> tensor<2x8x5xf32>
  return %3 : tensor<2x8x5xf32>
}

// -----

// No roll: the parts overlap, along the last dim, which vectors go along, or of two tensors.
// CHECK-LABEL: @no_roll
// CHECK-NOT: dl.roll
// CHECK: return
func.func @no_roll(%x: tensor<8x5xf32>, %y: tensor<8x5xf32>) -> (tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>) {
  %0 = dl.slice %x {start = 3 : i64} : (tensor<8x5xf32>) -> tensor<5x5xf32>
  %1 = dl.slice %x {start = 1 : i64, end = 4 : i64} : (tensor<8x5xf32>) -> tensor<3x5xf32>
  %2 = dl.cat %0, %1 : (tensor<5x5xf32>, tensor<3x5xf32>) -> tensor<8x5xf32>
  %3 = dl.slice %x {dim = 1 : i64, start = 3 : i64} : (tensor<8x5xf32>) -> tensor<8x2xf32>
  %4 = dl.slice %x {dim = 1 : i64, end = 3 : i64} : (tensor<8x5xf32>) -> tensor<8x3xf32>
  %5 = dl.cat %3, %4 {dim = 1 : i64} : (tensor<8x2xf32>, tensor<8x3xf32>) -> tensor<8x5xf32>
  %6 = dl.slice %x {start = 2 : i64} : (tensor<8x5xf32>) -> tensor<6x5xf32>
  %7 = dl.slice %y {end = 2 : i64} : (tensor<8x5xf32>) -> tensor<2x5xf32>
  %8 = dl.cat %6, %7 : (tensor<6x5xf32>, tensor<2x5xf32>) -> tensor<8x5xf32>
  return %2, %5, %8 : tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>
}

// -----

// Stays: along what a norm or a softmax reduces; of an output; of what two different parts are read; of a kernel of its own;
// every second index.
// CHECK-LABEL: @stays
// CHECK-DAG: %[[NORM:.*]] = dl.standardize %arg0 {{.*}} -> tensor<4x8xf32>
// CHECK-DAG: dl.slice %[[NORM]]
// CHECK-DAG: %[[SOFT:.*]] = dl.softmax %arg0
// CHECK-DAG: dl.slice %[[SOFT]]
// CHECK-DAG: %[[OUT:.*]] = dl.relu %arg0
// CHECK-DAG: dl.slice %[[OUT]]
// CHECK-DAG: %[[TWICE:.*]] = dl.sigmoid %arg0
// CHECK-DAG: dl.slice %[[TWICE]] {end = 1 : i64}
// CHECK-DAG: dl.slice %[[TWICE]] {end = 2 : i64}
// CHECK-DAG: %[[ALONE:.*]] = dl.tanh %arg0 {dl.no_fuse}
// CHECK-DAG: dl.slice %[[ALONE]]
// CHECK-DAG: %[[STEP:.*]] = dl.exp %arg0
// CHECK-DAG: dl.slice %[[STEP]] {step = 2 : i64}
// CHECK: return
func.func @stays(%x: tensor<4x8xf32>) -> (tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>, tensor<2x8xf32>, tensor<1x8xf32>, tensor<2x8xf32>) {
  %0 = dl.standardize %x {dims = array<i64: 1>, affine_dims = array<i64>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dl.slice %0 {dim = 1 : i64, end = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = dl.softmax %x {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = dl.slice %2 {dim = 1 : i64, end = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %4 = dl.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = dl.slice %4 {end = 1 : i64} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %6 = dl.sigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %7 = dl.slice %6 {end = 1 : i64} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %8 = dl.slice %6 {end = 2 : i64} : (tensor<4x8xf32>) -> tensor<2x8xf32>
  %9 = dl.tanh %x {dl.no_fuse} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %10 = dl.slice %9 {end = 1 : i64} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %11 = dl.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %12 = dl.slice %11 {step = 2 : i64} : (tensor<4x8xf32>) -> tensor<2x8xf32>
  return %1, %3, %4, %5, %7, %8, %10, %12 : tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>, tensor<2x8xf32>, tensor<1x8xf32>, tensor<2x8xf32>
}

// -----

// Nor of what is computed at load, nor where the data say how many rows there are.
// CHECK-LABEL: @load_or_counted
// CHECK: %[[W:.*]] = dl.relu %{{.*}} : (tensor<4x8xf32>)
// CHECK: dl.slice %[[W]]
// CHECK: %[[Y:.*]] = dl.relu %arg0
// CHECK: dl.slice %[[Y]]
module attributes {dl.symbols = [#dl.symbol<"K", 0, 8, most = () -> (8)>]} {
func.func @load_or_counted(%x: tensor<?x8xf32, #dl.t<[s0, 8]>>) -> (tensor<1x8xf32>, tensor<?x1xf32, #dl.t<[s0, 1]>>) {
  %w = dl.weight "w" : tensor<4x8xf32>
  %0 = dl.relu %w : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dl.slice %0 {end = 1 : i64} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %2 = dl.relu %x : (tensor<?x8xf32, #dl.t<[s0, 8]>>) -> tensor<?x8xf32, #dl.t<[s0, 8]>>
  %3 = dl.slice %2 {dim = 1 : i64, end = 1 : i64} : (tensor<?x8xf32, #dl.t<[s0, 8]>>) -> tensor<?x1xf32, #dl.t<[s0, 1]>>
  return %1, %3 : tensor<1x8xf32>, tensor<?x1xf32, #dl.t<[s0, 1]>>
}
}

// -----

// Queries, keys and values of one product, as people write them: each is a slice of a view, which an attention reads where it lies.
// CHECK-LABEL: @heads
// CHECK-SAME: (%[[X:.*]]: tensor<?x7x24xf32
// CHECK-NEXT: %[[V:.*]] = dl.reshape %[[X]] {{.*}} -> tensor<?x7x6x4xf32
// CHECK-NEXT: %[[Q:.*]] = dl.slice %[[V]] {dim = 2 : i64, end = 2 : i64, start = 0 : i64} {{.*}} -> tensor<?x7x2x4xf32
// CHECK-NEXT: %[[QP:.*]] = dl.permute %[[Q]] {dims = array<i64: 0, 2, 1, 3>} {{.*}} -> tensor<?x2x7x4xf32
// CHECK-NEXT: %[[K:.*]] = dl.slice %[[V]] {dim = 2 : i64, end = 4 : i64, start = 2 : i64} {{.*}} -> tensor<?x7x2x4xf32
// CHECK-NEXT: %[[KP:.*]] = dl.permute %[[K]] {dims = array<i64: 0, 2, 1, 3>} {{.*}} -> tensor<?x2x7x4xf32
// CHECK-NEXT: return %[[QP]], %[[KP]]
#x = #dl.t<[s0, 7, 24]>
#v = #dl.t<[s0, 7, 3, 2, 4]>
#p = #dl.t<[3, s0, 2, 7, 4]>
#s = #dl.t<[1, s0, 2, 7, 4]>
#y = #dl.t<[s0, 2, 7, 4]>
module attributes {dl.symbols = [#dl.symbol<"N", 1, 8>]} {
func.func @heads(%x: tensor<?x7x24xf32, #x>) -> (tensor<?x2x7x4xf32, #y>, tensor<?x2x7x4xf32, #y>) {
  %v = dl.reshape %x {shape = affine_map<()[s0] -> (s0, 7, 3, 2, 4)>} : (tensor<?x7x24xf32, #x>) -> tensor<?x7x3x2x4xf32, #v>
  %p = dl.permute %v {dims = array<i64: 2, 0, 3, 1, 4>} : (tensor<?x7x3x2x4xf32, #v>) -> tensor<3x?x2x7x4xf32, #p>
  %0 = dl.slice %p {end = 1 : i64} : (tensor<3x?x2x7x4xf32, #p>) -> tensor<1x?x2x7x4xf32, #s>
  %1 = dl.reshape %0 {shape = affine_map<()[s0] -> (s0, 2, 7, 4)>} : (tensor<1x?x2x7x4xf32, #s>) -> tensor<?x2x7x4xf32, #y>
  %2 = dl.slice %p {end = 2 : i64, start = 1 : i64} : (tensor<3x?x2x7x4xf32, #p>) -> tensor<1x?x2x7x4xf32, #s>
  %3 = dl.reshape %2 {shape = affine_map<()[s0] -> (s0, 2, 7, 4)>} : (tensor<1x?x2x7x4xf32, #s>) -> tensor<?x2x7x4xf32, #y>
  return %1, %3 : tensor<?x2x7x4xf32, #y>, tensor<?x2x7x4xf32, #y>
}
}

// -----

// Stays: of two indices, with other dims than one less, of a tensor that is no view, and where the text asks for a kernel.
// CHECK-LABEL: @no_heads
// CHECK-NEXT: dl.reshape {{.*}} -> tensor<8x3x2x4xf32>
// CHECK-NEXT: dl.slice {{.*}} -> tensor<8x2x2x4xf32>
// CHECK-NEXT: dl.reshape {{.*}} -> tensor<8x16xf32>
// CHECK-NEXT: dl.slice {{.*}} -> tensor<8x1x2x4xf32>
// CHECK-NEXT: dl.reshape {{.*}} -> tensor<8x8xf32>
// CHECK-NEXT: dl.reshape {{.*}} -> tensor<8x3x2x4xf32>
// CHECK-NEXT: dl.slice {{.*}} -> tensor<8x1x2x4xf32>
// CHECK-NEXT: dl.reshape {{.*}}dl.no_fuse{{.*}} -> tensor<8x2x4xf32>
// CHECK-NEXT: dl.slice {{.*}} -> tensor<1x7xf32>
// CHECK-NEXT: dl.reshape {{.*}} -> tensor<7xf32>
func.func @no_heads(%x: tensor<8x24xf32>, %z: tensor<8x24xf32>, %w: tensor<5x7xf32>) -> (tensor<8x16xf32>, tensor<8x8xf32>, tensor<8x2x4xf32>, tensor<7xf32>) {
  %v = dl.reshape %x {shape = affine_map<() -> (8, 3, 2, 4)>} : (tensor<8x24xf32>) -> tensor<8x3x2x4xf32>
  %0 = dl.slice %v {dim = 1 : i64, end = 2 : i64} : (tensor<8x3x2x4xf32>) -> tensor<8x2x2x4xf32>
  %1 = dl.reshape %0 {shape = affine_map<() -> (8, 16)>} : (tensor<8x2x2x4xf32>) -> tensor<8x16xf32>
  %2 = dl.slice %v {dim = 1 : i64, start = 2 : i64} : (tensor<8x3x2x4xf32>) -> tensor<8x1x2x4xf32>
  %3 = dl.reshape %2 {shape = affine_map<() -> (8, 8)>} : (tensor<8x1x2x4xf32>) -> tensor<8x8xf32>
  %u = dl.reshape %z {shape = affine_map<() -> (8, 3, 2, 4)>} : (tensor<8x24xf32>) -> tensor<8x3x2x4xf32>
  %4 = dl.slice %u {dim = 1 : i64, end = 1 : i64} : (tensor<8x3x2x4xf32>) -> tensor<8x1x2x4xf32>
  %5 = dl.reshape %4 {dl.no_fuse, shape = affine_map<() -> (8, 2, 4)>} : (tensor<8x1x2x4xf32>) -> tensor<8x2x4xf32>
  %6 = dl.slice %w {end = 1 : i64} : (tensor<5x7xf32>) -> tensor<1x7xf32>
  %7 = dl.reshape %6 {shape = affine_map<() -> (7)>} : (tensor<1x7xf32>) -> tensor<7xf32>
  return %1, %3, %5, %7 : tensor<8x16xf32>, tensor<8x8xf32>, tensor<8x2x4xf32>, tensor<7xf32>
}
