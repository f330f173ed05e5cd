// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions)))' -split-input-file | FileCheck %s

// Activation, residual and what the residual passes through join the convolution.
// CHECK-LABEL: @epilogue
// CHECK: %[[Y:.*]] = dl.fusion(
// CHECK-DAG: dl.conv2d
// CHECK-DAG: dl.neg
// CHECK: dl.add
// CHECK-NEXT: dl.relu
// CHECK-NEXT: dl.yield
// CHECK-NOT: dl.fusion
// CHECK: return %[[Y]]
func.func @epilogue(%x: tensor<2x4x8x8xf32>, %r: tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32> {
  %w = dl.weight "w" : tensor<4x4x1x1xf32>
  %0 = dl.conv2d %x, %w : (tensor<2x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x8x8xf32>
  %1 = dl.neg %r : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %2 = dl.add %0, %1 : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %3 = dl.relu %2 : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  return %3 : tensor<2x4x8x8xf32>
}

// -----

// Elementwise ops, the broadcast and the number that they read, and the softmax behind them: one kernel.
// CHECK-LABEL: @softmax
// CHECK: dl.fusion({{%arg0, %arg1|%arg1, %arg0}})
// CHECK-DAG: dl.full
// CHECK-DAG: dl.broadcast
// CHECK: dl.add
// CHECK: dl.mul
// CHECK: dl.softmax
// CHECK-NEXT: dl.yield
// CHECK-NOT: dl.fusion
func.func @softmax(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %half = dl.full 0.5 : f32 -> tensor<4x8xf32>
  %0 = dl.broadcast %b : (tensor<8xf32>) -> tensor<4x8xf32>
  %1 = dl.add %x, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = dl.mul %1, %half : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = dl.softmax %2 {dim = -1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// Two roots are two kernels; the second takes in the add.
// CHECK-LABEL: @two_roots
// CHECK: dl.fusion
// CHECK: dl.linear
// CHECK-NEXT: dl.yield
// CHECK: dl.fusion
// CHECK: dl.add
// CHECK: dl.sum
// CHECK-NEXT: dl.yield
func.func @two_roots(%x: tensor<4x8xf32>, %r: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4x8xf32>) {
  %w = dl.weight "w" : tensor<8x8xf32>
  %0 = dl.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = dl.add %0, %r : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = dl.sum %1 {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  return %2, %0 : tensor<4xf32>, tensor<4x8xf32>
}

// -----

// A value that is returned and has two users is computed once, and one kernel stores all three; each user has a copy of
// the number that both read.
// CHECK-LABEL: @shared
// CHECK: %[[ALL:.*]]:3 = dl.fusion(%arg0)
// CHECK: dl.exp
// CHECK-DAG: dl.full
// CHECK-DAG: dl.add
// CHECK-DAG: dl.full
// CHECK-DAG: dl.mul
// CHECK-NOT: dl.fusion
// CHECK: return %[[ALL]]
func.func @shared(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %two = dl.full 2.0 : f32 -> tensor<4xf32>
  %0 = dl.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dl.add %0, %two : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = dl.mul %0, %two : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1, %2, %0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Windows that overlap re-read: the exponential is stored. Windows side by side read each element once.
// CHECK-LABEL: @windows
// CHECK: dl.fusion
// CHECK: dl.exp
// CHECK-NEXT: dl.yield
// CHECK: dl.fusion
// CHECK: dl.max_pool2d
// CHECK-NEXT: dl.yield
// CHECK: dl.fusion
// CHECK: dl.exp
// CHECK-NEXT: dl.max_pool2d
func.func @windows(%x: tensor<1x1x9x9xf32>, %y: tensor<1x1x8x8xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) {
  %0 = dl.exp %x : (tensor<1x1x9x9xf32>) -> tensor<1x1x9x9xf32>
  %1 = dl.max_pool2d %0 {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>} : (tensor<1x1x9x9xf32>) -> tensor<1x1x4x4xf32>
  %2 = dl.exp %y : (tensor<1x1x8x8xf32>) -> tensor<1x1x8x8xf32>
  %3 = dl.max_pool2d %2 {kernel_size = array<i64: 2, 2>} : (tensor<1x1x8x8xf32>) -> tensor<1x1x4x4xf32>
  return %1, %3 : tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>
}

// -----

// A contraction reads each element of its operands many times: a cast is repeated, arithmetic is not. What lies under a
// checked read is formed first. A broadcast repeats nothing expensive.
// CHECK-LABEL: @stored_first
// CHECK: dl.fusion
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dl.relu
// CHECK-NEXT: dl.yield
// CHECK: dl.fusion
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dl.cast
// CHECK-NEXT: dl.matmul
// CHECK-NEXT: dl.yield
// CHECK: dl.fusion
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dl.neg
// CHECK-NEXT: dl.yield
// CHECK: dl.fusion
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dl.pad
// CHECK: dl.fusion
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dl.exp
// CHECK-NEXT: dl.yield
// CHECK: dl.fusion
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dl.broadcast
// CHECK-NEXT: dl.add
func.func @stored_first(%a: tensor<4x8xf32>, %b: tensor<8x2xf16>, %c: tensor<4xf32>, %d: tensor<1x8xf32>) -> (tensor<4x2xf32>, tensor<6xf32>, tensor<4x8xf32>) {
  %0 = dl.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dl.cast %b {dtype = f32} : (tensor<8x2xf16>) -> tensor<8x2xf32>
  %2 = dl.matmul %0, %1 : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %3 = dl.neg %c : (tensor<4xf32>) -> tensor<4xf32>
  %4 = dl.pad %3 {pad = affine_map<() -> (1, 1)>} : (tensor<4xf32>) -> tensor<6xf32>
  %5 = dl.exp %d : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %6 = dl.broadcast %5 : (tensor<1x8xf32>) -> tensor<4x8xf32>
  %7 = dl.add %6, %a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2, %4, %7 : tensor<4x2xf32>, tensor<6xf32>, tensor<4x8xf32>
}

// -----

// What depends on weights alone is a kernel of its own, run at load; a row-major reshape is none.
// CHECK-LABEL: @weights_apart
// CHECK: %[[W:.*]] = dl.weight "w"
// CHECK: %[[V:.*]] = dl.reshape %[[W]]
// CHECK: %[[N:.*]] = dl.fusion(%[[V]])
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dl.neg
// CHECK-NEXT: dl.yield
// CHECK: dl.fusion({{.*}}%[[N]]
// CHECK: dl.add
func.func @weights_apart(%x: tensor<8xf32>) -> tensor<8xf32> {
  %w = dl.weight "w" : tensor<2x4xf32>
  %0 = dl.reshape %w {shape = affine_map<() -> (8)>} : (tensor<2x4xf32>) -> tensor<8xf32>
  %1 = dl.neg %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = dl.add %1, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

// A weight that only repeats itself is read as it is; what is computed of it is stored before it is repeated.
// CHECK-LABEL: @repeated_weight
// CHECK: %[[W:.*]] = dl.weight "w"
// CHECK: %[[N:.*]] = dl.fusion(%[[W]]) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: dl.fusion(
// CHECK-DAG: dl.broadcast
// CHECK-DAG: dl.broadcast
// CHECK: dl.yield
// CHECK-NOT: dl.fusion
func.func @repeated_weight(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %w = dl.weight "w" : tensor<4xf32>
  %0 = dl.broadcast %w : (tensor<4xf32>) -> tensor<8x4xf32>
  %1 = dl.add %x, %0 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = dl.neg %w : (tensor<4xf32>) -> tensor<4xf32>
  %3 = dl.broadcast %2 : (tensor<4xf32>) -> tensor<8x4xf32>
  %4 = dl.mul %1, %3 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %4 : tensor<8x4xf32>
}

// A recurrence stays alone, with all of its results; what stands before and after it forms fusions of its own.
// CHECK-LABEL: func.func @recurrence
// CHECK: dl.fusion
// CHECK: dl.mul
// CHECK: %[[R:.*]]:2 = dl.fusion({{.*}}) {edges = [{{.*}}]} : (tensor<5x2x12xf32>, tensor<3x4x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dl.gru_steps
// CHECK-NEXT: dl.yield
// CHECK: dl.fusion(%[[R]]#0)
// CHECK: dl.exp
func.func @recurrence(%x: tensor<5x2x12xf32>, %w: tensor<3x4x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>) {
  %0 = dl.mul %x, %x : (tensor<5x2x12xf32>, tensor<5x2x12xf32>) -> tensor<5x2x12xf32>
  %y, %hn = dl.gru_steps %0, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x12xf32>, tensor<3x4x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
  %1 = dl.exp %y : (tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
  return %1, %hn : tensor<5x2x4xf32>, tensor<2x4xf32>
}

// A value that is looked up for a row joins the kernel that reads it along the row.
// CHECK-LABEL: func.func @scale_of_row
// CHECK: dl.fusion
// CHECK-DAG: dl.embedding %{{.*}} -> tensor<3x8xi8>
// CHECK-DAG: dl.embedding %{{.*}} -> tensor<3x1xf32>
// CHECK-NOT: dl.fusion
// CHECK: return
func.func @scale_of_row(%x: tensor<3xi64>, %codes: tensor<4x8xi8>, %scales: tensor<4x1xf32>) -> tensor<3x8xf32> {
  %0 = dl.embedding %x, %codes : (tensor<3xi64>, tensor<4x8xi8>) -> tensor<3x8xi8>
  %1 = dl.cast %0 {dtype = f32} : (tensor<3x8xi8>) -> tensor<3x8xf32>
  %2 = dl.embedding %x, %scales : (tensor<3xi64>, tensor<4x1xf32>) -> tensor<3x1xf32>
  %3 = dl.broadcast %2 : (tensor<3x1xf32>) -> tensor<3x8xf32>
  %4 = dl.mul %1, %3 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  return %4 : tensor<3x8xf32>
}

// Where it is read along columns, each row would look it up again: it is stored.
// CHECK-LABEL: func.func @row_of_scales
// CHECK: %[[ROW:.*]] = dl.fusion({{.*}}) : ({{.*}}) -> tensor<1x8xf32>
// CHECK: dl.fusion(
// CHECK: dl.mul
func.func @row_of_scales(%x: tensor<1xi64>, %y: tensor<3x8xf32>, %scales: tensor<4x8xf32>) -> tensor<3x8xf32> {
  %0 = dl.embedding %x, %scales : (tensor<1xi64>, tensor<4x8xf32>) -> tensor<1x8xf32>
  %1 = dl.broadcast %0 : (tensor<1x8xf32>) -> tensor<3x8xf32>
  %2 = dl.mul %y, %1 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  return %2 : tensor<3x8xf32>
}
