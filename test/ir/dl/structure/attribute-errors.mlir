// RUN: dlc-opt %s -split-input-file -verify-diagnostics

func.func @misspelt(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'dl.no_fusion' is no attribute of an op; expected one of dl.no_fuse, dl.role, dl.tf32, dl.keep_f32, dl.kept_by_cost, dl.kept_on, dl.correction, dl.magnitudes, dl.activation_range, dl.stored_bits, dl.stored_blocks, dl.full_groups, dl.stored_numbers}}
  %y = dl.exp %x {dl.no_fusion} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @value(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'dl.role' has a string, got 3 : i64}}
  %y = dl.exp %x {dl.role = 3 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @range(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'dl.activation_range' has two numbers, array<f64: SMALLEST, LARGEST>, got array<f64: 1.000000e+00>}}
  %y = dl.exp %x {dl.activation_range = array<f64: 1.0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error @+1 {{'dl.state' is no attribute of a function or a program; expected one of dl.stored_precision}}
func.func @function() attributes {dl.state} {
  return
}

// -----

// expected-error @+1 {{'dl.count' is no attribute of an argument; expected one of dl.name, dl.state}}
func.func @argument(%x: tensor<4xf32> {dl.count}) {
  return
}

// -----

// expected-error @+1 {{'dl.stat' is no attribute of a result; expected one of dl.name, dl.state, dl.count}}
func.func @result(%x: tensor<4xf32>) -> (tensor<4xf32> {dl.stat}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{'dl.symbols' has an array, got "N"}}
module attributes {dl.symbols = "N"} {
}

// -----

// expected-error @+1 {{'dl.symbol' is no attribute of a module; expected one of dl.symbols, dl.needs, dl.cache, dl.fitted_by, dl.gpu}}
module attributes {dl.symbol = []} {
}

// -----

// expected-error @+1 {{'dl.cache' has a dictionary, got 8 : i64}}
module attributes {dl.cache = 8 : i64} {
}

// -----

func.func @kept(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'dl.kept_on' has a dictionary, got "cpu"}}
  %y = dl.exp %x {dl.kept_on = "cpu"} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
