// RUN: dlc-opt %s -split-input-file -verify-diagnostics

// What cannot be broadcast, reshaped, cut, padded or joined.

func.func @broadcast(%x: tensor<3xf32>) {
  // expected-error @+1 {{cannot broadcast 'tensor<3xf32>' to 'tensor<3x4xf32>'}}
  %y = dl.broadcast %x : (tensor<3xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @reshape(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.reshape' of f32[2,3] has 6 elements; the new dims have 8}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.reshape %x {shape = affine_map<() -> (4, 2)>} : (tensor<2x3xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @reshape_open(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.reshape' leaves two dims open; only one may be -1}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.reshape %x {shape = affine_map<() -> (-1, -1)>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @reshape_negative(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.reshape' has dim -2; expected -1, 0 or more}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.reshape %x {shape = affine_map<() -> (-2, 3)>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @flatten(%x: tensor<2x3x4xf32>) {
  // expected-error @+2 {{'dl.flatten' has start_dim 2 after end_dim 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.flatten %x {start_dim = 2 : i64, end_dim = 1 : i64} : (tensor<2x3x4xf32>) -> tensor<24xf32>
  return
}

// -----

func.func @permute(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.permute' must name each of the 2 dims once}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.permute %x {dims = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @transpose(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.transpose' has dim 2; expected -2 to 1 for a tensor of rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.transpose %x {dim0 = 0 : i64, dim1 = 2 : i64} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @slice(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.slice' has step 0; expected 1 or more}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.slice %x {step = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @pad_mode(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.pad' has mode = 'mirror'; expected 'constant', 'reflect', 'replicate' or 'circular'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.pad %x {pad = affine_map<() -> (1, 1)>, mode = "mirror"} : (tensor<2x3xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @pad_widths(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.pad' has 3 widths; expected two for each dim from the last, at most 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.pad %x {pad = affine_map<() -> (1, 1, 1)>} : (tensor<2x3xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @pad_crop(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.pad' crops more than dim 1 of f32[2,3] has}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.pad %x {pad = affine_map<() -> (-2, -2)>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @cat(%a: tensor<2x3xf32>, %b: tensor<3x3xf32>) {
  // expected-error @+2 {{'dl.cat' along dim 1 cannot join f32[2,3] and f32[3,3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.cat %a, %b {dim = 1 : i64} : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

module attributes {dl.symbols = [#dl.symbol<"H", 1, 9>]} {
  func.func @cat_of_symbols(%a: tensor<?x3xf32, #dl.t<[s0, 3]>>, %b: tensor<4x3xf32>) {
    // expected-error @+2 {{'dl.cat' along dim 1 cannot join f32[H,3] and f32[4,3]; dims that are equal for some sizes alone need these sizes: --shapes}}
    // expected-error @+1 {{failed to infer returned types}}
    %y = dl.cat %a, %b {dim = 1 : i64} : (tensor<?x3xf32, #dl.t<[s0, 3]>>, tensor<4x3xf32>) -> tensor<4x6xf32>
    return
  }
}

// -----

func.func @layout(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{may change the layout alone, got 'tensor<2x3xf32>' and 'tensor<3x2xf32>'}}
  %y = dl.convert_layout %x : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}
