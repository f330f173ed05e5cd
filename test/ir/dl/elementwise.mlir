// RUN: dlc-opt %s | dlc-opt | FileCheck %s
// The example of each record parses, verifies and prints as itself.

// CHECK-LABEL: @add
func.func @add(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
  // CHECK: dl.add
  %y = dl.add %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @sub
func.func @sub(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
  // CHECK: dl.sub
  %y = dl.sub %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @mul
func.func @mul(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
  // CHECK: dl.mul
  %y = dl.mul %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @div
func.func @div(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
  // CHECK: dl.div
  %y = dl.div %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @maximum
func.func @maximum(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
  // CHECK: dl.maximum
  %y = dl.maximum %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @minimum
func.func @minimum(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
  // CHECK: dl.minimum
  %y = dl.minimum %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @neg
func.func @neg(%x: tensor<4x8xf32>) {
  // CHECK: dl.neg
  %y = dl.neg %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @exp
func.func @exp(%x: tensor<4x8xf32>) {
  // CHECK: dl.exp
  %y = dl.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @log
func.func @log(%x: tensor<4x8xf32>) {
  // CHECK: dl.log
  %y = dl.log %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @sqrt
func.func @sqrt(%x: tensor<4x8xf32>) {
  // CHECK: dl.sqrt
  %y = dl.sqrt %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @tanh
func.func @tanh(%x: tensor<4x8xf32>) {
  // CHECK: dl.tanh
  %y = dl.tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @sigmoid
func.func @sigmoid(%x: tensor<4x8xf32>) {
  // CHECK: dl.sigmoid
  %y = dl.sigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @relu
func.func @relu(%x: tensor<4x8xf32>) {
  // CHECK: dl.relu
  %y = dl.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @gelu
func.func @gelu(%x: tensor<4x8xf32>) {
  // CHECK: dl.gelu
  %y = dl.gelu %x {approximate = "tanh"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: @cast
func.func @cast(%x: tensor<4x8xf32>) {
  // CHECK: dl.cast
  %y = dl.cast %x {dtype = f16} : (tensor<4x8xf32>) -> tensor<4x8xf16>
  return
}
