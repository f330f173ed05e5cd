// RUN: dlc-opt %s -split-input-file -verify-diagnostics

// Elementwise ops see equal shapes; whoever builds them broadcasts and casts first.

func.func @shapes(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{all non-scalar operands/results must have the same shape and base type}}
  %y = dl.add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @dtypes(%a: tensor<2xf32>, %b: tensor<2xf16>) {
  // expected-error @+2 {{'dl.maximum' needs operands of one shape and dtype, got f32[2] and f16[2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.maximum %a, %b : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  return
}

// -----

func.func @no_integers(%a: tensor<2xi32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of}}
  %y = dl.exp %a : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @approximate(%a: tensor<2xf32>) {
  // expected-error @+1 {{has approximate = 'erf'; expected 'none' or 'tanh'}}
  %y = dl.gelu %a {approximate = "erf"} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @result(%a: tensor<2xf32>) {
  // expected-error @+1 {{all non-scalar operands/results must have the same shape and base type}}
  %y = dl.relu %a : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @prelu(%x: tensor<2x3xf32>, %w: tensor<2xf32>) {
  // expected-error @+2 {{'dl.prelu' needs a weight of 1 or 3 'f32' elements, got f32[2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.prelu %x, %w : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @glu(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'dl.glu' halves dim 1 of f32[2,3]; expected an even size}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.glu %x : (tensor<2x3xf32>) -> tensor<2x1xf32>
  return
}

// -----

func.func @clamp(%x: tensor<3xi32>) {
  // expected-error @+2 {{'dl.clamp' of i32[3] needs whole numbers, got 0.5; cast the tensor to a float}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.clamp %x {min = 0.5 : f64} : (tensor<3xi32>) -> tensor<3xi32>
  return
}

// -----

func.func @bits_of_another_size(%a: tensor<2xf32>) {
  // expected-error @+2 {{'dl.bitcast' of f32[2] to f16, which is of another size; expected f32, i32 or u32}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.bitcast %a {dtype = f16} : (tensor<2xf32>) -> tensor<2xf16>
  return
}

// -----

func.func @bits_of_a_bool(%a: tensor<2xi1>) {
  // expected-error @+2 {{'dl.bitcast' of bool[2] to i4, which is of another size; expected i8, u8, bool, f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz or f8e8m0}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.bitcast %a {dtype = i4} : (tensor<2xi1>) -> tensor<2xi4>
  return
}

// -----

func.func @bits_of_less_than_a_byte(%a: tensor<2xi4>) {
  // expected-error @+2 {{'dl.bitcast' cannot read the bits of i4[2], whose elements are smaller than a byte; cast it first}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dl.bitcast %a {dtype = i8} : (tensor<2xi4>) -> tensor<2xi8>
  return
}

// -----

func.func @softshrink(%a: tensor<2xf32>) {
  // expected-error @+1 {{'dl.softshrink' op has lambd = -0.5; expected 0 or more}}
  %y = dl.softshrink %a {lambd = -0.5 : f64} : (tensor<2xf32>) -> tensor<2xf32>
  return
}
