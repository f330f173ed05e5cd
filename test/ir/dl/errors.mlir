// RUN: dlc-opt %s -split-input-file -verify-diagnostics

func.func @add_dtypes(%a: tensor<4x8xf32>, %b: tensor<4x8xf16>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.add' needs operands of one shape and dtype, got f32[4,8] and f16[4,8]}}
  %y = dl.add %a, %b : (tensor<4x8xf32>, tensor<4x8xf16>) -> tensor<4x8xf32>
  return
}

// -----

func.func @gelu_approximate(%x: tensor<4xf32>) {
  // expected-error @+1 {{has approximate = 'fast'; expected 'none' or 'tanh'}}
  %y = dl.gelu %x {approximate = "fast"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @conv2d_channels(%x: tensor<8x4x9x9xf32>, %w: tensor<16x3x3x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.conv2d' has 4 input channels; its weight f32[16,3,3,3] with groups = 1 takes 3}}
  %y = dl.conv2d %x, %w : (tensor<8x4x9x9xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x7x7xf32>
  return
}

// -----

func.func @conv2d_groups(%x: tensor<8x4x9x9xf32>, %w: tensor<16x1x3x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.conv2d' has groups = 3, which must divide 4 input and 16 output channels}}
  %y = dl.conv2d %x, %w {groups = 3 : i64} : (tensor<8x4x9x9xf32>, tensor<16x1x3x3xf32>) -> tensor<8x16x7x7xf32>
  return
}

// -----

func.func @conv2d_window(%x: tensor<8x3x2x9xf32>, %w: tensor<16x3x3x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.conv2d' has a window of 3 with dilation 1, larger than the padded input of 2}}
  %y = dl.conv2d %x, %w : (tensor<8x3x2x9xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x0x7xf32>
  return
}

// -----

func.func @conv2d_bias(%x: tensor<8x3x9x9xf32>, %w: tensor<16x3x3x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.conv2d' needs a bias of 16 elements, got f32[3]}}
  %y = dl.conv2d %x, %w, %b : (tensor<8x3x9x9xf32>, tensor<16x3x3x3xf32>, tensor<3xf32>) -> tensor<8x16x7x7xf32>
  return
}

// -----

func.func @conv2d_stride(%x: tensor<8x3x9x9xf32>, %w: tensor<16x3x3x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.conv2d' needs stride and dilation of at least 1}}
  %y = dl.conv2d %x, %w {stride = array<i64: 0, 1>} : (tensor<8x3x9x9xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x7x7xf32>
  return
}

// -----

func.func @linear_features(%x: tensor<8x700xf32>, %w: tensor<10x784xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.linear' has 784 input features, but the last dim of x is 700}}
  %y = dl.linear %x, %w : (tensor<8x700xf32>, tensor<10x784xf32>) -> tensor<8x10xf32>
  return
}

// -----

func.func @matmul_inner(%a: tensor<4x3xf32>, %b: tensor<5x6xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.matmul' needs as many columns of x as rows of other, got 3 and 5}}
  %y = dl.matmul %a, %b : (tensor<4x3xf32>, tensor<5x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @matmul_vector(%a: tensor<3xf32>, %b: tensor<3x6xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.matmul' needs operands of rank 2 or more, got f32[3] and f32[3,6]; reshape a vector to [1, K] or [K, 1]}}
  %y = dl.matmul %a, %b : (tensor<3xf32>, tensor<3x6xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @matmul_leading(%a: tensor<2x4x3xf32>, %b: tensor<5x3x6xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.matmul' cannot broadcast the leading dims of f32[2,4,3] and f32[5,3,6]}}
  %y = dl.matmul %a, %b : (tensor<2x4x3xf32>, tensor<5x3x6xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @pool_padding(%x: tensor<1x1x8x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.max_pool2d' has padding 2; expected 0 to half of the window of 2}}
  %y = dl.max_pool2d %x {kernel_size = array<i64: 2, 2>, padding = array<i64: 2, 2>} : (tensor<1x1x8x8xf32>) -> tensor<1x1x6x6xf32>
  return
}

// -----

func.func @pool_window(%x: tensor<1x1x3x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.avg_pool2d' has a window of 4, larger than the padded input of 3}}
  %y = dl.avg_pool2d %x {kernel_size = array<i64: 4, 4>} : (tensor<1x1x3x8xf32>) -> tensor<1x1x0x2xf32>
  return
}

// -----

func.func @softmax_dim(%x: tensor<4x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.softmax' has dim 2; expected -2 to 1 for a tensor of rank 2}}
  %y = dl.softmax %x {dim = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @sum_twice(%x: tensor<4x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.sum' names dim -1 twice}}
  %y = dl.sum %x {dim = array<i64: 1, -1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @amax_empty(%x: tensor<4x0xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.amax' over dim 1 of f32[4,0], which is empty}}
  %y = dl.amax %x {dim = array<i64: 1>} : (tensor<4x0xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @batch_norm_channels(%x: tensor<4x8x2x2xf32>, %m: tensor<7xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.batch_norm' needs statistics, weight and bias of 8 'f32' elements, got f32[7]}}
  %y = dl.batch_norm %x, %m, %m : (tensor<4x8x2x2xf32>, tensor<7xf32>, tensor<7xf32>) -> tensor<4x8x2x2xf32>
  return
}

// -----

func.func @reshape_count(%x: tensor<4x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.reshape' of f32[4,8] has 32 elements; the new dims have 30}}
  %y = dl.reshape %x {shape = affine_map<() -> (5, 6)>} : (tensor<4x8xf32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @reshape_open(%x: tensor<4x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.reshape' leaves two dims open; only one may be -1}}
  %y = dl.reshape %x {shape = affine_map<() -> (-1, -1)>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @flatten_order(%x: tensor<4x8x2xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.flatten' has start_dim 2 after end_dim 1}}
  %y = dl.flatten %x {start_dim = 2 : i64, end_dim = 1 : i64} : (tensor<4x8x2xf32>) -> tensor<4x8x2xf32>
  return
}

// -----

func.func @permute_twice(%x: tensor<4x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.permute' must name each of the 2 dims once}}
  %y = dl.permute %x {dims = array<i64: 0, 0>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @slice_step(%x: tensor<4x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.slice' has step 0; expected 1 or more}}
  %y = dl.slice %x {step = 0 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @pad_mode(%x: tensor<4x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.pad' has mode = 'reflect'; expected 'constant'}}
  %y = dl.pad %x {pad = array<i64: 1, 1>, mode = "reflect"} : (tensor<4x8xf32>) -> tensor<4x10xf32>
  return
}

// -----

func.func @cat_dims(%a: tensor<4x8xf32>, %b: tensor<5x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'dl.cat' along dim 1 cannot join f32[4,8] and f32[5,8]}}
  %y = dl.cat %a, %b {dim = 1 : i64} : (tensor<4x8xf32>, tensor<5x8xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @full_type() {
  // expected-error @+1 {{fills 'tensor<4xf16>' with a number of type 'f16'; expected 'f32'}}
  %y = dl.full 1.0 : f16 -> tensor<4xf16>
  return
}

// -----

func.func @broadcast_dims(%x: tensor<3xf32>) {
  // expected-error @+1 {{cannot broadcast 'tensor<3xf32>' to 'tensor<4xf32>'}}
  %y = dl.broadcast %x : (tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @convert_layout_dims(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{may change the layout alone}}
  %y = dl.convert_layout %x : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @fusion_roots(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has 2 ops with stages; at most one can be the root}}
  %y = dl.fusion (%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %0 = dl.softmax %a {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = dl.softmax %0 {dim = 0 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    dl.yield %1 : tensor<4x8xf32>
  }
  return
}

// -----

// expected-error @+1 {{order must name each of the 2 dims once}}
func.func private @order(tensor<4x8xf32, #dl.t<[4, 8], order = [0, 0]>>)

// -----

// expected-error @+1 {{dim 5 of the encoding differs from the tensor's}}
func.func private @dims(tensor<4xf32, #dl.t<[5]>>)

// -----

// expected-error @+1 {{the range of dim 'N' is 4..2; expected 0 <= min <= max}}
module attributes {dl.symbols = [#dl.symbol<"N", 4, 2>]} {}
