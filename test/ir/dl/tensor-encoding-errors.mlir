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

// expected-error @+1 {{the dim 'N' has step 0 and offset 0; expected a step of 1 or more and an offset of 0 or more, and neither for a counted or derived dim}}
module attributes {dl.symbols = [#dl.symbol<"N", 1, 4 step 0>]} {}

// -----

// expected-error @+1 {{the dim 'N' is derived: expected an integer that the data do not count}}
module attributes {dl.symbols = [#dl.symbol<"N", 1, 4 derived <real(affine_map<() -> (4)>)>>]} {}

// -----

// expected-error @+2 {{the size function 'min' has 1 operands; expected 2}}
// expected-error @+1 {{failed to parse DL_SymbolAttr parameter 'derived'}}
module attributes {dl.symbols = [#dl.symbol<"N", 1, 4 derived <min(affine_map<() -> (4)>)>>]} {}

// -----

// expected-error @+2 {{the size function 'integer' has the operand affine_map<() -> (4)>; expected a real number}}
// expected-error @+1 {{failed to parse DL_SymbolAttr parameter 'derived'}}
module attributes {dl.symbols = [#dl.symbol<"N", 1, 4 derived <integer(affine_map<() -> (4)>)>>]} {}

// -----

// expected-error @+2 {{the size function 'real' has the operand "4"; expected one dim, a real number or a derived size}}
// expected-error @+1 {{failed to parse DL_SymbolAttr parameter 'derived'}}
module attributes {dl.symbols = [#dl.symbol<"N", 1, 4 derived <real("4")>>]} {}

// -----

// expected-error @+2 {{the condition of 'select' is a real number; expected an integer}}
// expected-error @+1 {{failed to parse DL_SymbolAttr parameter 'derived'}}
module attributes {dl.symbols = [#dl.symbol<"N", 1, 4 derived <select(1.0 : f64, affine_map<() -> (4)>, affine_map<() -> (4)>)>>]} {}

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
