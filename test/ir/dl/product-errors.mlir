// RUN: dlc-opt %s -split-input-file -verify-diagnostics

// What convolutions of other ranks, transposed ones, products, einsum and attention refuse.

func.func @lines(%x: tensor<3x20xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error @+2 {{'dl.conv1d' needs x [N, C, L] and weight [K, C/groups, R], got f32[3,20] and f32[4,3,3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv1d %x, %w : (tensor<3x20xf32>, tensor<4x3x3xf32>) -> tensor<1x4x18xf32>
  return
}

// -----

func.func @sides(%x: tensor<1x3x20xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error @+2 {{'dl.conv1d' needs 1 stride, 1 dilation and 1 or 2 paddings}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv1d %x, %w {padding = array<i64: 1, 1, 1>} : (tensor<1x3x20xf32>, tensor<4x3x3xf32>) -> tensor<1x4x20xf32>
  return
}

// -----

func.func @output_padding(%x: tensor<1x3x20xf32>, %w: tensor<3x4x3xf32>) {
  // expected-error @+2 {{'dl.conv_transpose1d' has output_padding 1; expected 0 or more, and less than stride or dilation}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv_transpose1d %x, %w {output_padding = array<i64: 1>} : (tensor<1x3x20xf32>, tensor<3x4x3xf32>) -> tensor<1x4x23xf32>
  return
}

// -----

func.func @transposed_channels(%x: tensor<1x3x20xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error @+2 {{'dl.conv_transpose1d' has 3 input channels; its weight f32[4,3,3] takes 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv_transpose1d %x, %w : (tensor<1x3x20xf32>, tensor<4x3x3xf32>) -> tensor<1x3x22xf32>
  return
}

// -----

func.func @transposed_padding(%x: tensor<1x3x1xf32>, %w: tensor<3x4x3xf32>) {
  // expected-error @+2 {{'dl.conv_transpose1d' would give -1 elements along dim 2 of f32[1,3,1]; expected less padding}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.conv_transpose1d %x, %w {padding = array<i64: 2>} : (tensor<1x3x1xf32>, tensor<3x4x3xf32>) -> tensor<1x4x1xf32>
  return
}

// -----

func.func @columns(%a: tensor<4x5xf32>, %b: tensor<6xf32>) {
  // expected-error @+2 {{'dl.matmul' needs as many columns of x as rows of other, got 5 and 6}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.matmul %a, %b : (tensor<4x5xf32>, tensor<6xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @loops(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>) {
  // expected-error @+2 {{'dl.contract' needs a loop for each dim of its operands: the result's by one of them or both, those summed over by both}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.contract %a, %b {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 3>, rank = 2 : i64} : (tensor<4x5xf32>, tensor<5x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @operands(%a: tensor<4x5xf32>) {
  // expected-error @+2 {{'dl.einsum' with the equation 'ij,jk->ik' names 2 operands, got 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.einsum %a {equation = "ij,jk->ik"} : (tensor<4x5xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @dims(%a: tensor<4x5xf32>) {
  // expected-error @+2 {{'dl.einsum' with the equation 'ijk->ik' names 3 dims in 'ijk'; the operand is f32[4,5]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.einsum %a {equation = "ijk->ik"} : (tensor<4x5xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @extents(%a: tensor<4x5xf32>, %b: tensor<6x7xf32>) {
  // expected-error @+2 {{'dl.einsum' with the equation 'ij,jk->ik' has dims of 5 and 6 for 'j'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.einsum %a, %b {equation = "ij,jk->ik"} : (tensor<4x5xf32>, tensor<6x7xf32>) -> tensor<4x7xf32>
  return
}

// -----

func.func @character(%a: tensor<4x5xf32>) {
  // expected-error @+2 {{'dl.einsum' with the equation 'i1->i' names 1 dim in 'i1'; the operand is f32[4,5]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.einsum %a {equation = "i1->i"} : (tensor<4x5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @character2(%a: tensor<4x5xf32>) {
  // expected-error @+2 {{'dl.einsum' with the equation 'ij+->i' has the character '+'; expected letters, '...', ',' and '->'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.einsum %a {equation = "ij+->i"} : (tensor<4x5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @unknown(%a: tensor<4x5xf32>) {
  // expected-error @+2 {{'dl.einsum' with the equation 'ij->iz' has 'z' in its output, but in no operand}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.einsum %a {equation = "ij->iz"} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @twice(%a: tensor<4x5xf32>) {
  // expected-error @+2 {{'dl.einsum' with the equation 'ij->ii' has 'i' twice in its output}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.einsum %a {equation = "ij->ii"} : (tensor<4x5xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @ellipsis(%a: tensor<4x5xf32>) {
  // expected-error @+2 {{'dl.einsum' with the equation 'ij->...i' has '...' in its output, but in no operand}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.einsum %a {equation = "ij->...i"} : (tensor<4x5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @addmm(%x: tensor<7xf32>, %a: tensor<4x5xf32>, %b: tensor<5x6xf32>) {
  // expected-error @+2 {{'dl.addmm' cannot broadcast f32[7] to the product, f32[4,6]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.addmm %x, %a, %b : (tensor<7xf32>, tensor<4x5xf32>, tensor<5x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @widths(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x15xf32>, %v: tensor<2x4x8x16xf32>) {
  // expected-error @+2 {{'dl.scaled_dot_product_attention' needs query [..., L, E], key [..., S, E] and value [..., S, Ev], got f32[2,4,8,16], f32[2,4,8,15] and f32[2,4,8,16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scaled_dot_product_attention %q, %k, %v : (tensor<2x4x8x16xf32>, tensor<2x4x8x15xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @heads(%q: tensor<2x4x8x16xf32>, %k: tensor<2x3x8x16xf32>, %v: tensor<2x3x8x16xf32>) {
  // expected-error @+2 {{'dl.scaled_dot_product_attention' cannot broadcast the leading dims of f32[2,4,8,16], f32[2,3,8,16] and f32[2,3,8,16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scaled_dot_product_attention %q, %k, %v : (tensor<2x4x8x16xf32>, tensor<2x3x8x16xf32>, tensor<2x3x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @groups(%q: tensor<2x4x8x16xf32>, %k: tensor<2x3x8x16xf32>, %v: tensor<2x3x8x16xf32>) {
  // expected-error @+2 {{'dl.scaled_dot_product_attention' with enable_gqa needs heads (dim -3) of key and value that divide those of query, got f32[2,4,8,16], f32[2,3,8,16] and f32[2,3,8,16]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scaled_dot_product_attention %q, %k, %v {enable_gqa = true} : (tensor<2x4x8x16xf32>, tensor<2x3x8x16xf32>, tensor<2x3x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @both(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<8x8xf32>) {
  // expected-error @+2 {{'dl.scaled_dot_product_attention' takes attn_mask or is_causal, not both}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scaled_dot_product_attention %q, %k, %v, %m {is_causal = true} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<8x8xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @mask(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<8x7xf32>) {
  // expected-error @+2 {{'dl.scaled_dot_product_attention' cannot broadcast its attn_mask f32[8,7] to the scores, f32[2,4,8,8]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scaled_dot_product_attention %q, %k, %v, %m : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<8x7xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @mask_dtype(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<8x8xi64>) {
  // expected-error @+2 {{'dl.scaled_dot_product_attention' needs an attn_mask of bool or float, got i64[8,8]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scaled_dot_product_attention %q, %k, %v, %m : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<8x8xi64>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @dropout(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) {
  // expected-error @+2 {{'dl.scaled_dot_product_attention' has dropout_p = 0.5; inference drops nothing, expected 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scaled_dot_product_attention %q, %k, %v {dropout_p = 0.5 : f64} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @linear_rank(%x: tensor<2x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+2 {{'dl.linear' needs x [..., K] and weight [N, K], got f32[2,8] and f32[8]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.linear %x, %w : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @addmm_whole(%x: tensor<2xi32>, %a: tensor<2x2xi32>) {
  // expected-error @+2 {{'dl.addmm' of integers needs whole numbers for beta and alpha}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.addmm %x, %a, %a {beta = 0.5 : f64} : (tensor<2xi32>, tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  return
}

// -----

func.func @outer(%x: tensor<2xf32>, %a: tensor<2x2xf32>) {
  // expected-error @+2 {{'dl.outer' needs two vectors, got f32[2] and f32[2,2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.outer %x, %a : (tensor<2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @attention_scale(%q: tensor<2x?xf32, #dl.t<[2, s0]>>, %v: tensor<2x4xf32>) {
  // expected-error @+2 {{'dl.scaled_dot_product_attention' needs its scale where the last dim of query, s0, is symbolic}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.scaled_dot_product_attention %q, %q, %v : (tensor<2x?xf32, #dl.t<[2, s0]>>, tensor<2x?xf32, #dl.t<[2, s0]>>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @causal_mask() {
  // expected-error @+1 {{needs a result [L, S], got 'tensor<4xf32>'}}
  %y = dl.causal_mask : () -> tensor<4xf32>
  return
}

// -----

func.func @einsum_ellipsis(%x: tensor<2x2xf32>) {
  // expected-error @+2 {{'dl.einsum' with the equation '...i...->i' names '...' twice in one term}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.einsum %x {equation = "...i...->i"} : (tensor<2x2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @einsum_nothing() {
  // expected-error @+2 {{'dl.einsum' needs at least one tensor}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.einsum {equation = "i->i"} : () -> tensor<2xf32>
  return
}

// -----

func.func @diagonal_symbolic(%x: tensor<?x3xf32, #dl.t<[s0, 3]>>) {
  // expected-error @+2 {{'dl.diagonal' of symbolic dims needs equal ones and offset 0, got f32[s0,3] and 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.diagonal %x : (tensor<?x3xf32, #dl.t<[s0, 3]>>) -> tensor<3xf32>
  return
}
