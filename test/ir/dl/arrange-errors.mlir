// RUN: dlc-opt %s -split-input-file -verify-diagnostics
// Ops that change dims, take apart, repeat and create.

func.func @pad_reflect(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.pad' in mode 'reflect' has width 3 beside dim 1 of f32[2,3]; expected a dim of 4 or more}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.pad %x {pad = affine_map<() -> (0, 3)>, mode = "reflect"} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @pad_negative(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.pad' in mode 'circular' has width 2 beside dim 1 of f32[2,3]; expected a dim of 4 or more}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.pad %x {pad = affine_map<() -> (-2, 2)>, mode = "circular"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @expand(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.expand' cannot bring f32[2,3] to [4, 3]; expected equal dims, -1, or dims of size 1 that are repeated}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.expand %x {size = affine_map<() -> (4, 3)>} : (tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @squeeze(%x: tensor<?x3xf32, #dl.t<[s0, 3]>>) {
  // expected-error @+2 {{'dl.squeeze' of f32[s0,3] would drop dim 0 where it is 1 and keep it elsewhere; name dims of static size}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.squeeze %x : (tensor<?x3xf32, #dl.t<[s0, 3]>>) -> tensor<?x3xf32, #dl.t<[s0, 3]>>
  return
}

// -----

func.func @unflatten(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.unflatten' cuts dim 1 of f32[2,3] into sizes whose product is 4; expected 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.unflatten %x {dim = 1 : i64, sizes = affine_map<() -> (2, 2)>} : (tensor<2x3xf32>) -> tensor<2x2x2xf32>
  return
}

// -----

func.func @movedim(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.movedim' moves 2 dims to 1 positions; expected as many}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.movedim %x {source = array<i64: 0, 1>, destination = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @t(%x: tensor<2x3x4xf32>) {
  // expected-error @+2 {{'dl.t' of f32[2,3,4]; expected at most two dims (transpose names them)}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.t %x : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  return
}

// -----

func.func @select(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.select' has index 3; dim 1 of f32[2,3] has 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.select %x {dim = 1 : i64, index = 3 : i64} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @narrow(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.narrow' takes 3 from 1 on; dim 1 of f32[2,3] has 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.narrow %x {dim = 1 : i64, start = affine_map<() -> (1)>, length = affine_map<() -> (3)>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @split_sum(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.split' of dim 1 of f32[2,3] has pieces of together 4; expected 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %a, %b = dl.split %x {dim = 1 : i64, split_size_or_sections = array<i64: 2, 2>} : (tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
  return
}

// -----

func.func @split_symbolic(%x: tensor<?x3xf32, #dl.t<[s0, 3]>>) {
  // expected-error @+2 {{'dl.split' takes apart dim 0 of f32[s0,3]; expected a dim of static size}}
  // expected-error @+1 {{failed to infer returned types}}
  %a = dl.split %x {split_size = 2 : i64} : (tensor<?x3xf32, #dl.t<[s0, 3]>>) -> tensor<2x3xf32>
  return
}

// -----

func.func @chunk(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.chunk' makes 0 pieces; expected 1 to 1024}}
  // expected-error @+1 {{failed to infer returned types}}
  %a = dl.chunk %x {chunks = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @stack(%a: tensor<2x3xf32>, %b: tensor<3x3xf32>) {
  // expected-error @+2 {{'dl.stack' cannot join f32[2,3] and f32[3,3]; expected equal dims and dtypes}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.stack %a, %b : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x2x3xf32>
  return
}

// -----

func.func @meshgrid(%a: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.meshgrid' gets f32[2,3]; expected tensors of at most one dim}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.meshgrid %a : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @roll(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.roll' has 2 shifts for 1 dims; expected one for each}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.roll %x {shifts = array<i64: 1, 1>, dims = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @flip(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.flip' names dim -1 twice}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.flip %x {dims = array<i64: 1, -1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @repeat(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.repeat' repeats a dim -1 times; expected 0 or more}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.repeat %x {repeats = array<i64: 1, -1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @pixel_unshuffle(%x: tensor<1x6x3x2xf32>) {
  // expected-error @+2 {{'dl.pixel_unshuffle' of f32[1,6,3,2] needs a height and width that are multiples of 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.pixel_unshuffle %x {downscale_factor = 2 : i64} : (tensor<1x6x3x2xf32>) -> tensor<1x24x1x1xf32>
  return
}

// -----

func.func @tril(%x: tensor<3xf32>) {
  // expected-error @+2 {{'dl.tril' needs x [..., H, W], got f32[3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.tril %x : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @full() {
  // expected-error @+2 {{'full' has fill_value = 300 : i64, which a tensor of i8[] does not hold; name a wider dtype}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.filled {size = affine_map<() -> (2)>, fill_value = 300 : i64, dtype = i8} : () -> tensor<2xi8>
  return
}

// -----

func.func @arange() {
  // expected-error @+2 {{'dl.arange' has step 0; expected another number}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.arange {end = affine_map<() -> (2)>, step = 0 : i64} : () -> tensor<2xi64>
  return
}

// -----

func.func @unfold_dim(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.unfold_dim' of dim 1 of f32[2,3] has size 4 and step 1; expected a size from 0 to that of the dim, and a step of 1 or more}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.unfold_dim %x {dimension = -1 : i64, size = 4 : i64, step = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x0x4xf32>
  return
}

// -----

func.func @dim_of_no_dims(%x: tensor<f32>) {
  // expected-error @+2 {{'dl.unfold_dim' has dim 0, but its tensor has no dims}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.unfold_dim %x {dimension = 0 : i64, size = 1 : i64, step = 1 : i64} : (tensor<f32>) -> tensor<1xf32>
  return
}

// -----

func.func @repeat_interleave(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.repeat_interleave' has repeats = -1; expected 0 or more}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.repeat_interleave %x {dim = 0 : i64, repeats = -1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @pixel_unshuffle(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.pixel_unshuffle' of f32[2,3] has factor 2; expected x [..., C, H, W] and 1 or more}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.pixel_unshuffle %x {downscale_factor = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @pixel_shuffle(%x: tensor<1x6x2x2xf32>) {
  // expected-error @+2 {{'dl.pixel_shuffle' with upscale_factor 2 needs x [N, C*factor*factor, H, W], got f32[1,6,2,2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.pixel_shuffle %x {upscale_factor = 2 : i64} : (tensor<1x6x2x2xf32>) -> tensor<1x1x4x4xf32>
  return
}

// -----

func.func @arange() {
  // expected-error @+1 {{'dl.arange' cannot go from 3 to 1 in steps of 1}}
  %y = dl.arange {start = affine_map<() -> (3)>, end = affine_map<() -> (1)>} : () -> tensor<2xi64>
  return
}

// -----

func.func @unflatten_open(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.unflatten' leaves two sizes open; only one may be -1}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.unflatten %x {dim = 1 : i64, sizes = affine_map<() -> (-1, -1)>} : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
  return
}

// -----

func.func @unflatten_zero(%x: tensor<2x0xf32>) {
  // expected-error @+2 {{'dl.unflatten' cannot tell a size of -1 beside a size of 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.unflatten %x {dim = 1 : i64, sizes = affine_map<() -> (-1, 0)>} : (tensor<2x0xf32>) -> tensor<2x1x0xf32>
  return
}

// -----

func.func @reshape_zero(%x: tensor<2x0xf32>) {
  // expected-error @+2 {{'dl.reshape' cannot tell a dim of -1 beside a dim of 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.reshape %x {shape = affine_map<() -> (-1, 0)>} : (tensor<2x0xf32>) -> tensor<2x0xf32>
  return
}

// -----

func.func @split_many(%x: tensor<2000xf32>) {
  // expected-error @+2 {{'dl.split' makes more than 1024 pieces}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.split %x {split_size = 1 : i64} : (tensor<2000xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @unbind_many(%x: tensor<2000xf32>) {
  // expected-error @+2 {{'dl.unbind' makes more than 1024 pieces}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.unbind %x : (tensor<2000xf32>) -> tensor<f32>
  return
}

// -----

func.func @meshgrid_indexing(%x: tensor<2xf32>) {
  // expected-error @+2 {{'dl.meshgrid' has indexing = 'yx'; expected 'ij' or 'xy'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.meshgrid %x {indexing = "yx"} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @stack_nothing() {
  // expected-error @+2 {{'dl.stack' needs at least one tensor}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.stack : () -> tensor<2xf32>
  return
}

// -----

func.func @cat_nothing() {
  // expected-error @+2 {{'dl.cat' needs at least one tensor}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.cat : () -> tensor<2xf32>
  return
}

// -----

func.func @depth_to_space_rank(%x: tensor<1x4x2x2xf32>) {
  // expected-error @+2 {{'dl.depth_to_space' needs x [N, C, ...], a block for each spatial dim and two crops}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.depth_to_space %x {block = array<i64: 2>, crop = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x4x2x2xf32>) -> tensor<1x1x4x4xf32>
  return
}

// -----

func.func @depth_to_space_block(%x: tensor<1x4x2x2xf32>) {
  // expected-error @+2 {{'dl.depth_to_space' needs blocks of at least 1 and crops of at least 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.depth_to_space %x {block = array<i64: 2, 0>, crop = array<i64: 0, 0, 0, 0>, groups = 1 : i64} : (tensor<1x4x2x2xf32>) -> tensor<1x1x4x4xf32>
  return
}

// -----

func.func @depth_to_space_channels(%x: tensor<1x6x2x2xf32>) {
  // expected-error @+2 {{'dl.depth_to_space' needs a static number of channels that 4 divides, got f32[1,6,2,2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.depth_to_space %x {block = array<i64: 2, 2>, crop = array<i64: 0, 0, 0, 0>, groups = 1 : i64} : (tensor<1x6x2x2xf32>) -> tensor<1x1x4x4xf32>
  return
}

// -----

func.func @depth_to_space_crop(%x: tensor<1x4x2x2xf32>) {
  // expected-error @+2 {{'dl.depth_to_space' crops more than there is of f32[1,4,2,2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.depth_to_space %x {block = array<i64: 2, 2>, crop = array<i64: 3, 0, 2, 0>, groups = 1 : i64} : (tensor<1x4x2x2xf32>) -> tensor<1x1x4x4xf32>
  return
}

// -----

module attributes {dl.symbols = [#dl.symbol<"T", 2, 9>]} {
func.func @select_symbolic(%x: tensor<?x3xf32, #dl.t<[s0, 3]>>) {
  // expected-error @+1 {{takes index 4 of dim 0 of f32[T,3], which it may not have: T is 2 or more; raise the smallest value of T to 5: dim T = 5..9}}
  %y = dl.select %x {dim = 0 : i64, index = 4 : i64} : (tensor<?x3xf32, #dl.t<[s0, 3]>>) -> tensor<3xf32>
  return
}
}

// -----

module attributes {dl.symbols = [#dl.symbol<"T", 1, 9>]} {
func.func @part_symbolic(%x: tensor<8x3xf32>, %t: tensor<?xf32, #dl.t<[s0]>>) {
  // expected-error @+1 {{takes indices 0 to T - 1 of dim 0 of f32[8,3], which it may not have: T is 9 or less; lower the largest value of T to 8: dim T = 1..8}}
  %y = dl.part %x {dim = 0 : i64, start = affine_map<() -> (0)>, length = affine_map<()[s0] -> (s0)>} : (tensor<8x3xf32>) -> tensor<?x3xf32, #dl.t<[s0, 3]>>
  return
}
}

// -----

// No range of one dim alone will do.
module attributes {dl.symbols = [#dl.symbol<"T", 1, 4>, #dl.symbol<"S", 5, 9>]} {
func.func @part_beyond(%x: tensor<?xf32, #dl.t<[s0]>>, %s: tensor<?xf32, #dl.t<[s1]>>) {
  // expected-error @+1 {{takes indices 0 to S - 1 of dim 0 of f32[T], which it may not have: T is 1 or more; change the ranges of its dims so that T + S*-1 is 0 or more}}
  %y = dl.part %x {dim = 0 : i64, start = affine_map<() -> (0)>, length = affine_map<()[s0, s1] -> (s1)>} : (tensor<?xf32, #dl.t<[s0]>>) -> tensor<?xf32, #dl.t<[s1]>>
  return
}
}

// -----

func.func @part_dim(%x: tensor<8x3xf32>) {
  // expected-error @+2 {{'dl.part' has dim 2 and start 0; expected a dim of f32[8,3] and a start of 0 or more}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.part %x {dim = 2 : i64, start = affine_map<() -> (0)>, length = affine_map<() -> (3)>} : (tensor<8x3xf32>) -> tensor<8x3xf32>
  return
}

// -----

module attributes {dl.symbols = [#dl.symbol<"T", 1, 4611686018427387904>]} {
func.func @arange_symbolic() {
  // expected-error @+1 {{'dl.arange' from 0 to T*T in steps of 1 may have too many or too few numbers; expected 0 or more; lower the largest value of T to 3037000499: dim T = 1..3037000499}}
  %y = dl.arange {end = affine_map<()[s0] -> (s0 * s0)>} : () -> tensor<?xi64, #dl.t<[s0 * s0]>>
  return
}
}

// -----

func.func @update_other_dtype(%x: tensor<4x8xf32>, %i: tensor<i64>, %s: tensor<4x2xf16>) -> tensor<4x8xf32> {
  // expected-error @+2 {{'dl.update_slice' along dim 1 of f32[4,8] has src f16[4,2]; expected the same dtype and, along the other dims, the same sizes}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.update_slice %x, %i, %s {dim = 1 : i64} : (tensor<4x8xf32>, tensor<i64>, tensor<4x2xf16>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

func.func @update_starts(%x: tensor<4x8xf32>, %i: tensor<3xi64>, %s: tensor<4x2xf32>) -> tensor<4x8xf32> {
  // expected-error @+2 {{'dl.update_slice' along dim 1 of f32[4,8] has start i64[3]; expected one position, or one for each index of dim 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.update_slice %x, %i, %s {dim = 1 : i64} : (tensor<4x8xf32>, tensor<3xi64>, tensor<4x2xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

func.func @update_too_long(%x: tensor<4x8xf32>, %i: tensor<i64>, %s: tensor<4x9xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{writes 9 indices to dim 1 of f32[4,8]; expected at most as many as it has}}
  %y = dl.update_slice %x, %i, %s {dim = 1 : i64} : (tensor<4x8xf32>, tensor<i64>, tensor<4x9xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

func.func @hstack_rows(%x: tensor<4x8xf32>, %y: tensor<3x8xf32>) {
  // expected-error @+2 {{'dl.hstack' cannot join f32[4,8] and f32[3,8] along dim 1; expected one dtype, and equal sizes of the other dims}}
  // expected-error @+1 {{failed to infer returned types}}
  %z = dl.hstack %x, %y : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @vstack_ranks(%x: tensor<8xf32>, %y: tensor<2x3x8xf32>) {
  // expected-error @+2 {{'dl.vstack' cannot join f32[8] and f32[2,3,8] along dim 0; expected one dtype, and equal sizes of the other dims}}
  // expected-error @+1 {{failed to infer returned types}}
  %z = dl.vstack %x, %y : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @dstack_dtypes(%x: tensor<4x8xf32>, %y: tensor<4x8xf16>) {
  // expected-error @+2 {{'dl.dstack' cannot join f32[4,8] and f16[4,8] along dim 2; expected one dtype, and equal sizes of the other dims}}
  // expected-error @+1 {{failed to infer returned types}}
  %z = dl.dstack %x, %y : (tensor<4x8xf32>, tensor<4x8xf16>) -> tensor<4x8x2xf32>
  return
}

// -----

func.func @column_stack_of_nothing() {
  // expected-error @+2 {{'dl.column_stack' needs at least one tensor}}
  // expected-error @+1 {{failed to infer returned types}}
  %z = dl.column_stack : () -> tensor<f32>
  return
}

// -----

func.func @linspace_steps() {
  // expected-error @+2 {{'dl.linspace' has steps = -1; expected 0 to 2147483647}}
  // expected-error @+1 {{failed to infer returned types}}
  %z = dl.linspace {start = 0.0 : f64, end = 1.0 : f64, steps = -1 : i64} : () -> tensor<1xf32>
  return
}

// -----

func.func @pad_by_a_dim(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.pad' in mode 'reflect' has the width s0; expected numbers, for dims go with mode 'constant' alone}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.pad %x {pad = affine_map<()[s0] -> (0, s0)>, mode = "reflect"} : (tensor<2x3xf32>) -> tensor<2x?xf32, #dl.t<[2, s0 + 3]>>
  return
}

// -----

func.func @bits_of_three(%g: tensor<3xi64>) {
  // expected-error @+2 {{'dl.random_bits' has generator i64[3]; expected i64[2], a seed and a count}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.random_bits %g {size = affine_map<() -> (4)>} : (tensor<3xi64>) -> tensor<4xui32>
  return
}

// -----

func.func @bits_of_less_than_none(%g: tensor<2xi64>) {
  // expected-error @+2 {{'dl.random_bits' has dim -4; expected 0 or more}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.random_bits %g {size = affine_map<() -> (-4)>} : (tensor<2xi64>) -> tensor<4xui32>
  return
}

// -----

func.func @fifth_word(%g: tensor<2xi64>) {
  // expected-error @+1 {{'dl.random_bits' has word 4; expected 0 to 3}}
  %y = dl.random_bits %g {size = affine_map<() -> (4)>, word = 4 : i64} : (tensor<2xi64>) -> tensor<4xui32>
  return
}
