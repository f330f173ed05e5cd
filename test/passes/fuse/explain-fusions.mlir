// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(decompose-attention,form-fusions),outline-kernels),explain-fusions)' -split-input-file -verify-diagnostics -o /dev/null
// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets,builtin.module(func.func(decompose-attention,form-fusions),outline-kernels,fuse-readers),explain-fusions)' -split-input-file 2>&1 | FileCheck %s --check-prefix=TARGETS
// Each reason why an op is not in the kernel of what it reads. A reason that does not hold for all targets names those of its own: on
// cuda one kernel stores both the exp and its relu.
// TARGETS: 'sum' is not fused with 'linear': both
// TARGETS: 'relu' is not fused with 'exp' on cpu: its value has several users
// TARGETS: 'neg' is not fused with 'exp': its value has several users
// TARGETS: 'contract' is not fused with 'exp' on cpu: a contraction reads each element many times
// TARGETS: 'attention' is not fused with 'exp' on cuda: a contraction reads each element many times

func.func @roots(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4xf32> {
  // expected-note @+1 {{'linear' is here}}
  %0 = dl.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  // expected-remark @+1 {{'sum' is not fused with 'linear': both have a reduction, a window or a contraction, and no kernel computes these two}}
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

func.func @narrow(%x: tensor<4x8xi32>, %w: tensor<8x8xi16>) -> tensor<4x8xi32> {
  // expected-note @+1 {{'cast' is here}}
  %0 = dl.cast %x {dtype = i16} : (tensor<4x8xi32>) -> tensor<4x8xi16>
  // expected-remark @+1 {{'cast' is not fused with 'cast': a product reads it in fewer bits than it is computed in}}
  %1 = dl.cast %0 {dtype = i32} : (tensor<4x8xi16>) -> tensor<4x8xi32>
  %2 = dl.cast %w {dtype = i32} : (tensor<8x8xi16>) -> tensor<8x8xi32>
  %3 = dl.matmul %1, %2 : (tensor<4x8xi32>, tensor<8x8xi32>) -> tensor<4x8xi32>
  return %3 : tensor<4x8xi32>
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
  %1 = dl.pad %0 {pad = affine_map<() -> (1, 1)>} : (tensor<4x8xf32>) -> tensor<4x10xf32>
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

// -----

// A kernel that two launches share has the places of both; each remark has its own.
func.func @shared(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-note @+1 {{'linear' is here}}
  %0 = dl.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  // expected-note @+1 {{'linear' is here}}
  %1 = dl.linear %0, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> // expected-remark {{'linear' is not fused with 'linear': its value has several users}}
  // expected-remark @+1 {{'sum' is not fused with 'linear': its value has several users}}
  %2 = dl.sum %0 {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  // expected-remark @+1 {{'sum' is not fused with 'linear': both have a reduction}}
  %3 = dl.sum %1 {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A gate reads the one before it in two places: the seventh would bring 127 of them.
func.func @places(%x: tensor<2x128xf32>) -> tensor<2x1xf32> {
  %0 = dl.glu %x {dim = 1 : i64} : (tensor<2x128xf32>) -> tensor<2x64xf32>
  %1 = dl.glu %0 {dim = 1 : i64} : (tensor<2x64xf32>) -> tensor<2x32xf32>
  %2 = dl.glu %1 {dim = 1 : i64} : (tensor<2x32xf32>) -> tensor<2x16xf32>
  %3 = dl.glu %2 {dim = 1 : i64} : (tensor<2x16xf32>) -> tensor<2x8xf32>
  %4 = dl.glu %3 {dim = 1 : i64} : (tensor<2x8xf32>) -> tensor<2x4xf32>
  // expected-note @+1 {{'glu' is here}}
  %5 = dl.glu %4 {dim = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x2xf32>
  // expected-remark @+1 {{'glu' is not fused with 'glu': the kernel would compute its ops in more than 96 places: what is read at several indices is computed at each}}
  %6 = dl.glu %5 {dim = 1 : i64} : (tensor<2x2xf32>) -> tensor<2x1xf32>
  return %6 : tensor<2x1xf32>
}

// -----

func.func @scan(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-note @+1 {{'exp' is here}}
  %0 = dl.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-note @+1 {{'running_sum' is here}}
  %1 = dl.running_sum %0 {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32> // expected-remark {{'running_sum' is not fused with 'exp': a scan, sort or scatter is a kernel of its own}}
  // expected-remark @+1 {{'relu' is not fused with 'running_sum': a scan, sort or scatter is a kernel of its own}}
  %2 = dl.relu %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// On cuda the attention is one op to the end; its rows are too few for a kernel of cpu.
func.func @attention(%x: tensor<7x4xf32>, %k: tensor<9x4xf32>, %v: tensor<9x4xf32>) -> tensor<7x4xf32> {
  %q = dl.exp %x : (tensor<7x4xf32>) -> tensor<7x4xf32> // expected-note {{'exp' is here}}
  %y = dl.attention(%q, %k, %v) : (tensor<7x4xf32>, tensor<9x4xf32>, tensor<9x4xf32>) -> tensor<7x4xf32> {
  ^bb0(%a: tensor<7x4xf32>, %b: tensor<9x4xf32>, %c: tensor<9x4xf32>):
    // expected-remark @+2 {{'contract' is not fused with 'exp': a contraction reads each element many times; only casts are repeated there}}
    // expected-note @+1 {{'contract' is here}}
    %s = dl.contract %a, %b {other_loops = array<i64: 1, 2>, rank = 2 : i64, x_loops = array<i64: 0, 2>} : (tensor<7x4xf32>, tensor<9x4xf32>) -> tensor<7x9xf32>
    // expected-remark @+2 {{'softmax' is not fused with 'contract': both have a reduction}}
    // expected-note @+1 {{'softmax' is here}}
    %w = dl.softmax %s {dim = 1 : i64} : (tensor<7x9xf32>) -> tensor<7x9xf32>
    %z = dl.matmul %w, %c : (tensor<7x9xf32>, tensor<9x4xf32>) -> tensor<7x4xf32> // expected-remark {{'matmul' is not fused with 'softmax'}}
    dl.yield %z : tensor<7x4xf32>
  }
  return %y : tensor<7x4xf32>
}

// -----

// A sum of itself reads one place.
func.func @place(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = dl.add %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = dl.add %0, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = dl.add %1, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %3 = dl.add %2, %2 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %4 = dl.add %3, %3 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %5 = dl.add %4, %4 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %6 = dl.add %5, %5 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %7 = dl.add %6, %6 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %7 : tensor<2xf32>
}
