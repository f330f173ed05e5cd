// RUN: dlc-opt %s -raise-caches -split-input-file | FileCheck %s

// A scatter at arange(T) + counter is a part written behind the positions that the counter has. T is at most what the cache holds.

// CHECK: module attributes {dl.cache = {capacity = 8 : i64, step = #[[STEP:.*]]}, dl.symbols = [#dl.symbol<"T", 1, 8 why "a cache of the model holds 8 positions">]}
// CHECK-LABEL: func @index_copy
// CHECK-SAME: %[[X:.*]]: tensor<1x?x4xf32, {{.*}}, %[[CACHE:.*]]: tensor<1x8x4xf32> {{.*}}, %[[COUNT:.*]]: tensor<i64>
// CHECK: %[[NEXT:.*]] = dl.update_slice %[[CACHE]], %[[COUNT]], %[[X]] {dim = 1 : i64}
// CHECK: return %[[NEXT]], %[[NEXT]]
module attributes {dl.symbols = [#dl.symbol<"T", 1, 4096>]} {
  func.func @index_copy(%x: tensor<1x?x4xf32, #dl.t<[1, s0, 4]>> {dl.name = "x"},
                        %cache: tensor<1x8x4xf32> {dl.name = "cache", dl.state}, %count: tensor<i64> {dl.name = "count", dl.state})
      -> (tensor<1x8x4xf32> {dl.name = "y"}, tensor<1x8x4xf32> {dl.name = "cache", dl.state}, tensor<i64> {dl.name = "count", dl.state}) {
    %0 = dl.arange {end = affine_map<()[s0] -> (s0)>, dtype = i64} : () -> tensor<?xi64, #dl.t<[s0]>>
    %1 = dl.broadcast %count : (tensor<i64>) -> tensor<?xi64, #dl.t<[s0]>>
    %2 = dl.add %0, %1 : (tensor<?xi64, #dl.t<[s0]>>, tensor<?xi64, #dl.t<[s0]>>) -> tensor<?xi64, #dl.t<[s0]>>
    %3 = dl.reshape %2 {shape = affine_map<()[s0] -> (s0, 1)>} : (tensor<?xi64, #dl.t<[s0]>>) -> tensor<?x1xi64, #dl.t<[s0, 1]>>
    %4 = dl.broadcast %3 : (tensor<?x1xi64, #dl.t<[s0, 1]>>) -> tensor<1x?x4xi64, #dl.t<[1, s0, 4]>>
    %5 = dl.scatter %cache, %4, %x {dim = 1 : i64} : (tensor<1x8x4xf32>, tensor<1x?x4xi64, #dl.t<[1, s0, 4]>>, tensor<1x?x4xf32, #dl.t<[1, s0, 4]>>) -> tensor<1x8x4xf32>
    %6 = dl.scalar_tensor {s = affine_map<()[s0] -> (s0)>, dtype = i64} : () -> tensor<i64>
    %7 = dl.add %count, %6 : (tensor<i64>, tensor<i64>) -> tensor<i64>
    return %5, %5, %7 : tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<i64>
  }
}

// -----

// Not where the range begins at 1, where the counter counts otherwise, where the places run along another dim, or where the state
// gets another value.

// CHECK-NOT: dl.cache
// CHECK-LABEL: func @stays
// CHECK-COUNT-4: dl.scatter
// CHECK-NOT: dl.update_slice
func.func @stays(%x: tensor<2x4xf32> {dl.name = "x"},
                 %a: tensor<8x4xf32> {dl.name = "a", dl.state}, %b: tensor<8x4xf32> {dl.name = "b", dl.state},
                 %c: tensor<2x4xf32> {dl.name = "c", dl.state}, %d: tensor<8x4xf32> {dl.name = "d", dl.state},
                 %count: tensor<i64> {dl.name = "count", dl.state}, %other: tensor<i64> {dl.name = "other", dl.state})
    -> (tensor<8x4xf32> {dl.name = "a", dl.state}, tensor<8x4xf32> {dl.name = "b", dl.state},
        tensor<2x4xf32> {dl.name = "c", dl.state}, tensor<8x4xf32> {dl.name = "d", dl.state},
        tensor<i64> {dl.name = "count", dl.state}, tensor<i64> {dl.name = "other", dl.state}) {
  %two = dl.full 2 : i64 -> tensor<i64>
  %three = dl.full 3 : i64 -> tensor<i64>
  %from1 = dl.arange {start = affine_map<() -> (1)>, end = affine_map<() -> (3)>, dtype = i64} : () -> tensor<2xi64>
  %from0 = dl.arange {end = affine_map<() -> (2)>, dtype = i64} : () -> tensor<2xi64>
  %0 = dl.broadcast %count : (tensor<i64>) -> tensor<2xi64>
  %1 = dl.add %from1, %0 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %2 = dl.unsqueeze %1 {dim = 1 : i64} : (tensor<2xi64>) -> tensor<2x1xi64>
  %3 = dl.broadcast %2 : (tensor<2x1xi64>) -> tensor<2x4xi64>
  %4 = dl.scatter %a, %3, %x {dim = 0 : i64} : (tensor<8x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<8x4xf32>
  %5 = dl.broadcast %other : (tensor<i64>) -> tensor<2xi64>
  %6 = dl.add %from0, %5 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %7 = dl.unsqueeze %6 {dim = 1 : i64} : (tensor<2xi64>) -> tensor<2x1xi64>
  %8 = dl.broadcast %7 : (tensor<2x1xi64>) -> tensor<2x4xi64>
  %9 = dl.scatter %b, %8, %x {dim = 0 : i64} : (tensor<8x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<8x4xf32>
  %10 = dl.add %from0, %0 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %11 = dl.unsqueeze %10 {dim = 1 : i64} : (tensor<2xi64>) -> tensor<2x1xi64>
  %12 = dl.broadcast %11 : (tensor<2x1xi64>) -> tensor<2x4xi64>
  %13 = dl.scatter %c, %12, %x {dim = 1 : i64} : (tensor<2x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %14 = dl.scatter %d, %12, %x {dim = 0 : i64} : (tensor<8x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<8x4xf32>
  %15 = dl.relu %14 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %16 = dl.add %count, %two : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %17 = dl.add %other, %three : (tensor<i64>, tensor<i64>) -> tensor<i64>
  return %4, %9, %13, %15, %16, %17 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x4xf32>, tensor<i64>, tensor<i64>
}

// -----

// update_slice as the language has it: the smallest cache counts.

// CHECK: module attributes {dl.cache = {capacity = 6 : i64, step = #{{.*}}}}
// CHECK-LABEL: func @written
func.func @written(%x: tensor<2x4xf32> {dl.name = "x"}, %a: tensor<8x4xf32> {dl.name = "a", dl.state},
                   %b: tensor<6x4xf32> {dl.name = "b", dl.state}, %count: tensor<i64> {dl.name = "count", dl.state})
    -> (tensor<8x4xf32> {dl.name = "a", dl.state}, tensor<6x4xf32> {dl.name = "b", dl.state}, tensor<i64> {dl.name = "count", dl.state}) {
  %two = dl.full 2 : i64 -> tensor<i64>
  %0 = dl.update_slice %a, %count, %x {dim = 0 : i64} : (tensor<8x4xf32>, tensor<i64>, tensor<2x4xf32>) -> tensor<8x4xf32>
  %1 = dl.update_slice %b, %count, %x {dim = 0 : i64} : (tensor<6x4xf32>, tensor<i64>, tensor<2x4xf32>) -> tensor<6x4xf32>
  %2 = dl.add %count, %two : (tensor<i64>, tensor<i64>) -> tensor<i64>
  return %0, %1, %2 : tensor<8x4xf32>, tensor<6x4xf32>, tensor<i64>
}

// -----

// The runtime counts one step: of two caches that take different numbers of positions one stays a scatter.

// CHECK: module attributes {dl.cache = {capacity = 8 : i64
// CHECK-LABEL: func @two_steps
// CHECK: dl.update_slice %{{.*}} -> tensor<8x4xf32>
// CHECK: dl.scatter %{{.*}} -> tensor<9x4xf32>
func.func @two_steps(%x: tensor<2x4xf32> {dl.name = "x"}, %z: tensor<3x4xf32> {dl.name = "z"},
                     %a: tensor<8x4xf32> {dl.name = "a", dl.state}, %b: tensor<9x4xf32> {dl.name = "b", dl.state},
                     %count: tensor<i64> {dl.name = "count", dl.state}, %other: tensor<i64> {dl.name = "other", dl.state})
    -> (tensor<8x4xf32> {dl.name = "a", dl.state}, tensor<9x4xf32> {dl.name = "b", dl.state},
        tensor<i64> {dl.name = "count", dl.state}, tensor<i64> {dl.name = "other", dl.state}) {
  %two = dl.full 2 : i64 -> tensor<i64>
  %three = dl.full 3 : i64 -> tensor<i64>
  %0 = dl.arange {end = affine_map<() -> (2)>, dtype = i64} : () -> tensor<2xi64>
  %1 = dl.broadcast %count : (tensor<i64>) -> tensor<2xi64>
  %2 = dl.add %0, %1 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %3 = dl.unsqueeze %2 {dim = 1 : i64} : (tensor<2xi64>) -> tensor<2x1xi64>
  %4 = dl.broadcast %3 : (tensor<2x1xi64>) -> tensor<2x4xi64>
  %5 = dl.scatter %a, %4, %x {dim = 0 : i64} : (tensor<8x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<8x4xf32>
  %6 = dl.arange {end = affine_map<() -> (3)>, dtype = i64} : () -> tensor<3xi64>
  %7 = dl.broadcast %other : (tensor<i64>) -> tensor<3xi64>
  %8 = dl.add %6, %7 : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %9 = dl.unsqueeze %8 {dim = 1 : i64} : (tensor<3xi64>) -> tensor<3x1xi64>
  %10 = dl.broadcast %9 : (tensor<3x1xi64>) -> tensor<3x4xi64>
  %11 = dl.scatter %b, %10, %z {dim = 0 : i64} : (tensor<9x4xf32>, tensor<3x4xi64>, tensor<3x4xf32>) -> tensor<9x4xf32>
  %12 = dl.add %count, %two : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %13 = dl.add %other, %three : (tensor<i64>, tensor<i64>) -> tensor<i64>
  return %5, %11, %12, %13 : tensor<8x4xf32>, tensor<9x4xf32>, tensor<i64>, tensor<i64>
}
