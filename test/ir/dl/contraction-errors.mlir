// RUN: dlc-opt %s -split-input-file -verify-diagnostics

// Two dtypes, a bias of another length, groups that do not divide, a window that does not fit: what conv2d refuses.

func.func @mixed(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf16>) {
  // expected-error @+2 {{'dl.conv2d' needs operands of one dtype, got 'f32' and 'f16'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv2d %x, %w : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf16>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @bias(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+2 {{'dl.conv2d' needs a bias of 4 elements, got f32[3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv2d %x, %w, %b : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<3xf32>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @rank(%x: tensor<3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+2 {{'dl.conv2d' needs x [N, C, H, W] and weight [K, C/groups, R, S], got f32[3,8,8] and f32[4,3,3,3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv2d %x, %w : (tensor<3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @stride(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+2 {{'dl.conv2d' needs stride and dilation of at least 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv2d %x, %w {stride = array<i64: 0, 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @padding(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+2 {{'dl.conv2d' needs padding of at least 0, got -1}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv2d %x, %w {padding = array<i64: 1, -1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @groups(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+2 {{'dl.conv2d' has groups = 2, which must divide 3 input and 4 output channels}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv2d %x, %w {groups = 2 : i64} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @channels(%x: tensor<1x3x8x8xf32>, %w: tensor<4x2x3x3xf32>) {
  // expected-error @+2 {{'dl.conv2d' has 3 input channels; its weight f32[4,2,3,3] with groups = 1 takes 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv2d %x, %w : (tensor<1x3x8x8xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @window(%x: tensor<1x3x4x4xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+2 {{'dl.conv2d' has a window of 3 with dilation 2, larger than the padded input of 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv2d %x, %w {dilation = array<i64: 2, 2>} : (tensor<1x3x4x4xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x1x1xf32>
  return
}

// -----

func.func @features(%x: tensor<2x8xf32>, %w: tensor<4x9xf32>) {
  // expected-error @+2 {{'dl.linear' has 9 input features, but the last dim of x is 8}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.linear %x, %w : (tensor<2x8xf32>, tensor<4x9xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @vector(%a: tensor<f32>, %b: tensor<8x9xf32>) {
  // expected-error @+2 {{'dl.matmul' needs operands of rank 1 or more, got f32[] and f32[8,9]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.matmul %a, %b : (tensor<f32>, tensor<8x9xf32>) -> tensor<9xf32>
  return
}

// -----

func.func @inner(%x: tensor<2x8xf32>, %w: tensor<9x4xf32>) {
  // expected-error @+2 {{'dl.matmul' needs as many columns of x as rows of other, got 8 and 9}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.matmul %x, %w : (tensor<2x8xf32>, tensor<9x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @leading(%x: tensor<3x2x8xf32>, %w: tensor<5x8x4xf32>) {
  // expected-error @+2 {{'dl.matmul' cannot broadcast the leading dims of f32[3,2,8] and f32[5,8,4]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.matmul %x, %w : (tensor<3x2x8xf32>, tensor<5x8x4xf32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @transposed_rank(%x: tensor<3x8x8xf32>, %w: tensor<3x4x3x3xf32>) {
  // expected-error @+2 {{'dl.conv_transpose2d' needs x [N, C, H, W] and weight [C, K/groups, R, S], got f32[3,8,8] and f32[3,4,3,3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv_transpose2d %x, %w : (tensor<3x8x8xf32>, tensor<3x4x3x3xf32>) -> tensor<1x4x10x10xf32>
  return
}

// -----

func.func @transposed_numbers(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x3x3xf32>) {
  // expected-error @+2 {{'dl.conv_transpose2d' needs 2 numbers for each of stride, padding, output_padding and dilation}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv_transpose2d %x, %w {stride = array<i64: 2>} : (tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32>) -> tensor<1x4x10x10xf32>
  return
}

// -----

func.func @transposed_static(%x: tensor<1x?x8x8xf32, #dl.t<[1, s0, 8, 8]>>, %w: tensor<3x4x3x3xf32>) {
  // expected-error @+2 {{'dl.conv_transpose2d' needs static channels and window, got f32[1,s0,8,8] and f32[3,4,3,3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv_transpose2d %x, %w : (tensor<1x?x8x8xf32, #dl.t<[1, s0, 8, 8]>>, tensor<3x4x3x3xf32>) -> tensor<1x4x10x10xf32>
  return
}

// -----

func.func @transposed_window(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x3x3xf32>) {
  // expected-error @+2 {{'dl.conv_transpose2d' needs a window, stride and dilation of at least 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv_transpose2d %x, %w {stride = array<i64: 0, 1>} : (tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32>) -> tensor<1x4x10x10xf32>
  return
}

// -----

