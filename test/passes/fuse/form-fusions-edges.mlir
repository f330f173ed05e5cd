// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(decompose-attention,form-fusions)))' -split-input-file | FileCheck %s

// Each reason why an op is not in the fusion of what it reads.

// CHECK-LABEL: func.func @roots(
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "sum", producer = "linear", why = two_roots>
// CHECK-NOT: #dl.edge
func.func @roots(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4xf32> {
  %0 = dl.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = dl.sum %0 {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @users(
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "linear", producer = "exp", why = several_users>
// CHECK-NOT: #dl.edge
func.func @users(%x: tensor<4x8xf32>, %w: tensor<5x8xf32>) -> (tensor<4x8xf32>, tensor<4x5xf32>) {
  %0 = dl.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dl.relu %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = dl.linear %0, %w : (tensor<4x8xf32>, tensor<5x8xf32>) -> tensor<4x5xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<4x5xf32>
}

// -----

// CHECK-LABEL: func.func @no_fuse(
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "relu", producer = "exp", why = no_fuse>
// CHECK-NOT: #dl.edge
func.func @no_fuse(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = dl.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dl.relu %0 {dl.no_fuse} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @contraction_reads_often(
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "linear", producer = "exp", why = read_by_product>
// CHECK-NOT: #dl.edge
func.func @contraction_reads_often(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = dl.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dl.linear %0, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @narrow(
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "cast", producer = "cast", why = narrow_operand>
// CHECK-NOT: #dl.edge
func.func @narrow(%x: tensor<4x8xi32>, %w: tensor<8x8xi16>) -> tensor<4x8xi32> {
  %0 = dl.cast %x {dtype = i16} : (tensor<4x8xi32>) -> tensor<4x8xi16>
  %1 = dl.cast %0 {dtype = i32} : (tensor<4x8xi16>) -> tensor<4x8xi32>
  %2 = dl.cast %w {dtype = i32} : (tensor<8x8xi16>) -> tensor<8x8xi32>
  %3 = dl.matmul %1, %2 : (tensor<4x8xi32>, tensor<8x8xi32>) -> tensor<4x8xi32>
  return %3 : tensor<4x8xi32>
}

// -----

// CHECK-LABEL: func.func @repeated(
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "broadcast", producer = "exp", why = read_again>
// CHECK-NOT: #dl.edge
func.func @repeated(%x: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = dl.exp %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = dl.broadcast %0 : (tensor<8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @windows(
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "max_pool2d", producer = "exp", why = overlapping_windows>
// CHECK-NOT: #dl.edge
func.func @windows(%x: tensor<1x1x8x8xf32>) -> tensor<1x1x6x6xf32> {
  %0 = dl.exp %x : (tensor<1x1x8x8xf32>) -> tensor<1x1x8x8xf32>
  %1 = dl.max_pool2d %0 {kernel_size = array<i64: 3, 3>, stride = array<i64: 1, 1>} : (tensor<1x1x8x8xf32>) -> tensor<1x1x6x6xf32>
  return %1 : tensor<1x1x6x6xf32>
}

// -----

// CHECK-LABEL: func.func @outside(
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "pad", producer = "exp", why = checked_index>
// CHECK-NOT: #dl.edge
func.func @outside(%x: tensor<4x8xf32>) -> tensor<4x10xf32> {
  %0 = dl.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dl.pad %0 {pad = affine_map<() -> (1, 1)>} : (tensor<4x8xf32>) -> tensor<4x10xf32>
  return %1 : tensor<4x10xf32>
}

// -----

// Beyond the border there are zeros, in whatever type: a convolution casts what it reads.
// CHECK-LABEL: func.func @cast_through_padding(
// CHECK-NOT: #dl.edge
// CHECK: dl.fusion(%{{.*}}, %{{.*}}) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf16>)
// CHECK: dl.cast
// CHECK-NEXT: dl.conv2d
func.func @cast_through_padding(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf16>) -> tensor<1x4x8x8xf16> {
  %0 = dl.cast %x {dtype = f16} : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf16>
  %1 = dl.conv2d %0, %w {padding = array<i64: 1, 1>} : (tensor<1x3x8x8xf16>, tensor<4x3x3x3xf16>) -> tensor<1x4x8x8xf16>
  return %1 : tensor<1x4x8x8xf16>
}

// -----

// CHECK-LABEL: func.func @exp_through_padding(
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "conv2d", producer = "exp", why = checked_index>
func.func @exp_through_padding(%x: tensor<1x3x8x8xf16>, %w: tensor<4x3x3x3xf16>) -> tensor<1x4x8x8xf16> {
  %0 = dl.exp %x : (tensor<1x3x8x8xf16>) -> tensor<1x3x8x8xf16>
  %1 = dl.conv2d %0, %w {padding = array<i64: 1, 1>} : (tensor<1x3x8x8xf16>, tensor<4x3x3x3xf16>) -> tensor<1x4x8x8xf16>
  return %1 : tensor<1x4x8x8xf16>
}

// -----

// CHECK-LABEL: func.func @computed(
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "index_select", producer = "exp", why = computed_index>
// CHECK-NOT: #dl.edge
func.func @computed(%x: tensor<4x8xf32>, %i: tensor<3xi64>) -> tensor<3x8xf32> {
  %0 = dl.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dl.index_select %0, %i {dim = 0 : i64} : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}

// -----

// CHECK-LABEL: func.func @weights(
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "add", producer = "exp", why = at_load>
// CHECK-NOT: #dl.edge
func.func @weights(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %w = dl.weight "w" : tensor<4x8xf32>
  %0 = dl.exp %w : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dl.add %0, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @other_dims(
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "permute", producer = "linear", why = other_dims>
// CHECK-NOT: #dl.edge
func.func @other_dims(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>) -> tensor<6x4xf32> {
  %0 = dl.linear %x, %w : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  %1 = dl.permute %0 {dims = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return %1 : tensor<6x4xf32>
}

// -----

// CHECK-LABEL: func.func @other_index(
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "permute", producer = "linear", why = other_index>
// CHECK-NOT: #dl.edge
func.func @other_index(%x: tensor<4x8xf32>, %w: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %0 = dl.linear %x, %w : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %1 = dl.permute %0 {dims = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func @recurrence(
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "relu", producer = "lstm_steps", why = recurrence>
// CHECK-NOT: #dl.edge
func.func @recurrence(%g: tensor<5x2x16xf32>, %w: tensor<4x4x4xf32>) -> tensor<5x2x4xf32> {
  %y, %hn, %cn = dl.lstm_steps %g, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x16xf32>, tensor<4x4x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  %0 = dl.relu %y : (tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
  return %0 : tensor<5x2x4xf32>
}

// -----

// A value that is seen through views has a reason, too.
// CHECK-LABEL: func.func @view(
// CHECK: #dl.edge<input = 0, reader = "softmax", producer = "relu", why = reshaped>
// CHECK-NOT: #dl.edge
func.func @view(%x: tensor<4x6xf32>) -> tensor<8x3xf32> {
  %0 = dl.relu %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = dl.reshape %0 {shape = affine_map<() -> (2, 12)>} : (tensor<4x6xf32>) -> tensor<2x12xf32>
  %2 = dl.reshape %1 {shape = affine_map<() -> (8, 3)>} : (tensor<2x12xf32>) -> tensor<8x3xf32>
  %3 = dl.softmax %2 {dim = 1} : (tensor<8x3xf32>) -> tensor<8x3xf32>
  return %3 : tensor<8x3xf32>
}

// -----

// CHECK-LABEL: func.func @inputs(
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "add", producer = "add", why = too_many_inputs>
// CHECK-NOT: #dl.edge
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
  %30 = dl.add %29, %bf : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %31 = dl.add %30, %bg : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %31 : tensor<4xf32>
}

// -----

// A kernel that two launches share has the places of both; each remark has its own.
// CHECK-LABEL: func.func @shared(
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "linear", producer = "linear", why = several_users
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "sum", producer = "linear", why = several_users
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "sum", producer = "linear", why = two_roots
// CHECK-NOT: #dl.edge
func.func @shared(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = dl.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = dl.linear %0, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = dl.sum %0 {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  %3 = dl.sum %1 {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A gate reads the one before it in two places: the seventh would bring 127 of them.
// CHECK-LABEL: func.func @places(
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "glu", producer = "glu", why = too_many_places>
// CHECK-NOT: #dl.edge
func.func @places(%x: tensor<2x128xf32>) -> tensor<2x1xf32> {
  %0 = dl.glu %x {dim = 1 : i64} : (tensor<2x128xf32>) -> tensor<2x64xf32>
  %1 = dl.glu %0 {dim = 1 : i64} : (tensor<2x64xf32>) -> tensor<2x32xf32>
  %2 = dl.glu %1 {dim = 1 : i64} : (tensor<2x32xf32>) -> tensor<2x16xf32>
  %3 = dl.glu %2 {dim = 1 : i64} : (tensor<2x16xf32>) -> tensor<2x8xf32>
  %4 = dl.glu %3 {dim = 1 : i64} : (tensor<2x8xf32>) -> tensor<2x4xf32>
  %5 = dl.glu %4 {dim = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x2xf32>
  %6 = dl.glu %5 {dim = 1 : i64} : (tensor<2x2xf32>) -> tensor<2x1xf32>
  return %6 : tensor<2x1xf32>
}

// -----

// CHECK-LABEL: func.func @scan(
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "running_sum", producer = "exp", why = lines>
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "relu", producer = "running_sum", why = lines>
// CHECK-NOT: #dl.edge
func.func @scan(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = dl.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dl.running_sum %0 {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = dl.relu %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// On cuda the attention is one op to the end; its rows are too few for a kernel of cpu.
// CHECK-LABEL: func.func @attention(
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "contract", producer = "exp", why = read_by_product>
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "softmax", producer = "contract", why = two_roots
// CHECK: #dl.edge<input = {{[0-9]+}}, reader = "matmul", producer = "softmax", why = two_roots
// CHECK-NOT: #dl.edge
func.func @attention(%x: tensor<7x4xf32>, %k: tensor<9x4xf32>, %v: tensor<9x4xf32>) -> tensor<7x4xf32> {
  %q = dl.exp %x : (tensor<7x4xf32>) -> tensor<7x4xf32>
  %y = dl.attention(%q, %k, %v) : (tensor<7x4xf32>, tensor<9x4xf32>, tensor<9x4xf32>) -> tensor<7x4xf32> {
  ^bb0(%a: tensor<7x4xf32>, %b: tensor<9x4xf32>, %c: tensor<9x4xf32>):
    %s = dl.contract %a, %b {other_loops = array<i64: 1, 2>, rank = 2 : i64, x_loops = array<i64: 0, 2>} : (tensor<7x4xf32>, tensor<9x4xf32>) -> tensor<7x9xf32>
    %w = dl.softmax %s {dim = 1 : i64} : (tensor<7x9xf32>) -> tensor<7x9xf32>
    %z = dl.matmul %w, %c : (tensor<7x9xf32>, tensor<9x4xf32>) -> tensor<7x4xf32>
    dl.yield %z : tensor<7x4xf32>
  }
  return %y : tensor<7x4xf32>
}

// -----

// A sum of itself reads one place.
// CHECK-LABEL: func.func @place(
// CHECK-NOT: #dl.edge
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
