// RUN: dlc-opt %s -form-fusions=explain -split-input-file -verify-diagnostics -o /dev/null
// Each reason why an op is no part of the kernel before it.

func.func @roots(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4xf32> {
  // expected-note @+1 {{'linear' is here}}
  %0 = dl.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  // expected-remark @+1 {{'sum' is not fused with 'linear': both have a reduction, a window or a contraction; a kernel has one}}
  %1 = dl.sum %0 {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @users(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // expected-note @+1 {{'exp' is here}}
  %0 = dl.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @+1 {{'relu' is not fused with 'exp': its value has several users: it is computed once and kept}}
  %1 = dl.relu %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @+1 {{'neg' is not fused with 'exp': its value has several users: it is computed once and kept}}
  %2 = dl.neg %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

func.func @no_fuse(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-note @+1 {{'exp' is here}}
  %0 = dl.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @+1 {{'relu' is not fused with 'exp': the text says @no_fuse}}
  %1 = dl.relu %0 {dl.no_fuse} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

func.func @contraction_reads_often(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  // expected-note @+1 {{'exp' is here}}
  %0 = dl.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @+1 {{'linear' is not fused with 'exp': a contraction reads each element many times; only casts are repeated there}}
  %1 = dl.linear %0, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

func.func @repeated(%x: tensor<8xf32>) -> tensor<4x8xf32> {
  // expected-note @+1 {{'exp' is here}}
  %0 = dl.exp %x : (tensor<8xf32>) -> tensor<8xf32>
  // expected-remark @+1 {{'broadcast' is not fused with 'exp': each element is read several times: it is computed once and kept}}
  %1 = dl.broadcast %0 : (tensor<8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

func.func @windows(%x: tensor<1x1x8x8xf32>) -> tensor<1x1x6x6xf32> {
  // expected-note @+1 {{'exp' is here}}
  %0 = dl.exp %x : (tensor<1x1x8x8xf32>) -> tensor<1x1x8x8xf32>
  // expected-remark @+1 {{'max_pool2d' is not fused with 'exp': windows overlap, so that each element is read several times: it is computed once and kept}}
  %1 = dl.max_pool2d %0 {kernel_size = array<i64: 3, 3>, stride = array<i64: 1, 1>} : (tensor<1x1x8x8xf32>) -> tensor<1x1x6x6xf32>
  return %1 : tensor<1x1x6x6xf32>
}

// -----

func.func @outside(%x: tensor<4x8xf32>) -> tensor<4x10xf32> {
  // expected-note @+1 {{'exp' is here}}
  %0 = dl.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @+1 {{'pad' is not fused with 'exp': it is read at indices that may lie outside it, so that it is formed first}}
  %1 = dl.pad %0 {pad = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x10xf32>
  return %1 : tensor<4x10xf32>
}

// -----

func.func @computed(%x: tensor<4x8xf32>, %i: tensor<3xi64>) -> tensor<3x8xf32> {
  // expected-note @+1 {{'exp' is here}}
  %0 = dl.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @+1 {{'index_select' is not fused with 'exp': it is read at computed indices, some of its elements perhaps many times: it is formed first}}
  %1 = dl.index_select %0, %i {dim = 0 : i64} : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}

// -----

func.func @weights(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %w = dl.weight "w" : tensor<4x8xf32>
  // expected-note @+1 {{'exp' is here}}
  %0 = dl.exp %w : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @+1 {{'add' is not fused with 'exp': it depends on weights alone and is computed once at load}}
  %1 = dl.add %0, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

func.func @other_dims(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>) -> tensor<6x4xf32> {
  // expected-note @+1 {{'linear' is here}}
  %0 = dl.linear %x, %w : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  // expected-remark @+1 {{'permute' is not fused with 'linear': its reader has other dims than f32[4,6]}}
  %1 = dl.permute %0 {dims = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return %1 : tensor<6x4xf32>
}

// -----

func.func @other_index(%x: tensor<4x8xf32>, %w: tensor<4x8xf32>) -> tensor<4x4xf32> {
  // expected-note @+1 {{'linear' is here}}
  %0 = dl.linear %x, %w : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  // expected-remark @+1 {{'permute' is not fused with 'linear': its reader does not read it at its own index}}
  %1 = dl.permute %0 {dims = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

func.func @recurrence(%g: tensor<5x2x16xf32>, %w: tensor<4x4x4xf32>) -> tensor<5x2x4xf32> {
  // expected-note @+1 {{'lstm_steps' is here}}
  %y, %hn, %cn = dl.lstm_steps %g, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x16xf32>, tensor<4x4x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  // expected-remark @+1 {{'relu' is not fused with 'lstm_steps': a recurrence is a kernel of its own}}
  %0 = dl.relu %y : (tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
  return %0 : tensor<5x2x4xf32>
}

// -----

func.func @inputs(%aa: tensor<4xf32>, %ab: tensor<4xf32>, %ac: tensor<4xf32>, %ad: tensor<4xf32>, %ae: tensor<4xf32>, %af: tensor<4xf32>, %ag: tensor<4xf32>, %ah: tensor<4xf32>, %ai: tensor<4xf32>, %aj: tensor<4xf32>, %ak: tensor<4xf32>, %al: tensor<4xf32>, %am: tensor<4xf32>, %an: tensor<4xf32>, %ao: tensor<4xf32>, %ap: tensor<4xf32>, %aq: tensor<4xf32>, %ar: tensor<4xf32>, %as: tensor<4xf32>, %at: tensor<4xf32>, %au: tensor<4xf32>, %av: tensor<4xf32>, %aw: tensor<4xf32>, %ax: tensor<4xf32>, %ay: tensor<4xf32>, %az: tensor<4xf32>, %ba: tensor<4xf32>, %bb: tensor<4xf32>, %bc: tensor<4xf32>, %bd: tensor<4xf32>, %be: tensor<4xf32>, %bf: tensor<4xf32>, %bg: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dl.add %aa, %ab : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = dl.add %0, %ac : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = dl.add %1, %ad : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = dl.add %2, %ae : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = dl.add %3, %af : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = dl.add %4, %ag : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %6 = dl.add %5, %ah : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %7 = dl.add %6, %ai : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %8 = dl.add %7, %aj : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %9 = dl.add %8, %ak : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %10 = dl.add %9, %al : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %11 = dl.add %10, %am : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %12 = dl.add %11, %an : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %13 = dl.add %12, %ao : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %14 = dl.add %13, %ap : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %15 = dl.add %14, %aq : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %16 = dl.add %15, %ar : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %17 = dl.add %16, %as : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %18 = dl.add %17, %at : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %19 = dl.add %18, %au : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %20 = dl.add %19, %av : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %21 = dl.add %20, %aw : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %22 = dl.add %21, %ax : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %23 = dl.add %22, %ay : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %24 = dl.add %23, %az : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %25 = dl.add %24, %ba : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %26 = dl.add %25, %bb : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %27 = dl.add %26, %bc : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %28 = dl.add %27, %bd : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %29 = dl.add %28, %be : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-note @+1 {{'add' is here}}
  %30 = dl.add %29, %bf : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @+1 {{'add' is not fused with 'add': the kernel would have more than 96 ops or 32 inputs}}
  %31 = dl.add %30, %bg : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %31 : tensor<4xf32>
}