func.func @numbers(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+2 {{'dl.conv2d' needs 2 strides, 2 dilations and 2 or 4 paddings}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv2d %x, %w {stride = array<i64: 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @numbers_1d(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error @+2 {{'dl.conv1d' needs 1 stride, 1 dilation and 1 or 2 paddings}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv1d %x, %w {stride = array<i64: 1, 1>} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

func.func @static(%x: tensor<1x?x8x8xf32, #dl.t<[1, s0, 8, 8]>>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+2 {{'dl.conv2d' needs static channels, got f32[1,s0,8,8] and f32[4,3,3,3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv2d %x, %w : (tensor<1x?x8x8xf32, #dl.t<[1, s0, 8, 8]>>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @conv_channels_last(%x: tensor<2x16x12x3xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+2 {{'dl.conv2d' has 16 input channels; its weight f32[4,3,3,3] with groups = 1 takes 3; the last dim of x is 3: if its channels come last (NHWC), write permute(x, (0, 3, 1, 2))}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv2d %x, %w : (tensor<2x16x12x3xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x10x1xf32>
  return
}

// -----

func.func @conv_channels_last_of_any_height(%x: tensor<2x?x?x3xf32, #dl.t<[2, s0, s1, 3]>>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+2 {{'dl.conv2d' needs static channels, got f32[2,s0,s1,3] and f32[4,3,3,3]; the last dim of x is 3: if its channels come last (NHWC), write permute(x, (0, 3, 1, 2))}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv2d %x, %w : (tensor<2x?x?x3xf32, #dl.t<[2, s0, s1, 3]>>, tensor<4x3x3x3xf32>) -> tensor<2x4x10x1xf32>
  return
}

// -----

func.func @linear_of_an_image(%x: tensor<2x8x4x4xf32>, %w: tensor<10x128xf32>) {
  // expected-error @+2 {{'dl.linear' has 128 input features, but the last dim of x is 4; the dims from 1 on have as many together: flatten(x, 1)}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.linear %x, %w : (tensor<2x8x4x4xf32>, tensor<10x128xf32>) -> tensor<2x10xf32>
  return
}

// -----

func.func @panels(%x: tensor<4x8xf32>, %v: tensor<3x16xf32>, %c: tensor<3xi32>, %s: tensor<2xi32>) {
  // expected-error @+2 {{'dl.block_sparse_linear' needs values [B, 16], columns [B], and starts [3] for 17 features, got f32[3,16], i32[3] and i32[2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.block_sparse_linear %x, %v, %c, %s {features = 17 : i64, dim = 1 : i64} : (tensor<4x8xf32>, tensor<3x16xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<4x17xf32>
  return
}

// -----

func.func @dim(%x: tensor<4x8xf32>, %v: tensor<3x16xf32>, %c: tensor<3xi32>, %s: tensor<2xi32>) {
  // expected-error @+2 {{'dl.block_sparse_linear' needs one of the dims of f32[4,8] and a feature or more, got dim 2 and 16}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.block_sparse_linear %x, %v, %c, %s {features = 16 : i64, dim = 2 : i64} : (tensor<4x8xf32>, tensor<3x16xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @dtype(%x: tensor<4x8xf32>, %v: tensor<3x16xf16>, %c: tensor<3xi32>, %s: tensor<2xi32>) {
  // expected-error @+2 {{'dl.block_sparse_linear' needs operands of one dtype, got 'f32' and 'f16'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.block_sparse_linear %x, %v, %c, %s {features = 16 : i64, dim = 1 : i64} : (tensor<4x8xf32>, tensor<3x16xf16>, tensor<3xi32>, tensor<2xi32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @empty(%x: tensor<4x0xf32>, %v: tensor<3x16xf32>, %c: tensor<3xi32>, %s: tensor<2xi32>) {
  // expected-error @+2 {{'dl.block_sparse_linear' needs a column of x, got f32[4,0]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.block_sparse_linear %x, %v, %c, %s {features = 16 : i64, dim = 1 : i64} : (tensor<4x0xf32>, tensor<3x16xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @steps(%x: tensor<4x8xf32>, %v: tensor<3x16xf32>, %c: tensor<3xi32>, %s: tensor<2xi32>) {
  // expected-error @+2 {{'dl.block_sparse_linear' needs a step of 1 or more for each dim of f32[4,8]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.block_sparse_linear %x, %v, %c, %s {features = 16 : i64, dim = 1 : i64, steps = array<i64: 2>} : (tensor<4x8xf32>, tensor<3x16xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @groups(%v: tensor<4x6xf16>, %p: tensor<4x2xui8>) {
  // expected-error @+2 {{'dl.expand_two_of_four' needs values [N, K / 2] and places [N, K / 8], K a multiple of 8, got f16[4,6] and u8[4,2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %w = dl.expand_two_of_four %v, %p : (tensor<4x6xf16>, tensor<4x2xui8>) -> tensor<4x12xf16>
  return
}

// -----

func.func @places(%v: tensor<4x8xf16>, %p: tensor<4x4xui8>) {
  // expected-error @+2 {{'dl.expand_two_of_four' needs values [N, K / 2] and places [N, K / 8], K a multiple of 8, got f16[4,8] and u8[4,4]}}
  // expected-error @+1 {{failed to infer returned types}}
  %w = dl.expand_two_of_four %v, %p : (tensor<4x8xf16>, tensor<4x4xui8>) -> tensor<4x16xf16>
  return
}
