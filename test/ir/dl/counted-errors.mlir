// RUN: dlc-opt %s -split-input-file -verify-diagnostics
// Ops whose results are as large as the data say, and the symbols that stand for what they count.

// expected-error @+1 {{the dim 'found' is counted: expected a range from 0 and one dim as its most}}
module attributes {dl.symbols = [#dl.symbol<"found", 1, 32, most = () -> (32)>]} {}

// -----

func.func @trim(%x: tensor<4x2xf32>) {
  // expected-error @+2 {{'dl.trim' needs one of the dims of x, and one dim as its size}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.trim %x {dim = 2 : i64, size = affine_map<() -> (4)>} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @mask(%x: tensor<4x2xf32>, %mask: tensor<3xi1>) {
  // expected-error @+2 {{'dl.masked_select' has a mask of bool[3] for f32[4,2]; expected dims that broadcast}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %n = dl.masked_select %x, %mask : (tensor<4x2xf32>, tensor<3xi1>) -> (tensor<8xf32>, tensor<i64>)
  return
}

// -----

func.func @unique(%x: tensor<4x?xf32, #dl.t<[4, s0]>>) {
  // expected-error @+2 {{'dl.unique' along dim 0 of f32[4,s0] needs static sizes of the other dims, none of them 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %v, %i, %j, %c, %n = dl.unique %x {dim = 0 : i64} : (tensor<4x?xf32, #dl.t<[4, s0]>>) ->
      (tensor<4x?xf32, #dl.t<[4, s0]>>, tensor<4xi64>, tensor<4xi64>, tensor<4xi64>, tensor<i64>)
  return
}

// -----

func.func @boxes(%boxes: tensor<1x6x3xf32>, %scores: tensor<1x2x6xf32>) {
  // expected-error @+2 {{'dl.non_max_suppression' has boxes f32[1,6,3] and scores f32[1,2,6]; expected [images,n,4] and [images,classes,n] of one dtype, and thresholds of one element}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %n = dl.non_max_suppression %boxes, %scores {most = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} :
      (tensor<1x6x3xf32>, tensor<1x2x6xf32>) -> (tensor<4x3xi64>, tensor<i64>)
  return
}

// -----

func.func @most(%boxes: tensor<1x6x4xf32>, %scores: tensor<1x2x6xf32>) {
  // expected-error @+2 {{'dl.non_max_suppression' has most = -1; expected 0 or more}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %n = dl.non_max_suppression %boxes, %scores {most = -1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} :
      (tensor<1x6x4xf32>, tensor<1x2x6xf32>) -> (tensor<12x3xi64>, tensor<i64>)
  return
}

// -----

func.func @suppress(%o: tensor<4x8xi64>, %a: tensor<4x8xf32>, %b: tensor<1x8xf32>, %t: tensor<1xf32>, %m: tensor<4x8xi1>) {
  // expected-error @+2 {{'dl.suppress' needs an order and a mask of the same dims, corners of one type that has these dims or 1 before the last, a threshold of one element, and a count of one dim, got i64[4,8] and f32[4,8]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.suppress %o, %a, %a, %a, %b, %t, %m {count = affine_map<() -> (5)>} :
      (tensor<4x8xi64>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<1x8xf32>, tensor<1xf32>, tensor<4x8xi1>) ->
      tensor<4x5xi64>
  return
}

// -----

func.func @suppress_repeated(%o: tensor<4x8xi64>, %a: tensor<2x8xf32>, %t: tensor<1xf32>, %m: tensor<4x8xi1>) {
  // expected-error @+2 {{'dl.suppress' needs an order and a mask of the same dims, corners of one type that has these dims or 1 before the last, a threshold of one element, and a count of one dim, got i64[4,8] and f32[2,8]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.suppress %o, %a, %a, %a, %a, %t, %m {count = affine_map<() -> (5)>} :
      (tensor<4x8xi64>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<1xf32>, tensor<4x8xi1>) ->
      tensor<4x5xi64>
  return
}

// -----

func.func @nms(%boxes: tensor<9x4xf32>, %scores: tensor<8xf32>) {
  // expected-error @+2 {{'dl.nms' has boxes f32[9,4] and scores f32[8]; expected [n,4] and [n] of one dtype}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %n = dl.nms %boxes, %scores {iou_threshold = 0.5 : f64} : (tensor<9x4xf32>, tensor<8xf32>) -> (tensor<9xi64>, tensor<i64>)
  return
}
