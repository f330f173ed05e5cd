// RUN: dlc-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{the range of dim 'N' is 4..1; expected 0 <= min <= max}}
module attributes {dl.symbols = [#dl.symbol<"N", 4, 1>]} {}

// -----

// expected-error @+1 {{the usual size of dim 'N' is 8; expected one of 1..4, and none of a counted dim}}
module attributes {dl.symbols = [#dl.symbol<"N", 1, 4 usual 8>]} {}

// -----

// expected-error @+1 {{the usual size of dim 'N' is 2; expected one of 0..4, and none of a counted dim}}
module attributes {dl.symbols = [#dl.symbol<"N", 0, 4 usual 2, most = ()[] -> (4)>]} {}

// -----

// expected-error @+1 {{a symbolic dim needs a name}}
module attributes {dl.symbols = [#dl.symbol<"", 1, 4>]} {}

// -----

// expected-error @+1 {{encoding has 1 dims, the tensor 2}}
func.func private @rank(tensor<?x3xf32, #dl.t<[s0]>>)

// -----

// expected-error @+1 {{dim 4 of the encoding differs from the tensor's}}
func.func private @dim(tensor<?x3xf32, #dl.t<[s0, 4]>>)

// -----

// expected-error @+1 {{order must name each of the 2 dims once}}
func.func private @order(tensor<2x3xf32, #dl.t<[2, 3], order = [0, 0]>>)

// -----

// expected-error @+1 {{tile 16 of 2 does not fit rank 2}}
func.func private @tile(tensor<2x3xf32, #dl.t<[2, 3], order = [0, 1], tile = 16 of 2>>)

// -----

// expected-error @+1 {{expected 'order' or 'tile', got 'layout'}}
func.func private @key(tensor<2x3xf32, #dl.t<[2, 3], layout = [0, 1]>>)
